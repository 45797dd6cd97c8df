package calls_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/callbacks"
	"github.com/tvmffi-go/tvmffi/internal/calls"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/objects"
	"github.com/tvmffi-go/tvmffi/internal/values"
)

// TestResults takes results of each type by each method: those of the wrong type are a
// TypeError, and are released.
func TestResults(t *testing.T) {
	load(t)
	value := func(v abi.Any, err error) abi.Any {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	box := func() abi.Any {
		o, err := newBox(1)
		if err != nil {
			t.Fatal(err)
		}
		return abi.Any{TypeIndex: o.TypeIndex(), Bits: uint64(o.Detach())}
	}
	made := map[string]func() abi.Any{
		"none":    func() abi.Any { return abi.Any{} },
		"int":     func() abi.Any { return abi.Any{TypeIndex: abi.TypeInt, Bits: 1} },
		"bool":    func() abi.Any { return abi.Any{TypeIndex: abi.TypeBool, Bits: 1} },
		"float":   func() abi.Any { return abi.Any{TypeIndex: abi.TypeFloat, Bits: 1} },
		"dtype":   func() abi.Any { return abi.Any{TypeIndex: abi.TypeDataType, Bits: 1} },
		"device":  func() abi.Any { return abi.Any{TypeIndex: abi.TypeDevice, Bits: 1} },
		"pointer": func() abi.Any { return abi.Any{TypeIndex: abi.TypeOpaquePtr, Bits: 1} },
		"small":   func() abi.Any { return value(values.NewString("small")) },
		"string":  func() abi.Any { return value(values.NewString("longer than seven bytes")) },
		"bytes":   func() abi.Any { return value(values.NewBytes([]byte("longer than seven bytes"))) },
		"few":     func() abi.Any { return value(values.NewBytes([]byte("few"))) },
		"box":     box,
	}
	for _, m := range []struct {
		what, want string
		do         func(c *calls.Call) error
		ok         []string
	}{
		{"bool", "a bool", func(c *calls.Call) error { _, err := c.DoBool(); return err }, []string{"bool", "int"}},
		{"int", "an int", func(c *calls.Call) error { _, err := c.DoInt(); return err }, []string{"bool", "int"}},
		{"float", "a float", func(c *calls.Call) error { _, err := c.DoFloat(); return err }, []string{"bool", "float", "int"}},
		{"DataType", "a DataType", func(c *calls.Call) error { _, err := c.DoDataType(); return err }, []string{"dtype"}},
		{"Device", "a Device", func(c *calls.Call) error { _, err := c.DoDevice(); return err }, []string{"device"}},
		{"void*", "a pointer", func(c *calls.Call) error { _, err := c.DoPointer(); return err }, []string{"none", "pointer"}},
		{"ffi.String", "a string", func(c *calls.Call) error { _, err := c.DoString(); return err }, []string{"small", "string"}},
		{"ffi.Bytes", "bytes", func(c *calls.Call) error { _, err := c.DoBytes(); return err }, []string{"bytes", "few"}},
		{"calls.Box", "a calls.Box", func(c *calls.Call) error {
			o, err := c.DoObject(&typeBox)
			if o != nil {
				o.Release()
			}
			return err
		}, []string{"box", "none"}},
	} {
		for name, make := range made {
			before := live(t)
			fn := objects.Own(callbacks.New(func(a *callbacks.Args) error {
				a.Return(make())
				return nil
			}))
			var c calls.Call6
			c.BeginFunction(fn, 0)
			err := m.do(&c.Call)
			fn.Release()
			good := slices.Contains(m.ok, name)
			if (err == nil) != good || err != nil && (failure.FailureOf(err).Kind != failure.KindType || !strings.Contains(err.Error(), "the called function: result: expected "+m.want+", got ")) {
				t.Errorf("%s as %s: %v, want an error: %t", name, m.what, err, !good)
			}
			if n := live(t) - before; n != 0 {
				t.Errorf("%s as %s: %d boxes are left", name, m.what, n)
			}
		}
	}
}

// TestResultValues: an int becomes a float and a bool, as in an argument, and there is no result beside an error.
func TestResultValues(t *testing.T) {
	load(t)
	for _, made := range []abi.Any{{TypeIndex: abi.TypeInt, Bits: 3}, {TypeIndex: abi.TypeDevice, Bits: 3}, {}} {
		fn := objects.Own(callbacks.New(func(a *callbacks.Args) error {
			if made.TypeIndex == abi.TypeNone {
				return errors.New("on purpose")
			}
			a.Return(made)
			return nil
		}))
		var c, d, e calls.Call1
		c.BeginFunction(fn, 0)
		d.BeginFunction(fn, 0)
		e.BeginFunction(fn, 0)
		f, errOfFloat := c.DoFloat()
		b, errOfBool := d.DoBool()
		n, errOfInt := e.DoInt()
		if isInt := made.TypeIndex == abi.TypeInt; isInt && (f != 3 || n != 3 || !b || errOfFloat != nil || errOfInt != nil || errOfBool != nil) || !isInt && (f != 0 || n != 0 || b || errOfFloat == nil || errOfInt == nil || errOfBool == nil) {
			t.Errorf("%v: %v %v, %v %v, %v %v", made, f, errOfFloat, n, errOfInt, b, errOfBool)
		}
		fn.Release()
	}
}

// TestOwned: a call releases the objects that it owns, with a result, with a wrong one, and with
// an error, beside which there is no result.
func TestOwned(t *testing.T) {
	load(t)
	before := live(t)
	for name, f := range map[string]func(*callbacks.Args) error{
		"a result":       func(a *callbacks.Args) error { a.Return(abi.Any{TypeIndex: abi.TypeInt, Bits: 3}); return nil },
		"a wrong result": func(*callbacks.Args) error { return nil },
		"an error":       func(*callbacks.Args) error { return errors.New("on purpose") },
	} {
		fn := objects.Own(callbacks.New(f))
		for n := range 3 {
			var c calls.Call2
			c.BeginFunction(fn, n)
			for i := range n {
				o, err := newBox(1)
				if err != nil {
					t.Fatal(err)
				}
				c.Give(i, o.TypeIndex(), o.Detach())
			}
			v, err := c.DoInt()
			if good := name == "a result"; (err == nil) != good || (v == 3) != good || !good && v != 0 {
				t.Errorf("%s of %d objects: %d, %v", name, n, v, err)
			}
			if left := live(t) - before; left != 0 {
				t.Errorf("%s of %d objects: %d are left", name, n, left)
			}
		}
		fn.Release()
	}
}
