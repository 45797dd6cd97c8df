package exportrt_test

import (
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/objects"
	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	"github.com/tvmffi-go/tvmffi/internal/testkit/runtimetest"
	"github.com/tvmffi-go/tvmffi/reflection"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/bindrt"
	"github.com/tvmffi-go/tvmffi/runtime/define"
	"github.com/tvmffi-go/tvmffi/runtime/exportrt"
)

// file counts how often it is closed and used.
type file struct{ closed, used atomic.Int64 }

func (f *file) Close() error { f.closed.Add(1); return errors.New("disk full") }

var fileType = define.Opaque[file]("exportrttest.File")

// fileMethods are the methods of a class as the generator writes them.
func fileMethods(t testing.TB) (closeFile, use *tvmffi.Function) {
	t.Helper()
	closeFile = exported(t, "close", (*file).Close, func(a *bindrt.Args) error { return exportrt.Close(a, "File", "close", (*file).Close) })
	use = exported(t, "use", func(*file) int64 { return 0 }, func(a *bindrt.Args) error {
		x, err := exportrt.Receiver[file](a, "File", "use")
		if err != nil {
			return err
		}
		if err := a.Check(1); err != nil {
			return err
		}
		return a.ReturnInt(x.used.Add(1))
	})
	if err := fileType.Register(); err != nil {
		t.Fatal(err)
	}
	return closeFile, use
}

// objectOf returns the object of x.
func objectOf(t testing.TB, x *file) *tvmffi.Object {
	t.Helper()
	v, err := exported(t, "object", func(*file) *file { return nil }, func(a *bindrt.Args) error {
		return bindrt.Return(a, bindrt.Arg[*file](a, 0))
	}).Call(x)
	if err != nil {
		t.Fatal(err)
	}
	o, err := tvmffi.As[*tvmffi.Object](v)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func wantError(t *testing.T, err error, kind error, text string) {
	t.Helper()
	if !errors.Is(err, kind) || !strings.Contains(err.Error(), text) {
		t.Errorf("%v, want %q", err, text)
	}
}

// TestClose: the method Close runs once, and other methods are errors after it, also of a new
// object for the same Go value.
func TestClose(t *testing.T) {
	closeFile, use := fileMethods(t)
	x := new(file)
	if n, err := use.Call(x); err != nil || n.Value() != int64(1) {
		t.Fatal(n, err)
	}
	_, err := closeFile.Call(x)
	wantError(t, err, tvmffi.ErrRuntime, "disk full")
	for range 2 {
		runtimetest.Collect(t, "objects", func() bool { return objects.LivePeers() == 0 })
		_, err = use.Call(x)
		wantError(t, err, tvmffi.ErrValue, "File.use: the File is closed")
		if _, err := closeFile.Call(x); err != nil {
			t.Error(err)
		}
	}
	_, err = use.Call(tvmffi.Move(objectOf(t, x)))
	wantError(t, err, tvmffi.ErrValue, "File.use: the File is closed")
	if n := x.closed.Load(); n != 1 {
		t.Errorf("closed %d times", n)
	}
	if _, err := use.Call(new(file)); err != nil {
		t.Error("another file:", err)
	}
	for _, f := range []*tvmffi.Function{closeFile, use} {
		_, err := f.Call(nil)
		wantError(t, err, tvmffi.ErrType, "expected a File, got None")
		_, err = f.Call("x")
		wantError(t, err, tvmffi.ErrType, "expected an exportrttest.File, got string")
		if _, err = f.Call(); !errors.Is(err, tvmffi.ErrType) {
			t.Error(err)
		}
	}
}

// TestClose_once: of many calls at once, one closes.
func TestClose_once(t *testing.T) {
	closeFile, _ := fileMethods(t)
	for range 50 {
		x := new(file)
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() { _, _ = closeFile.Call(x) })
		}
		all.Wait()
		if n := x.closed.Load(); n != 1 {
			t.Fatalf("closed %d times", n)
		}
	}
}

// TestClose_forgets: nothing is remembered of closed values that have ended.
func TestClose_forgets(t *testing.T) {
	closeFile, _ := fileMethods(t)
	for range 1000 {
		_, _ = closeFile.Call(new(file))
	}
	if objects.ClosedPeers() == 0 {
		t.Error("closed values are not remembered")
	}
	runtimetest.Collect(t, "closed values", func() bool { objects.GuardRecent(); return objects.ClosedPeers() == 0 })
}

// BenchmarkReceiver calls a method of an opaque object as other languages do.
func BenchmarkReceiver(b *testing.B) {
	_, use := fileMethods(b)
	o := objectOf(b, new(file))
	defer o.Release()
	b.ReportAllocs()
	for b.Loop() {
		var c bindrt.Call1
		c.BeginFunction(bindrt.Ref(use), 1)
		bindrt.PutObject(&c.Call, 0, o)
		if _, err := c.DoInt(); err != nil {
			b.Fatal(err)
		}
	}
}

// point is an object with a constructor of the library.
type point struct{ X, Y, Z int64 }

// TestConstructor: keywords find their parameters, defaults stand for the last ones that are
// missing, and each wrong call is an error with the names.
func TestConstructor(t *testing.T) {
	if err := tvmffi.Load(tvmffi.WithLibrary(nativetest.Library(t))); err != nil {
		t.Fatal(err)
	}
	runtimetest.NeedFunctions(t, "ffi.GetKwargsObject")
	made := func(x, y, z int64) *point { return &point{x, y, z} }
	points := define.Opaque[point]("exportrttest.Point",
		define.StaticMethod("__ffi_init__", made, exportrt.Constructor(exportrt.Function{
			Name: "Point", Func: made, Params: []string{"x", "y", "z"},
			Call: func(a *bindrt.Args) error {
				p := made(bindrt.Arg[int64](a, 0), bindrt.Arg[int64](a, 1), bindrt.Arg[int64](a, 2))
				if err := a.Check(3); err != nil {
					return err
				}
				return bindrt.Return(a, p)
			},
		}, func() []any { return []any{20, 30} })))
	if err := points.Register(); err != nil {
		t.Fatal(err)
	}
	kwargs, err := tvmffi.Lookup("ffi.GetKwargsObject")
	if err != nil {
		t.Fatal(err)
	}
	defer kwargs.Release()
	named, err := kwargs.Call()
	if err != nil {
		t.Fatal(err)
	}
	typ, err := reflection.TypeByKey("exportrttest.Point")
	if err != nil {
		t.Fatal(err)
	}
	init, err := typ.MethodByName("__ffi_init__")
	if err != nil {
		t.Fatal(err)
	}
	f, err := init.Func()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []any
		want point
		err  string
	}{
		{[]any{1, 2, 3}, point{1, 2, 3}, ""},
		{[]any{named, "x", 1}, point{1, 20, 30}, ""},
		{[]any{1, named, "z", 3}, point{1, 20, 3}, ""},
		{[]any{named, "z", 3, "y", 2, "x", 1}, point{1, 2, 3}, ""},
		{[]any{1, 2, 3, named}, point{1, 2, 3}, ""},
		{[]any{named}, point{}, "x is missing"},
		{[]any{named, "y", 2}, point{}, "x is missing"},
		{[]any{1, named, "x", 2}, point{}, "got two values for x"},
		{[]any{1, named, "z", 2, "z", 2}, point{}, "got two values for z"},
		{[]any{1, named, "w", 2}, point{}, "got the keyword w"},
		{[]any{1, named, "y"}, point{}, "got KWARGS without pairs of a name and a value"},
		{[]any{1, named, 2, 3}, point{}, "got KWARGS without pairs of a name and a value"},
		{[]any{1, 2, 3, 4, named, "x", 1}, point{}, "got 4 and keywords"},
		{[]any{named, "x", "one"}, point{}, "x"},
	} {
		v, err := f.Call(c.args...)
		if c.err != "" {
			wantError(t, err, tvmffi.ErrType, c.err)
			continue
		}
		if err != nil {
			t.Errorf("%v: %v", c.args, err)
			continue
		}
		if p, err := tvmffi.As[*point](v); err != nil || *p != c.want {
			t.Errorf("%v makes %v, %v, want %v", c.args, p, err, c.want)
		}
		v.Release()
	}
}
