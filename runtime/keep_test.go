package tvmffi_test

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/ebitengine/purego"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/objects"
	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	"github.com/tvmffi-go/tvmffi/internal/testkit/runtimetest"
	"github.com/tvmffi-go/tvmffi/internal/values"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/bindrt"
	"github.com/tvmffi-go/tvmffi/runtime/define"
	"github.com/tvmffi-go/tvmffi/runtime/memstat"
)

// Values that C reads during a call must be alive until it returns, and the tables of the
// library must be locked. Such faults show rarely by themselves, so these children
// provoke them: the collector runs inside C functions, with freed memory
// overwritten (GODEBUG=clobberfree=1), and goroutines meet in the tables.

func init() {
	runtimetest.Children["keep alive"] = keepAliveChild
	runtimetest.Children["error texts"] = errorTextsChild
	runtimetest.Children["registry"] = registryChild
}

func TestKeptAliveInC(t *testing.T) {
	out, err := runtimetest.Child(t, "keep alive", "CORE="+nativetest.Library(t), "TENSORS="+nativetest.Build(t, "tensors"), "GODEBUG=clobberfree=1")
	if err != nil {
		t.Errorf("the child ended with %v: %s", err, out)
	}
}

func TestErrorTextsAreLocked(t *testing.T) {
	out, err := runtimetest.Child(t, "error texts", "CORE="+nativetest.Library(t), "CALLS="+nativetest.Build(t, "calls"), "GOMAXPROCS=16")
	if err != nil {
		t.Errorf("the child ended with %v: %s", err, out)
	}
}

func TestRegistryIsLocked(t *testing.T) {
	out, err := runtimetest.Child(t, "registry", "CORE="+nativetest.Library(t), "GOMAXPROCS=16")
	if err != nil {
		t.Errorf("the child ended with %v: %s", err, out)
	}
}

// collectGarbage makes what can be freed now be freed, and used again.
func collectGarbage() {
	memstat.Collected()
	for range 3 {
		runtimetest.RunCleanups()
	}
	for range 1000 {
		junk = append(junk[:0:0], strings.Repeat("X", 100)...)
	}
}

var junk []byte

// collecting replaces a C function by one that collects garbage first.
func collecting(f *uintptr) (restore func()) {
	old := *f
	*f = purego.NewCallback(func(a, b, c, d, e, f uintptr) uintptr {
		collectGarbage()
		r, _, _ := purego.SyscallN(old, a, b, c, d, e, f)
		return r
	})
	return func() { *f = old }
}

func keepAliveChild() error {
	if err := runtimetest.LoadInChild(); err != nil {
		return err
	}
	if err := tvmffi.LoadLibrary(os.Getenv("TENSORS")); err != nil {
		return err
	}
	for name, f := range map[string]func() error{
		"the texts of a new error": func() error {
			defer collecting(&capi.API.ErrorCreate)()
			for i := range 5 {
				kind, message := fmt.Sprintf("KindOfRound%d", i), strings.Repeat(fmt.Sprintf("message %d;", i), 10)
				// A fresh error each time: only its native form has the texts then.
				v, err := tvmffi.AnyOf[error](fmt.Errorf("%w", tvmffi.NewError(kind, message)))
				if err != nil {
					return err
				}
				e, ok := v.Value().(*tvmffi.Error)
				if !ok || e.Kind != kind || !strings.Contains(e.Message, message) {
					return fmt.Errorf("it became %v", v.Value())
				}
			}
			return nil
		},
		"text for a backtrace": func() error {
			v, err := tvmffi.AnyOf[error](tvmffi.NewError("ValueError", "x"))
			if err != nil {
				return err
			}
			a := tvmffi.Any(v)
			o, err := tvmffi.As[*tvmffi.Object](a)
			if err != nil {
				return err
			}
			cell := capi.PointerTo[abi.ErrorCell](stateHandle(o) + abi.ObjectSize)
			defer collecting(&cell.UpdateBacktrace)()
			failure.AppendBacktrace(objects.Static(stateHandle(o)), strings.Repeat("  File a line\n", 5))
			got := capi.GoString(cell.Backtrace)
			runtime.KeepAlive(o)
			if got != strings.Repeat("  File a line\n", 5) {
				return fmt.Errorf("it is %q", got)
			}
			return nil
		},
		"the text of a string": func() error {
			defer collecting(&capi.API.StringFromByteArray)()
			for i := range 5 {
				want := strings.Repeat(fmt.Sprint("text ", i), 20)
				v, err := values.NewString(strings.Clone(want))
				if err != nil {
					return err
				}
				got, _ := capi.StringOf(v)
				objects.DecRef(uintptr(v.Bits))
				if got != want {
					return fmt.Errorf("it is %q", got)
				}
			}
			return nil
		},
		"a tensor that is exported": func() error {
			defer collecting(&capi.API.TensorToDLPackUnversioned)()
			return tensorAlive(func(x *tvmffi.Tensor) error {
				p, err := x.ToDLPack() // nothing uses x after it
				if err == nil {
					p.Release()
				}
				return err
			})
		},
		"a tensor that is viewed": func() error {
			defer collecting(&capi.API.TensorCreateUnsafeView)()
			return tensorAlive(func(x *tvmffi.Tensor) error {
				v, err := x.Slice(0, 1, 2)
				if err == nil {
					v.Release()
				}
				return err
			})
		},
	} {
		if err := f(); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// stateHandle returns the address of the object of x.
func stateHandle(x *tvmffi.Object) uintptr { return objects.StateOf(x).Handle() }

// tensorAlive runs use on a tensor that nothing else refers to.
func tensorAlive(use func(*tvmffi.Tensor) error) error {
	before := memstat.Collected()
	fn, err := tvmffi.Lookup("tensors.malloc")
	if err != nil {
		return err
	}
	defer fn.Release()
	make := func() *tvmffi.Tensor {
		v, err := fn.Call(int64(100))
		if err != nil {
			panic(err)
		}
		return v.Value().(*tvmffi.Tensor)
	}
	for range 5 {
		if err := use(make()); err != nil {
			return err
		}
		if n := memstat.Collected(); n != before {
			return errors.New("the collector released it during the call")
		}
		collectGarbage()
		before = memstat.Collected()
	}
	return nil
}

// errorTextsChild lets one error pass through many callbacks at once: each adds to
// its backtrace, which others read.
func errorTextsChild() error {
	if err := runtimetest.LoadInChild(); err != nil {
		return err
	}
	if err := tvmffi.LoadLibrary(os.Getenv("CALLS")); err != nil {
		return err
	}
	apply, err := tvmffi.Lookup("calls.apply")
	if err != nil {
		return err
	}
	for range 30 {
		_, first := runtimetest.Call("calls.fail", "ValueError", "passed around")
		f, err := tvmffi.FuncOf(func(int64) (int64, error) { return 0, first })
		if err != nil {
			return err
		}
		var wg sync.WaitGroup
		for range 16 {
			wg.Go(func() {
				for range 40 {
					_, err := apply.Call(f, int64(1))
					if !errors.Is(err, tvmffi.ErrValue) || !errors.Is(err, first) {
						fmt.Println("another error:", err)
						os.Exit(1)
					}
					for line := range strings.Lines(err.(*tvmffi.Error).Backtrace) {
						if !strings.HasPrefix(line, "  File ") {
							fmt.Printf("a broken backtrace: %q\n", line)
							os.Exit(1)
						}
					}
				}
			})
		}
		wg.Wait()
	}
	return nil
}

// registryChild registers, looks up and lists functions on many goroutines.
func registryChild() error {
	if err := runtimetest.LoadInChild(); err != nil {
		return err
	}
	failed := make(chan error, 16)
	for g := range 16 {
		go func() {
			failed <- func() error {
				for i := range 150 {
					name := fmt.Sprintf("keep_test.g%d.f%d", g, i)
					if err := tvmffi.Register(name, func(x int64) (int64, error) { return x + int64(i), nil }); err != nil {
						return err
					}
					v, err := runtimetest.Call(name, 1)
					if err != nil || v.Value() != int64(1+i) {
						return fmt.Errorf("%s: %v, %v", name, v, err)
					}
					if i%10 == 0 {
						if _, err := tvmffi.Functions(); err != nil {
							return err
						}
					}
					if i%2 == 0 {
						if ok, err := tvmffi.Unregister(name); !ok || err != nil {
							return fmt.Errorf("unregister %s: %v, %v", name, ok, err)
						}
					}
				}
				return nil
			}()
		}()
	}
	for range 16 {
		if err := <-failed; err != nil {
			return err
		}
	}
	return nil
}

type linked struct {
	N    int64                    `ffi:"n"`
	Next *define.Instance[linked] `ffi:"next,optional"`
}

func (l linked) Sum() int64 { return l.N + int64(memstat.UseCount(l.Next)) }

func (l *linked) Bump() { l.N++ }

var linkedType = define.Object[linked]("gotest.Linked", define.Method("sum", linked.Sum), define.Method("bump", (*linked).Bump))

// The objects inside a struct that a method gets are not leaks: nobody else can
// release them.
func TestObjectsInStructArguments(t *testing.T) {
	runtimetest.Load(t)
	if err := linkedType.Register(); err != nil {
		t.Fatal(err)
	}
	runtimetest.Balanced(t) // its methods stay
	next := runtimetest.Must[*define.Instance[linked]](t)(linkedType.New(linked{N: 1}))
	defer next.Release()
	x := runtimetest.Must[*define.Instance[linked]](t)(linkedType.New(linked{N: 1, Next: next}))
	defer x.Release()
	owner := &bindrt.Type{Key: "gotest.Linked"}
	before := memstat.Collected()
	for _, name := range []string{"sum", "bump"} {
		method := bindrt.Func{Owner: owner, Name: name}
		for range 50 {
			var c bindrt.Call1
			c.Begin(&method, 1)
			c.Object(0, bindrt.Ref(x))
			if err := c.Do(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if n := x.Value().N; n != 51 {
		t.Errorf("N is %d, want 51", n)
	}
	runtimetest.Collect(t, "the objects in arguments", func() bool { objects.GuardRecent(); runtime.GC(); return memstat.UseCount(next) == 2 })
	if n := memstat.Collected() - before; n > 0 {
		t.Errorf("%d handles count as leaks", n)
	}
}

// keeper has objects in each form of field.
type keeper struct {
	One  *define.Instance[linked]   `ffi:"one,optional"`
	Many []*define.Instance[linked] `ffi:"many,optional"`
	Any  any                        `ffi:"any,optional"`
}

var keeperType = define.Object[keeper]("gotest.Keeper")

// Objects that Value returns, and objects inside a slice that Get returns, are not leaks; an object
// that Get returns by itself is a leak if nobody releases it. A constructor keeps only what is in
// the object.
func TestObjectsInFields(t *testing.T) {
	runtimetest.LoadDefine(t)
	if err := keeperType.Register(); err != nil {
		t.Fatal(err)
	}
	runtimetest.Balanced(t)
	next := runtimetest.Must[*define.Instance[linked]](t)(linkedType.New(linked{N: 1}))
	defer next.Release()
	x := runtimetest.Must[*define.Instance[keeper]](t)(keeperType.New(keeper{next, []*define.Instance[linked]{next, next}, next}))
	defer x.Release()
	many := define.FieldOf(keeperType, func(k *keeper) *[]*define.Instance[linked] { return &k.Many })
	one := define.FieldOf(keeperType, func(k *keeper) **define.Instance[linked] { return &k.One })
	leaks := func(what string, want int64, f func()) {
		t.Helper()
		runtimetest.DropGarbage(t)
		before, references := memstat.Collected(), memstat.UseCount(next)
		for range 20 {
			f()
		}
		runtimetest.Collect(t, what, func() bool { objects.GuardRecent(); runtime.GC(); return memstat.UseCount(next) == references })
		if n := memstat.Collected() - before; n != want {
			t.Errorf("%s: %d handles count as leaks, want %d", what, n, want)
		}
	}
	leaks("Value", 0, func() {
		v := x.Value()
		if v.One.Value().N != 1 || len(v.Many) != 2 || v.Many[1].Value().N != 1 {
			t.Error("fields")
		}
		v.One.Release() // may be done all the same
	})
	leaks("Get of a slice", 0, func() {
		if v := many.Get(x); len(v) != 2 || v[0].Value().N != 1 {
			t.Error("a slice")
		}
	})
	leaks("Get of an object, released", 0, func() { one.Get(x).Release() })
	leaks("Get of an object", 20, func() { _ = one.Get(x) })
	array := runtimetest.Must[*tvmffi.Array[*define.Instance[linked]]](t)(tvmffi.NewArray(next))
	defer array.Release()
	leaks("the constructor", 0, func() {
		made := runtimetest.MustCall(t, "define.init", "gotest.Keeper", next, array, next)
		if n := memstat.UseCount(next); n < 5 {
			t.Errorf("%d references", n)
		}
		made.Release()
	})
}
