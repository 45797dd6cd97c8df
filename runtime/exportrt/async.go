package exportrt

import (
	"context"
	"sync"
	"unsafe"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/callbacks"
	"github.com/tvmffi-go/tvmffi/internal/environment"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/nearest"
	"github.com/tvmffi-go/tvmffi/internal/objects"
	"github.com/tvmffi-go/tvmffi/internal/values"
	"github.com/tvmffi-go/tvmffi/runtime/bindrt"
)

// asyncName is the name of the function that starts funcs with a context. No other function
// of a library has a name that begins with _.
//
// It gets the name of such a function, or the type key, a dot and the name of such a method,
// and returns a function start(done, arguments...), which returns at once a function cancel.
// Meanwhile the func runs on a goroutine with its own references to the arguments. At its
// end, done(result, error) is called once, on a thread of Go: error is None or an error
// object. cancel ends the context of the func, as often and as late as the caller likes.
//
// If start returns an error, done is not called.
const asyncName = "_async"

// async returns the Function asyncName.
func (l *Exports) async() *Function {
	return &Function{
		Name: asyncName,
		Doc:  "Returns the asynchronous form of a function or method with a context.",
		Func: tvmffi.Packed(nil),
		Call: func(a *bindrt.Args) error {
			name := bindrt.Arg[string](a, 0)
			if err := a.Check(1); err != nil {
				return err
			}
			names := l.interruptible(map[string]*Function{})
			f := names[name]
			if f == nil {
				var all []string
				for n := range names {
					all = append(all, n)
				}
				return failure.Errorf(failure.KindAttr, "%s has no function or method %s that takes a context.Context%s", l.Name, name, nearest.Question(name, all))
			}
			start := f.start
			if a.Typed() {
				start = func(a *bindrt.Args) error { return a.AskTyped(f.start) }
			}
			a.Return(functionOf(start, f.origin()))
			return nil
		},
	}
}

// interruptible adds the functions and methods that take a context to all.
func (l *Exports) interruptible(all map[string]*Function) map[string]*Function {
	for _, in := range l.Includes {
		in.interruptible(all)
	}
	for i := range l.Functions {
		if f := &l.Functions[i]; f.Context {
			all[f.Name] = f
		}
	}
	for i := range l.Methods {
		all[l.Methods[i].Global] = &l.Methods[i]
	}
	return all
}

// handles has for each *Function the func that makes and returns its handle for tasks. The
// handle is made once, because it stays as long as the process.
var handles sync.Map

func (f *Function) detached() uintptr {
	handle, ok := handles.Load(f)
	if !ok {
		handle, _ = handles.LoadOrStore(f, sync.OnceValue(func() uintptr {
			about := f.about()
			about.Method = f.Global != "" // of the functions with a context, only methods have it
			_, handle := callbacks.Export(f.Call, f.origin(), about)
			return handle
		}))
	}
	return handle.(func() uintptr)()
}

// start is the function that asyncName returns.
func (f *Function) start(a *bindrt.Args) error {
	if a.Len() == 0 || a.Value(0).TypeIndex != abi.TypeFunction {
		return failure.Errorf(failure.KindType, "the asynchronous form of %s takes a function done(result, error) as its first argument", f.Name)
	}
	task, err := callbacks.NewTask(a, 1, f.detached())
	if err != nil {
		return err
	}
	running := false
	defer func() {
		if !running {
			task.Drop()
		}
	}()
	if err := task.Prepare(f.Call); err != nil {
		return err
	}
	running = true
	// done is held by a reference of its own, as the arguments are.
	handle := uintptr(a.Value(0).Bits)
	objects.IncRef(handle)
	done := (*tvmffi.Function)(unsafe.Pointer(objects.Own(handle)))
	ctx, cancel := context.WithCancel(context.Background())
	environment.Elsewhere(task, func() error { return task.Run(ctx) }, func(err error) {
		defer cancel()
		deliver(done, task, err)
	})
	a.Return(functionOf(func(*bindrt.Args) error {
		cancel()
		return nil
	}, f.origin()))
	return nil
}

// functionOf makes a Function object as a result.
func functionOf(call func(*bindrt.Args) error, origin uintptr) abi.Any {
	return abi.Any{TypeIndex: abi.TypeFunction, Bits: uint64(callbacks.NewOf(call, origin))}
}

// deliveries bounds the calls of done that are under way. They mostly wait for the lock of
// an interpreter, and each needs a thread.
var deliveries = make(chan struct{}, 16)

// deliver ends the task, whose func returned err, and calls done.
func deliver(done *tvmffi.Function, task *callbacks.Task, err error) {
	deliveries <- struct{}{}
	defer func() { <-deliveries }()
	defer done.Release()
	result, err := task.End(err)
	var c bindrt.Call2
	c.BeginFunction(bindrt.Ref(done), 2)
	if err != nil {
		handle, failed := failure.NativeError(err)
		if failed != nil {
			return // only a broken library cannot make an error
		}
		c.Put(1, values.AnyView{Value: abi.Any{TypeIndex: abi.TypeError, Bits: uint64(handle)}, Owned: true}, nil)
	} else {
		c.Put(0, values.AnyView{Value: result, Owned: result.TypeIndex.IsObject()}, nil)
	}
	v, _ := bindrt.Do[tvmffi.Any](&c.Call) // nobody is there for an error of done
	v.Release()
}
