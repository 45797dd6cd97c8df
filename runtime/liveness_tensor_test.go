//go:build tvmffi_liveness

package tvmffi_test

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/runtimetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/bindrt"
)

func TestLivenessTensors(t *testing.T) {
	runtimetest.LoadTensors(t)
	shapeOf := func(x *tvmffi.Tensor, err error) any {
		return fmt.Sprint(got(x, err).Shape(), got(tvmffi.ToFloat32(x)))
	}
	uses := []runtimetest.Use{
		{"DLPack of C", func() any { return shapeOf(numbers(2), nil) }, "[2] [0 1]"},
		{"ToDLPackVersioned", func() any { return call("tensors.consume", got(got(numbers(4).ToDLPackVersioned()).Take())) }, 6.},
		{"ToDLPack", func() any { return call("tensors.consume_old", got(got(numbers(4).ToDLPack()).Take())) }, 6.},
		{"ToDLPack of Go memory", func() any { return call("tensors.consume_old", got(got(goNumbers(4).ToDLPack()).Take())) }, 6.},
		{"ToDLPack and back", func() any { return shapeOf(tvmffi.FromDLPack(got(goNumbers(4).ToDLPack()))) }, "[4] [0 1 2 3]"},
		{"FromDLPack with an offset", func() any {
			return shapeOf(tvmffi.FromDLPack(got(tvmffi.OwnDLPackVersioned(call("tensors.managed", shape2(2), nil, int64(8), int64(4), int64(1), int64(0)).(tvmffi.Pointer)))))
		}, "[2] [2 3]"},
		{"FromPointer and what it keeps", func() any { return shapeOf(over(numbers(3))) }, "[3] [0 1 2]"},
		{"FromSlice", func() any { return shapeOf(tvmffi.FromSlice(slice(5))) }, "[5] [0 1 2 3 4]"},
		{"FromStrided", func() any { return shapeOf(tvmffi.FromStrided(slice(4), []int64{2}, []int64{2})) }, "[2] [0 2]"},
		{"TensorOf", func() any { return shapeOf(tvmffi.TensorOf(tvmffi.Float32, slice(3))) }, "[3] [0 1 2]"},
		{"FromFloat32", func() any { return shapeOf(tvmffi.FromFloat32(tvmffi.Float16, slice(3))) }, "[3] [0 1 2]"},
	}
	for name, maker := range map[string]func(shape ...int64) *tvmffi.Tensor{"C": numbers, "Go": goNumbers} {
		for _, use := range tensorUses(maker) {
			use.Name += " of " + name
			uses = append(uses, use)
		}
	}
	runtimetest.Alive(t, uses)
}

//go:noinline
func slice(n int) []float32 {
	s := make([]float32, n)
	for i := range s {
		s[i] = float32(i)
	}
	return s
}

//go:noinline
func over(x *tvmffi.Tensor) (*tvmffi.Tensor, error) {
	return tvmffi.FromPointer(x.DataPointer(), tvmffi.Float32, tvmffi.CPU, x, x.Len())
}

//go:noinline
func shape2(dims ...int64) *tvmffi.Shape { return got(tvmffi.NewShape(dims...)) }

// numbers is the float32 tensor 0, 1, 2, ... in memory of C.
//
//go:noinline
func numbers(dims ...int64) *tvmffi.Tensor {
	n := int64(1)
	for _, d := range dims {
		n *= d
	}
	p := call("tensors.managed", shape2(dims...), nil, int64(0), n, int64(1), int64(0)).(tvmffi.Pointer)
	return got(tvmffi.FromDLPack(got(tvmffi.OwnDLPackVersioned(p))))
}

// goNumbers is numbers in memory of Go.
//
//go:noinline
func goNumbers(dims ...int64) *tvmffi.Tensor {
	x := got(tvmffi.NewTensor(tvmffi.Float32, dims...))
	got(0, tvmffi.CopyFrom(x, slice(int(x.Len()))))
	return x
}

// tensorUses are the methods and functions of tensors.
func tensorUses(maker func(dims ...int64) *tvmffi.Tensor) []runtimetest.Use {
	shapeOf := func(x *tvmffi.Tensor, err error) any {
		return fmt.Sprint(got(x, err).Shape(), got(tvmffi.ToFloat32(x)))
	}
	return []runtimetest.Use{
		{"Shape", func() any { return maker(2, 3).Shape() }, []int64{2, 3}},
		{"Strides", func() any { return maker(2, 3).Strides() }, []int64{3, 1}},
		{"NDim", func() any { return maker(2, 3).NDim() }, 2},
		{"Size", func() any { return maker(2, 3).Size(1) }, int64(3)},
		{"DataType", func() any { return maker(2, 3).DataType() }, tvmffi.Float32},
		{"Device", func() any { return maker(2, 3).Device() }, tvmffi.CPU},
		{"Len", func() any { return maker(2, 3).Len() }, int64(6)},
		{"NBytes", func() any { return maker(2, 3).NBytes() }, int64(24)},
		{"DataPointer", func() any { return maker(2, 3).DataPointer().Address%4 == 0 }, true},
		{"ByteOffset", func() any { return maker(2, 3).ByteOffset() }, uint64(0)},
		{"Contiguous", func() any { return maker(2, 3).Contiguous() }, true},
		{"ReadOnly", func() any { return maker(2, 3).ReadOnly() }, false},
		{"Slice", func() any { return shapeOf(maker(4).Slice(0, 1, 3)) }, "[2] [1 2]"},
		{"Select", func() any { return shapeOf(maker(2, 3).Select(0, 1)) }, "[3] [3 4 5]"},
		{"Reshape", func() any { return shapeOf(maker(2, 3).Reshape(3, 2)) }, "[3 2] [0 1 2 3 4 5]"},
		{"Reshape to many dimensions", func() any { return shapeOf(maker(2).Reshape(1, 1, 1, 1, 1, 2)) }, "[1 1 1 1 1 2] [0 1]"},
		{"Transpose", func() any { return shapeOf(maker(2, 3).Transpose()) }, "[3 2] [0 3 1 4 2 5]"},
		{"Squeeze", func() any { return shapeOf(maker(1, 3).Squeeze()) }, "[3] [0 1 2]"},
		{"Unsqueeze", func() any { return shapeOf(maker(3).Unsqueeze(0)) }, "[1 3] [0 1 2]"},
		{"AsStrided", func() any { return shapeOf(maker(4).AsStrided([]int64{2}, []int64{2}, 1)) }, "[2] [1 3]"},
		{"Clone", func() any { return shapeOf(maker(3).Clone()) }, "[3] [0 1 2]"},
		{"Clone of a view", func() any { return shapeOf(got(maker(2, 2).Transpose()).Clone()) }, "[2 2] [0 2 1 3]"},
		{"Copy", func() any { return done(tvmffi.Copy(maker(3), maker(3))) }, nil},
		{"Copy to one that is kept", func() any {
			x := maker(3)
			got(0, tvmffi.Copy(x, got(maker(5).Slice(0, 2, 5))))
			return shapeOf(x, nil)
		}, "[3] [2 3 4]"},
		{"Copy to a view", func() any { return done(tvmffi.Copy(got(maker(2, 2).Transpose()), got(maker(2, 2).Transpose()))) }, nil},
		{"CopyTo", func() any { s := make([]float32, 3); got(0, tvmffi.CopyTo(maker(3), s)); return s }, []float32{0, 1, 2}},
		{"CopyTo of a view", func() any { s := make([]float32, 4); got(0, tvmffi.CopyTo(got(maker(2, 2).Transpose()), s)); return s }, []float32{0, 2, 1, 3}},
		{"CopyFrom", func() any { return done(tvmffi.CopyFrom(maker(3), slice(3))) }, nil},
		{"ToFloat32", func() any { return got(tvmffi.ToFloat32(maker(3))) }, []float32{0, 1, 2}},
		{"ReadSlice and a use", func() any { x := maker(3); s := got(tvmffi.ReadSlice[float32](x)); return fmt.Sprint(s, x.NDim()) }, "[0 1 2] 1"},
		{"Slice of a type", func() any { x := maker(3); s := got(tvmffi.Slice[float32](x)); return fmt.Sprint(s, x.NDim()) }, "[0 1 2] 1"},
		{"ReadSlice", func() any { return len(got(tvmffi.ReadSlice[float32](maker(3)))) }, 3},
		{"Bytes", func() any { return len(got(maker(3).Bytes())) }, 12},
		{"ReadAt", func() any { b := make([]byte, 4); n := got(maker(3).ReadAt(b, 4)); return fmt.Sprint(n, b) }, "4 [0 0 128 63]"},
		{"an io.SectionReader", func() any { return bytes.Equal(got(io.ReadAll(io.NewSectionReader(maker(1), 0, 4))), make([]byte, 4)) }, true},
		{"WriteAt", func() any { return got(maker(3).WriteAt(make([]byte, 4), 4)) }, 4},
		{"Elements.At", func() any { return got(tvmffi.ElementsOf[float32](maker(3))).At(2) }, float32(2)},
		{"Elements.Set", func() any { got(tvmffi.ElementsOf[float32](maker(3))).Set(5, 2); return nil }, nil},
		{"Elements.All", func() any {
			sum := float32(0)
			for _, x := range got(tvmffi.ElementsOf[float32](maker(3))).All() {
				sum += x + float32(call("calls.echo", 0.).(float64))
			}
			return sum
		}, float32(3)},
		{"Format", func() any { return fmt.Sprintf("%v", maker(3)) != "" && fmt.Sprintf("%+v", maker(3)) != "" }, true},
		{"String", func() any { return strings.Contains(maker(3).String(), "float32") }, true},
		{"an argument", func() any { return call("tensors.sum", maker(4)) }, 6.},
		{"a view as an argument", func() any { return call("tensors.sum", got(maker(4).Slice(0, 2, 4))) }, 5.},
		{"an argument of a frame", func() any {
			var c bindrt.Call1
			c.Begin(runtimetest.GlobalFunc("calls.sum_tensor", ""), 1)
			c.Object(0, bindrt.Ref(maker(4)))
			return got(c.DoFloat())
		}, 6.},
		{"an argument of a callback", func() any {
			return call("calls.apply", func(x *tvmffi.Tensor) float64 { return float64(got(tvmffi.ToFloat32(x))[1]) }, maker(2))
		}, 1.},
		{"a result of a callback", func() any {
			return shapeOf(call("calls.apply", func(int64) *tvmffi.Tensor { return maker(2) }, int64(1)).(*tvmffi.Tensor), nil)
		}, "[2] [0 1]"},
		{"Retain", func() any { return shapeOf(tvmffi.Retain(maker(2)), nil) }, "[2] [0 1]"},
		{"AnyOf", func() any { return shapeOf(got(tvmffi.AnyOf(maker(2))).Value().(*tvmffi.Tensor), nil) }, "[2] [0 1]"},
		{"borrowed memory", func() any {
			return call("tensors.with_view", func(x *tvmffi.Tensor) float64 {
				return float64(got(tvmffi.ToFloat32(x))[1]) + call("tensors.sum", x).(float64)
			})
		}, 123.},
	}
}
