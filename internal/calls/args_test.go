package calls_test

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/callbacks"
	"github.com/tvmffi-go/tvmffi/internal/calls"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/fields"
	"github.com/tvmffi-go/tvmffi/internal/objects"
	"github.com/tvmffi-go/tvmffi/internal/values"
)

// lengths are those around the limits of small texts, of the blocks of the frames
// and of the largest block.
var lengths = []int{0, 1, 6, 7, 8, 9, 15, 16, 23, 24, 31, 32, 39, 40, 47, 48, 71, 72, 79, 80, 87, 88, 95, 96, 200,
	495, 496, 503, 504, 511, 512, 1000, 100_000}

func TestTextLengths(t *testing.T) {
	load(t)
	for _, n := range lengths {
		s := strings.Repeat("0123456789abcdef", n/16+1)[:n]
		check := func(what, got, want string, err error) {
			t.Helper()
			if err != nil || got != want {
				t.Errorf("%s of %d bytes: %q, %v", what, n, got, err)
			}
		}
		got, err := echoText(s)
		check("echo", got, s, err)
		got, err = concat(s, s)
		check("concat", got, s+s, err)
		got, err = concat(s, "")
		check("concat with nothing", got, s, err)
		if n > 0 {
			for _, at := range []int{0, n / 2, n - 1} {
				z := s[:at] + "\x00" + s[at+1:]
				got, err = echoText(z)
				check("echo with NUL", got, z, err)
				got, err = concat(z, s)
				check("concat with NUL", got, z+s, err)
			}
		}
		b, err := echoBytes([]byte(s))
		check("bytes", string(b), s, err)
		z := bytes.Repeat([]byte{0, 0xff}, n/2)
		if b, err = echoBytes(z); err != nil || !bytes.Equal(b, z) {
			t.Errorf("%d bytes with NUL: %v", n, err)
		}

		// The result is as long as the block, or one byte longer.
		var c calls.Call1
		c.Begin(fnText, 1)
		c.Int(0, int64(n))
		got, err = c.DoString()
		check("result", got, strings.Repeat("x", n), err)

		var heap calls.CallN
		heap.Begin(fnConcat, 2)
		heap.String(0, s)
		heap.String(1, s)
		got, err = heap.DoString()
		check("CallN", got, s+s, err)
		var heapBytes calls.CallN
		heapBytes.Begin(fnBytes, 1)
		heapBytes.Bytes(0, []byte(s))
		b, err = heapBytes.DoBytes()
		check("bytes by CallN", string(b), s, err)
	}
	if b, err := echoBytes(nil); err != nil || b == nil || len(b) != 0 {
		t.Errorf("nil bytes are empty: %v, %v", b, err)
	}
}

// Each frame takes arguments and texts up to the end of its block.
func TestFrames(t *testing.T) {
	load(t)
	texts := []string{"", "short", "exactly7"[:7], "exactly8", "a longer text of 27 bytes..", strings.Repeat("long ", 40)}
	want := ""
	for _, s := range texts {
		want += s
	}
	join := objects.Own(callbacks.New(func(a *callbacks.Args) error {
		all := ""
		for i := range a.Len() {
			s, ok := capi.StringOf(a.Value(i))
			if !ok {
				return fmt.Errorf("argument %d is not a string", i)
			}
			all += s
		}
		v, err := values.NewString(all)
		a.Return(v)
		return err
	}))
	defer join.Release()
	for _, c := range []interface {
		BeginFunction(fn *objects.Object, n int)
		String(i int, s string)
		DoString() (string, error)
	}{&calls.Call6{}, &calls.Call8{}, &calls.Call12{}, &calls.Call16{}, &calls.Call24{}, &calls.Call32{}, &calls.CallN{}} {
		c.BeginFunction(join, len(texts))
		for i, s := range texts {
			c.String(i, s)
		}
		if got, err := c.DoString(); err != nil || got != want {
			t.Errorf("%T: %q, %v", c, got, err)
		}
	}
}

func TestManyArguments(t *testing.T) {
	load(t)
	for _, n := range []int{0, 1, 31, 32, 33, 64, 100, 127, 128} {
		var c calls.CallN
		c.Begin(fnSum, n)
		for i := range n {
			c.Int(i, int64(i))
		}
		err := c.Do()
		if err != nil {
			t.Fatal(err)
		}
		if v, err := c.IntResult(); err != nil || v != int64(n*(n-1)/2) {
			t.Errorf("the sum of %d arguments: %d, %v", n, v, err)
		}
	}
	for _, n := range []int{129, 1000} {
		var over calls.CallN
		over.Begin(fnSum, n)
		for i := range n {
			over.Put(i, values.AnyView{Value: abi.Any{TypeIndex: abi.TypeInt, Bits: 1}}, nil)
		}
		if err := over.Do(); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("calls.sum: a call with %d arguments, 128 is the limit", n)) {
			t.Errorf("%d arguments: %v", n, err)
		}
	}
	handleOfSum, err := fnSum.Handle()
	if err != nil {
		t.Fatal(err)
	}
	var nameless calls.CallN
	nameless.BeginFunction(objects.Static(handleOfSum), 129)
	if err := nameless.Do(); err == nil || !strings.HasPrefix(err.Error(), "TypeError: a Function object, which has no name: a call with 129 arguments, 128 is the limit: ") {
		t.Error(err)
	}
	for _, n := range []int{0, 1, 129, 5000} {
		values := make([]abi.Any, n)
		for i := range values {
			values[i] = abi.Any{TypeIndex: abi.TypeInt, Bits: uint64(i)}
		}
		if v, err := failure.Apply(handleOfSum, values); err != nil || v != (abi.Any{TypeIndex: abi.TypeInt, Bits: uint64(n * (n - 1) / 2)}) {
			t.Errorf("%d values: %v, %v", n, v, err)
		}
	}
	var c calls.Call32
	c.Begin(fnSum32, 32)
	for i := range 32 {
		c.Int(i, int64(i)<<20)
	}
	if err := c.Do(); err != nil {
		t.Fatal(err)
	}
	if v, err := c.IntResult(); err != nil || v != 496<<20 {
		t.Error(v, err)
	}
	// 40 objects and long texts.
	f := objects.Own(callbacks.New(func(a *callbacks.Args) error {
		for i := range a.Len() / 2 {
			if s, _ := capi.StringOf(a.Value(2 * i)); s != fmt.Sprint("the text with the number ", i) {
				return fmt.Errorf("text %d: %q", i, s)
			}
			if a.Value(2*i+1).TypeIndex < abi.TypeDynObjectBegin {
				return fmt.Errorf("object %d", i)
			}
		}
		a.Return(abi.Any{TypeIndex: abi.TypeInt, Bits: uint64(a.Len())})
		return nil
	}))
	defer f.Release()
	var m calls.CallN
	m.BeginFunction(f, 80)
	for i := range 40 {
		m.String(2*i, fmt.Sprint("the text with the number ", i))
		b, err := newBox(int64(i))
		if err != nil {
			t.Fatal(err)
		}
		m.Object(2*i+1, b) // nothing else refers to the wrapper
	}
	move()
	if err := m.Do(); err != nil {
		t.Fatal(err)
	}
	if v, err := m.IntResult(); err != nil || v != 80 {
		t.Error(v, err)
	}
}

// Arguments that nobody packed are None, and never what lay there before.
func TestUnpackedArgumentsAreNone(t *testing.T) {
	load(t)
	f := objects.Own(callbacks.New(func(a *callbacks.Args) error {
		for i := range a.Len() {
			if v := a.Value(i); v != (abi.Any{}) {
				return fmt.Errorf("argument %d is %v", i, v)
			}
		}
		return nil
	}))
	defer f.Release()
	for range 10 {
		deep(10)
		var c calls.Call8
		c.BeginFunction(f, 8)
		c.None(2)
		c.Object(3, nil)
		if err := c.Do(); err != nil {
			t.Error(err)
		}
	}
}

// Padding and unused bytes of packed values are zero: the library compares and
// hashes values by their bytes.
func TestPaddingIsZero(t *testing.T) {
	load(t)
	if size := unsafe.Sizeof(abi.Any{}); size != 16 {
		t.Fatalf("a value has %d bytes", size)
	}
	var got []abi.Any
	f := objects.Own(callbacks.New(func(a *callbacks.Args) error {
		got = nil
		for i := range a.Len() {
			got = append(got, a.Value(i))
		}
		return nil
	}))
	defer f.Release()
	var c calls.Call12
	c.BeginFunction(f, 9)
	c.Bool(0, true)
	c.Int(1, -1)
	c.Float(2, math.Inf(-1))
	c.String(3, "abc")
	c.Bytes(4, []byte{1, 2})
	c.DataType(5, abi.DLDataType{Code: 2, Bits: 32, Lanes: 1})
	c.Device(6, abi.DLDevice{Type: 2, ID: -1})
	c.Pointer(7, struct{ Address uintptr }{99})
	c.None(8)
	if err := c.Do(); err != nil {
		t.Fatal(err)
	}
	want := []abi.Any{
		{TypeIndex: abi.TypeBool, Bits: 1},
		{TypeIndex: abi.TypeInt, Bits: math.MaxUint64},
		{TypeIndex: abi.TypeFloat, Bits: math.Float64bits(math.Inf(-1))},
		{TypeIndex: abi.TypeSmallStr, Small: 3, Bits: 'a' | 'b'<<8 | 'c'<<16},
		{TypeIndex: abi.TypeSmallBytes, Small: 2, Bits: 1 | 2<<8},
		{TypeIndex: abi.TypeDataType, Bits: 2 | 32<<8 | 1<<16},
		{TypeIndex: abi.TypeDevice, Bits: 2 | 0xffffffff<<32},
		{TypeIndex: abi.TypeOpaquePtr, Bits: 99},
		{},
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("value %d is %+v, want %+v", i, got[i], want[i])
		}
	}
}

func TestObjectHeader(t *testing.T) {
	load(t)
	b, err := newBox(1)
	if err != nil {
		t.Fatal(err)
	}
	if counts := capi.PointerTo[abi.Object](b.Handle()).RefCounts; counts != 1<<32|1 {
		t.Errorf("counts of a new object: %#x", counts)
	}
	for range 1000 {
		objects.IncRef(b.Handle())
	}
	for range 1000 {
		objects.DecRef(b.Handle())
	}
	if counts := capi.PointerTo[abi.Object](b.Handle()).RefCounts; counts != 1<<32|1 {
		t.Errorf("counts after 1000 pairs: %#x", counts)
	}
	before := live(t)
	b.Release()
	if n := live(t); n != before-1 {
		t.Errorf("%d boxes, want %d", n, before-1)
	}
}

// framesEscape reports whether this build puts all frames on the heap, as the
// compiler does with -d=checkptr=2 and without optimisation.
func framesEscape() bool {
	return testing.AllocsPerRun(10, func() {
		var c calls.Call1
		c.Begin(fnAddOne, 1)
		c.Int(0, 1)
		if c.Do() != nil {
			panic("add_one")
		}
	}) != 0
}

func TestAllocations(t *testing.T) {
	load(t)
	if _, err := addOne(1); err != nil {
		t.Fatal(err)
	}
	if framesEscape() && raised() {
		t.Skip("this build puts the frames of all calls on the heap")
	}
	box, err := newBox(1)
	if err != nil {
		t.Fatal(err)
	}
	defer box.Release()
	float := abi.DLDataType{Code: abi.DLFloat, Bits: 32, Lanes: 1}
	tensor := objects.Own(objects.NewTensor(objects.TensorSpec{Data: unsafe.Pointer(&[]float32{1, 2}[0]), Type: float, Device: abi.DLDevice{Type: 1}}, []int64{2}, nil))
	defer tensor.Release()
	check := func(err error) {
		if err != nil {
			panic(err)
		}
	}
	field := func(name, sig string) *fields.Field { return &fields.Field{Owner: &typeBox, Name: name, Sig: sig} }
	flag, number, real32, real64, text := field("flag", "bool"), field("i64", "int"), field("f32", "float"), field("f64", "float"), field("text", "ffi.String")
	for _, c := range []struct {
		name string
		want float64
		run  func()
	}{
		{"int", 0, func() { _, err := addOne(1); check(err) }},
		{"float", 0, func() {
			var c calls.Call2
			c.Begin(fnScale, 2)
			c.Float(0, 1)
			c.Float(1, 2)
			check(c.Do())
			_, err := c.FloatResult()
			check(err)
		}},
		{"bool", 0, func() {
			var c calls.Call1
			c.Begin(fnNegate, 1)
			c.Bool(0, true)
			check(c.Do())
			_, err := c.BoolResult()
			check(err)
		}},
		{"short string in", 0, func() {
			var c calls.Call6
			c.Begin(fnLength, 1)
			c.String(0, "short")
			check(c.Do())
			_, err := c.IntResult()
			check(err)
		}},
		{"string of 32 bytes in", 0, func() {
			var c calls.Call6
			c.Begin(fnLength, 1)
			c.String(0, "0123456789abcdef0123456789abcdef")
			check(c.Do())
			_, err := c.IntResult()
			check(err)
		}},
		{"three objects", 0, func() {
			var c calls.Call3
			c.Begin(fnNop3, 3)
			for i := range 3 {
				c.Object(i, box)
			}
			check(c.Do())
		}},
		{"three tensors", 0, func() {
			var c calls.Call3
			c.Begin(fnTensors, 3)
			for i := range 3 {
				c.Object(i, tensor)
			}
			check(c.Do())
		}},
		{"short string out", 1, func() { _, err := echoText("short"); check(err) }},
		{"string of 40 bytes out", 1, func() {
			_, err := echoText("0123456789abcdef0123456789abcdef01234567")
			check(err)
		}},
		{"bool field", 0, func() { flag.Bool(box) }},
		{"int field", 0, func() { number.Int(box) }},
		{"float field of 4 bytes", 0, func() { real32.Float(box) }},
		{"float field of 8 bytes", 0, func() { real64.Float(box) }},
		{"string field", 1, func() { text.Text(box) }},
		{"object result", 1, func() { b, err := newBox(1); check(err); b.Release() }},
	} {
		if objects.Tracking && c.name == "object result" {
			continue // its stack is kept
		}
		c.run()
		if n := testing.AllocsPerRun(200, c.run); n > c.want {
			t.Errorf("%s: %v allocations, want %v", c.name, n, c.want)
		}
	}
}

// raised reports whether the build flags explain why frames escape.
func raised() bool {
	x := testing.AllocsPerRun(10, func() {
		var b [4]uint64
		touch(unsafe.Pointer(&b))
	})
	return x != 0
}

//go:noinline
func touch(p unsafe.Pointer) { *(*uint64)(unsafe.Add(p, 8)) = 1 }
