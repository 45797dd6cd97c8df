// Command ours is the benchmark of this module: the generated package perf and
// the runtime, as a user of them calls them. Its first argument is "ours" or, for calls that are
// light, "light". With a last argument "scale" it prints what several goroutines do at once.
package main

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"

	"github.com/tvmffi-go/tvmffi/bench/perf"
	"github.com/tvmffi-go/tvmffi/reflection"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/define"
	"github.com/tvmffi-go/tvmffi/runtime/env"
	"github.com/tvmffi-go/tvmffi/runtime/jsongraph"
)

// The results go here, so that the compiler keeps the reads.
var (
	intSink    int64
	floatSink  float64
	stringSink string
)

func main() {
	options := []tvmffi.LoadOption{tvmffi.WithLibrary(os.Args[2]), tvmffi.WithFile(os.Args[3])}
	light := os.Args[1] == "light"
	if light {
		options = append(options, tvmffi.WithLightCalls())
	}
	check(perf.Load(options...))
	if len(os.Args) > 4 {
		scale()
		return
	}
	calls()
	node := must(perf.MakeNode(7))
	item("field_getter", func(n int) {
		for range n {
			intSink += node.Delta()
		}
	})
	if !light {
		objects(node)
		defined()
		callbacks()
		intArrays()
		stringsAndMaps()
	}
	serve()
	_, _, _ = intSink, floatSink, stringSink
}

func addOne(n int) {
	for i := range n {
		intSink += must(perf.AddOne(int64(i)))
	}
}

func calls() {
	item("int", addOne)
	arguments()
	item("threads2", func(n int) { // per call, over both threads
		var both sync.WaitGroup
		for range 2 {
			both.Go(func() {
				sum := int64(0)
				for i := range n / 2 {
					sum += must(perf.AddOne(int64(i)))
				}
				if sum < 0 {
					panic("overflow")
				}
			})
		}
		both.Wait()
	})
}

// arguments are objects, tensors and strings, and an error as the result.
func arguments() {
	leaf := must(perf.MakeLeaf(1))
	item("objects3", func(n int) {
		for range n {
			check(perf.Nop3Objects(leaf, leaf, leaf))
		}
	})
	t1 := must(tvmffi.FromSlice(make([]float32, 16), 4, 4))
	t2 := must(tvmffi.FromSlice(make([]float32, 16), 4, 4))
	t3 := must(tvmffi.FromSlice(make([]float32, 16), 4, 4))
	item("tensors3", func(n int) {
		for range n {
			check(perf.Nop3Tensors(t1, t2, t3))
		}
	})
	for name, s := range map[string]string{"string32": strings.Repeat("x", 32), "string5": "hello"} {
		item(name, func(n int) {
			for range n {
				stringSink = must(perf.Echo(s))
			}
		})
	}
	message := strings.Repeat("x", 32)
	item("error", func(n int) {
		for range n {
			if err := perf.Fail(message); err == nil {
				panic("no error")
			}
		}
	})
}

func objects(node *perf.Node) {
	item("field_int", func(n int) {
		for range n {
			intSink += node.Value()
		}
	})
	item("field_float", func(n int) {
		for range n {
			floatSink += node.Weight()
		}
	})
	item("field_string", func(n int) {
		for range n {
			stringSink = node.Name()
		}
	})
	item("field_object", func(n int) {
		for range n {
			node.Leaf().Release()
		}
	})
	byReflection(tvmffi.Upcast[*tvmffi.Object](node))
	item("create", func(n int) {
		for i := range n {
			must(perf.MakeLeaf(int64(i))).Release()
		}
	})
	host := make([]float32, 1024)
	item("wrap", func(n int) {
		for range n {
			must(tvmffi.FromSlice(host)).Release()
		}
	})
	spec := env.TensorSpec{DataType: tvmffi.Float32, Device: tvmffi.CPU, Shape: []int64{1024}}
	item("env_tensor", func(n int) {
		for range n {
			must(env.EnvTensor(spec)).Release()
		}
	})
	value := new(int)
	item("opaque", func(n int) {
		for range n {
			must(tvmffi.NewOpaque(value)).Release()
		}
	})
	item("cleanup", func(n int) {
		for i := range n {
			o := &struct{ _ *int }{}
			runtime.AddCleanup(o, func(int) {}, i).Stop()
		}
	})
}

// byReflection is what nothing needs to be generated for.
func byReflection(node *tvmffi.Object) {
	value := must(reflection.TypeOf(node).FieldByName("value"))
	item("field_found", func(n int) {
		for range n {
			intSink += value.Int(node)
		}
	})
	item("field_name", func(n int) {
		for range n {
			intSink += must(reflection.Get[int64](node, "value"))
		}
	})
	nodes := make([]*perf.Node, 500000) // each with a leaf
	for i := range nodes {
		nodes[i] = must(perf.MakeNode(int64(i)))
	}
	graph := held(nodes)
	item("walk", func(n int) {
		for range n {
			w := reflection.Walk(graph)
			for range w.All() {
				intSink++
			}
			check(w.Err())
		}
	})
	arrays := make([]*tvmffi.Array[int64], 50000)
	for i := range arrays {
		arrays[i] = must(tvmffi.NewArray(int64(i)))
	}
	nested := held(arrays)
	item("graph_write", func(n int) {
		for range n {
			intSink += int64(len(must(jsongraph.Marshal(nested, nil))))
		}
	})
}

// held is an array that alone holds the objects: other items allocate, and the collector
// would look at half a million wrappers meanwhile.
func held[T interface{ Release() }](objects []T) *tvmffi.Array[T] {
	array := must(tvmffi.NewArray(objects...))
	for _, o := range objects {
		o.Release()
	}
	return array
}

// point is a type made in Go with the fields of perf.Point.
type point struct {
	X    int64          `ffi:"x"`
	Y    float64        `ffi:"y"`
	Name string         `ffi:"name"`
	Tag  any            `ffi:"tag,optional"`
	Next *tvmffi.Object `ffi:"next,optional"`
}

var pointType = define.Object[point]("bench.Point")

// defined is what C++ does with objects of a type made in Go.
func defined() {
	check(pointType.Register())
	for _, what := range []string{"make", "set_int", "set_object", "copy"} {
		item("define_"+what, func(n int) { check(perf.UseObjects("bench.Point", what, int64(n))) })
	}
}

func callbacks() {
	item("callback", func(n int) {
		must(perf.Repeat(func(x int64) (int64, error) { return x + 1, nil }, int64(n)))
	})
	item("callback_thread", func(n int) {
		must(perf.RepeatOnThread(func(x int64) (int64, error) { return x + 1, nil }, int64(n)))
	})
	item("callback_make", func(n int) { // with one call that gets it and does not call it
		for i := range n {
			must(perf.Repeat(func(x int64) (int64, error) { return x + int64(i), nil }, 0))
		}
	})
}

func intArrays() {
	ints, out := make([]int64, 1000000), make([]int64, 1000000)
	for i := range ints {
		ints[i] = int64(i)
	}
	array := must(tvmffi.NewArray(ints...))
	item("ints_build", func(n int) {
		for range n {
			must(tvmffi.NewArray(ints...)).Release()
		}
	})
	item("ints_read", func(n int) {
		for range n {
			intSink += int64(must(array.CopyTo(out)))
		}
	})
	item("ints_range", func(n int) {
		for range n {
			for i, x := range array.All() {
				out[i] = x
			}
		}
	})
	item("ints_slice", func(n int) {
		for range n {
			intSink += int64(len(must(array.Slice())))
		}
	})
}

func stringsAndMaps() {
	var texts []string
	var pairs []tvmffi.Pair[string, int64]
	for i := range 1000 {
		texts = append(texts, fmt.Sprintf("string number %d", i))
		pairs = append(pairs, tvmffi.Pair[string, int64]{Key: texts[i], Value: int64(i)})
	}
	stringArray := must(tvmffi.NewArray(texts...))
	item("strings_build", func(n int) {
		for range n {
			must(tvmffi.NewArray(texts...)).Release()
		}
	})
	item("strings_read", func(n int) {
		for range n {
			stringSink = must(stringArray.Slice())[0]
		}
	})
	table := must(tvmffi.NewMap(tvmffi.PairsOf(pairs...)))
	item("map_build", func(n int) {
		for range n {
			must(tvmffi.NewMap(tvmffi.PairsOf(pairs...))).Release()
		}
	})
	item("map_lookup", func(n int) {
		for i := range n {
			v, _ := table.Get(texts[i%1000])
			intSink += v
		}
	})
	item("map_iterate", func(n int) {
		for range n {
			o := make([]tvmffi.Pair[string, int64], 0, 1000)
			for k, v := range table.All() {
				o = append(o, tvmffi.Pair[string, int64]{Key: k, Value: v})
			}
			intSink += int64(len(o))
		}
	})
}
