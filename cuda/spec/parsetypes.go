package spec

import (
	"math"
	"strings"

	"github.com/tvmffi-go/tvmffi/internal/jsonlines"
)

func (p *parser) tensor(name string) (Param, error) {
	t := Tensor{Name: name}
	err := p.expect("(", "after Tensor, as in Tensor([n], float32)")
	if err != nil {
		return nil, err
	}
	if t.Shape, err = p.dims(); err != nil {
		return nil, err
	}
	if err := p.expect(",", "and a data type after the shape, as in Tensor([n], float32)"); err != nil {
		return nil, err
	}
	p.space()
	at := p.pos
	w, err := p.word("the data type of the elements, such as float32")
	if err != nil {
		return nil, err
	}
	if t.DType, err = p.dtype(at, w); err != nil {
		return nil, err
	}
	keys := "strides=, align= or device="
	if p.tvm {
		keys = "strides=, align=, offset= or device="
	}
	seen := map[string]bool{}
	for p.accept(",") {
		p.space()
		at := p.pos
		key, err := p.word(keys)
		if err != nil {
			return nil, err
		}
		if seen[key] {
			return nil, p.errorAt(at, "%s stands there twice: remove one", key)
		}
		seen[key] = true
		if key != "strides" && key != "align" && key != "device" && (key != "offset" || !p.tvm) {
			return nil, p.errorAt(at, "%q is not a property of a tensor: write %s", key, keys)
		}
		if err := p.expect("=", "after "+key); err != nil {
			return nil, err
		}
		if err := p.property(key, &t); err != nil {
			return nil, err
		}
	}
	return t, p.expect(")", "after the properties of Tensor")
}

// property reads the value of a property of a tensor.
func (p *parser) property(key string, t *Tensor) (err error) {
	switch key {
	case "strides":
		t.Strides, err = p.dims()
	case "align":
		p.space()
		at := p.pos
		if t.Align, err = p.integer("a number of bytes after align="); err == nil && !validAlign(t.Align) {
			err = p.errorAt(at, "%s: %s", t.Name, badAlign(t.Align))
		}
	case "offset":
		t.Offset, err = p.dim()
	case "device":
		if t.Device, err = p.word("the type of a device, such as cuda"); err == nil && p.accept(":") {
			t.DeviceID, err = p.dim()
		}
	}
	return err
}

func (p *parser) dataPointer(name string) (Param, error) {
	d := DataPointer{Name: name}
	if !p.accept("(") {
		return d, nil
	}
	if err := p.expect("space", "in DataPointer(space=1)"); err != nil {
		return nil, err
	}
	if err := p.expect("=", "after space"); err != nil {
		return nil, err
	}
	p.space()
	at := p.pos
	n, err := p.integer("the number of the address space")
	if err != nil {
		return nil, err
	}
	if n < 0 || n > math.MaxInt32 {
		return nil, p.errorAt(at, "%d is not an address space: write a number from 0 on", n)
	}
	d.Space = int(n)
	return d, p.expect(")", "after the address space")
}

// constant reads what follows Int, Bool or Float.
func (p *parser) constant(name, kind string) (Param, error) {
	c := Const{Name: name}
	if err := p.expect("(", "after "+kind+", which stands for a constant: write int32, bool or float32 for a value"); err != nil {
		return nil, err
	}
	var err error
	switch kind {
	case "Int":
		c.Value, err = p.integer("a whole number in Int()")
	case "Bool":
		switch {
		case p.accept("True"):
			c.Value = true
		case p.accept("False"):
			c.Value = false
		default:
			err = p.errorf("expected True or False in Bool(), found %s", p.found())
		}
	default:
		p.space()
		n := strings.IndexByte(p.text[p.pos:], ')')
		if n < 0 {
			n = len(p.text) - p.pos
		}
		number := strings.TrimSpace(p.text[p.pos : p.pos+n])
		v, failed := jsonlines.Float(number, 64)
		if failed != nil || strings.ContainsAny(number, "_xXpP") {
			return nil, p.errorf("%.40q is not a number: write one like Float(1.5)", number)
		}
		c.Value = v
		p.pos += n
	}
	if err != nil {
		return nil, err
	}
	return c, p.expect(")", "after the value of "+kind)
}
