//go:build bindings

package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/structural"

	"github.com/tvmffi-go/tvmffi/examples/tvm_compile/tvm/ir"
	"github.com/tvmffi-go/tvmffi/examples/tvm_compile/tvm/prim"
	"github.com/tvmffi-go/tvmffi/examples/tvm_compile/tvm/te"
	"github.com/tvmffi-go/tvmffi/examples/tvm_compile/tvm/tirx"
	"github.com/tvmffi-go/tvmffi/examples/tvm_compile/tvm/transform"
)

// products describes B[i] = A[i] * f for each factor, one kernel each.
func products(t *testing.T, factors ...float64) *ir.IRModule {
	t.Helper()
	m, err := describe(func() *ir.IRModule {
		var kernels *ir.IRModule
		for at, f := range factors {
			n := must(ir.NewVar("n", must(ir.NewPrimType(tvmffi.Int64)), nil))
			a := must(te.Placeholder(shape(n), must(ir.NewPrimType(tvmffi.Float32)), "A"))
			i := must(ir.NewVar("i", must(ir.NewPrimType(tvmffi.Int64)), nil))
			axis := must(tirx.NewIterVar(must(ir.NewRange(number(0), n, nil)), i, 0, "", nil))
			element := must(te.TensorLoad(a, tvmffi.Of[ir.ExprRef](i)))
			product := must(prim.NewMul(element, must(ir.NewFloatImm(tvmffi.Float32, f, nil)), nil))
			op := must(te.NewComputeOp("B", "", nil, tvmffi.Of[tirx.IterVarRef](axis), tvmffi.Of[ir.ExprRef](product)))
			one := module(fmt.Sprintf("times_%d", at), a, must(te.OpGetOutput(op, 0)))
			if kernels == nil {
				kernels = one
				continue
			}
			must(0, ir.ModuleUpdate(kernels, one))
		}
		return kernels
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestSumsForDoubles(t *testing.T) {
	m := products(t, 2, 3, 2)
	before := m.String()
	var found []string
	pass, err := sumsForDoubles(func(x *prim.Mul) { found = append(found, x.String()) })
	if err != nil {
		t.Fatal(err)
	}
	after, err := transform.RunPass(pass, m)
	if err != nil {
		t.Fatal(err)
	}
	double := "A[v_i] * T.float32(2.0)"
	if !slices.Equal(found, []string{double, double}) {
		t.Errorf("it found %q", found)
	}
	text := after.String()
	for script, want := range map[string]int{
		"B[v_i] = A[v_i] + A[v_i]":         2,
		"B[v_i] = A[v_i] * T.float32(3.0)": 1,
		"* T.float32(2.0)":                 0,
	} {
		if got := strings.Count(text, script); got != want {
			t.Errorf("%q is there %d times, want %d:\n%s", script, got, want, text)
		}
	}
	if m.String() != before {
		t.Errorf("the pass has changed its input from\n%s\nto\n%v", before, m)
	}
	again, err := transform.RunPass(pass, after)
	if err != nil {
		t.Fatal(err)
	}
	if same, err := structural.Equal(after, again); err != nil || !same || len(found) != 2 {
		t.Errorf("a second run makes\n%v\nof\n%v", again, after)
	}
}

// An error of a pass written in Go passes through the compiler.
func TestPass_errors(t *testing.T) {
	refused := errors.New("this pass refuses the module")
	info, err := transform.NewPassInfo(0, "go.refuses", nil, false)
	if err != nil {
		t.Fatal(err)
	}
	pass, err := transform.MakeModulePass(func(*ir.IRModule, *transform.PassContext) (ir.IRModuleRef, error) {
		return nil, refused
	}, info)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := transform.RunPass(pass, products(t, 1)); !errors.Is(err, refused) {
		t.Errorf("the error is %v, want the error of the pass", err)
	}
}
