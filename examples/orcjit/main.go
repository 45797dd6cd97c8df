// Orcjit compiles texts of C++ while it runs, links them into its own process without a linker,
// and calls their functions as typed functions of Go. It replaces one of them while other
// goroutines call it, and measures the way from a changed text to the result of its call.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"sync"
	"time"

	"github.com/tvmffi-go/tvmffi/native"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

func main() {
	ctx := context.Background()
	jit, err := NewJIT()
	if err != nil {
		log.Fatal(err)
	}
	defer jit.Close() // not reached by log.Fatal: the process ends
	for _, part := range []func(context.Context, *JIT, io.Writer) error{call, replace, cycle} {
		if err := part(ctx, jit, os.Stdout); err != nil {
			log.Fatal(err)
		}
	}
}

// prices has a static variable with a constructor and a destructor, and throws an exception.
const prices = `
#include <map>
#include <string>

static const std::map<std::string, double> prices = {{"tea", 2.5}, {"bread", 3.25}};

double price(tvm::ffi::String name) {
  auto found = prices.find(std::string(name));
  if (found == prices.end()) TVM_FFI_THROW(KeyError) << "nobody sells " << name;
  return found->second;
}

double mean(tvm::ffi::TensorView x) {
  TVM_FFI_CHECK(x.IsContiguous() && x.dtype() == (DLDataType{kDLFloat, 32, 1}), TypeError) << "float32 without gaps is wanted";
  double sum = 0;
  for (int64_t i = 0; i < x.numel(); ++i) sum += static_cast<const float*>(x.data_ptr())[i];
  return sum / x.numel();
}
`

// call calls functions of a text.
func call(ctx context.Context, jit *JIT, out io.Writer) error {
	module, _, err := jit.Load(ctx, native.Code{Name: "shop", CPP: []string{prices}, Exports: map[string]string{"price": "", "mean": ""}})
	if err != nil {
		return err
	}
	price, err := typed[func(string) (float64, error)](module, "price")
	if err != nil {
		return err
	}
	tea, err := price("tea")
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "tea costs", tea)
	_, err = price("gold") // an exception of C++ is an error of Go
	fmt.Fprintln(out, err, "- a key error:", errors.Is(err, tvmffi.ErrKey))

	mean, err := typed[func(*tvmffi.Tensor) (float64, error)](module, "mean")
	if err != nil {
		return err
	}
	numbers, err := tvmffi.FromSlice([]float32{1, 2, 3, 6}) // C++ reads the slice of Go
	if err != nil {
		return err
	}
	defer numbers.Release()
	m, err := mean(numbers)
	fmt.Fprintln(out, "the mean is", m)
	return err
}

// discount is a function that people want to change while the program runs.
func discount(percent int) string {
	return fmt.Sprintf("double discounted(double price) { return price * (100 - %d) / 100; }", percent)
}

// replace changes a function while four goroutines call it, each until it has seen the new one.
func replace(ctx context.Context, jit *JIT, out io.Writer) error {
	live, _, err := NewLive[func(float64) (float64, error)](ctx, jit, "discounted", discount(10))
	if err != nil {
		return err
	}
	const before, after = 180, 150 // of 200, with a discount of 10 and of 25 percent
	calling, stop := context.WithCancel(ctx)
	defer stop()
	var started, ended sync.WaitGroup
	failed := make([]error, 4)
	for i := range failed {
		started.Add(1)
		ended.Go(func() {
			first := sync.OnceFunc(started.Done)
			defer first()
			for result := 0.0; result != after && calling.Err() == nil; first() {
				result, failed[i] = live.Func()(200)
				if failed[i] == nil && result != before && result != after {
					failed[i] = fmt.Errorf("version %d makes %v of 200", live.Version(), result)
				}
				if failed[i] != nil {
					return
				}
				time.Sleep(time.Millisecond) // leaves the processors to the compiler
			}
		})
	}
	started.Wait()
	_, err = live.Replace(ctx, discount(25))
	if err != nil {
		stop()
	}
	ended.Wait()
	if err := errors.Join(append(failed, err)...); err != nil {
		return err
	}
	fmt.Fprintln(out, "every caller has seen version", live.Version())

	_, err = live.Replace(ctx, "double discounted(double price) { return prize; }")
	failure, ok := errors.AsType[*native.CompileError](err)
	if !ok {
		return fmt.Errorf("the text with a mistake: %w", err)
	}
	fmt.Fprintf(out, "%s does not compile, so version %d stays\n", failure.Source, live.Version())
	return nil
}

// cycle measures the way from a new text to the result of a call.
func cycle(ctx context.Context, jit *JIT, out io.Writer) error {
	const edits, calls = 5, 100_000
	var compile, link, total []time.Duration
	salt := time.Now().UnixNano() // so that no text is in the cache
	var live *Live[func(float64) (float64, error)]
	for i := range edits {
		text := fmt.Sprintf("// %d\n%s", salt+int64(i), discount(i))
		start := time.Now()
		f, took, err := NewLive[func(float64) (float64, error)](ctx, jit, "discounted", text)
		if err != nil {
			return err
		}
		if _, err := f.Func()(100); err != nil {
			return err
		}
		total = append(total, time.Since(start))
		compile, link = append(compile, took.Compile), append(link, took.Link)
		live = f
	}
	f := live.Func()
	start := time.Now()
	for range calls {
		if _, err := f(100); err != nil {
			return err
		}
	}
	perCall := time.Since(start) / calls
	fmt.Fprintf(out, "\nfrom a new text to a result, the median of %d:\n", edits)
	for i, what := range []string{"compile", "link by orcjit", "in all"} {
		took := median([][]time.Duration{compile, link, total}[i])
		fmt.Fprintf(out, "  %-28s %8.1f ms\n", what, float64(took.Microseconds())/1000)
	}
	fmt.Fprintf(out, "  %-28s %8d ns\n", "one call", perCall.Nanoseconds())
	return nil
}
