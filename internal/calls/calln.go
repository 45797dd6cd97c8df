package calls

import (
	"slices"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/ccall"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/fields"
	"github.com/tvmffi-go/tvmffi/internal/objects"
)

// CallN is a call with up to 128 arguments, for constructors with options. It has
// no room for text behind more than 32 of them.
type CallN struct {
	Call
	block [2 * maxArguments]uint64
	kept  [maxArguments + 1]unsafe.Pointer
	// keywords is the index of the next keyword argument, 0 before the first.
	keywords int
	// named are the narrow fields of a constructor.
	named map[string]*fields.Field
}

const maxArguments = ccall.MaxBlock

// CallN has the layout of the other frames.
var (
	_ = [1]bool{}[unsafe.Offsetof(CallN{}.block)-callSize]
	_ = [1]bool{}[unsafe.Offsetof(CallN{}.kept)-(callSize+16*maxArguments)]
)

// Begin starts a call of f with n arguments.
func (c *CallN) Begin(f *Func, n int) {
	c.fn = f // for the error of limit
	c.begin(f, c.limit(n), maxArguments)
}

// BeginFunction starts a call of a Function object with n arguments.
func (c *CallN) BeginFunction(fn *objects.Object, n int) {
	c.beginFunction(fn, c.limit(n), maxArguments)
}

func (c *CallN) limit(n int) int {
	if n > maxArguments {
		what := "a Function object, which has no name"
		if c.fn != nil {
			what = c.fn.String()
		}
		c.fail(failure.Errorf(failure.KindType, "%s: a call with %d arguments, %d is the limit: look the function up and use its method Call, which takes any number", what, n, maxArguments))
		return 0
	}
	return n
}

// kwargs is the object that separates positional from keyword arguments.
var kwargs = Func{Name: "ffi.GetKwargsObject"}

// BeginInit starts a call of an automatic constructor with positional arguments,
// required keyword arguments and options.
func (c *CallN) BeginInit(f *Func, positional, keywords, options int) {
	n := positional
	if keywords+options > 0 {
		n += 1 + 2*(keywords+options)
	}
	c.Begin(f, n)
	c.keywords = positional
	if c.extra != nil {
		return
	}
	if c.resolve(); c.extra == nil && f.narrow != nil {
		c.named = f.narrow.Named
		for i, field := range f.narrow.Positional[:min(positional, len(f.narrow.Positional))] {
			c.narrow(field, i)
		}
	}
	if keywords+options == 0 || c.extra != nil && c.extra.err != nil {
		return
	}
	var k Call1
	k.Begin(&kwargs, 0)
	if err := k.Do(); err != nil {
		c.fail(err)
		return
	}
	v := k.head.Res
	c.set(c.keywords, v.TypeIndex, v.Bits)
	c.own(v)
	c.keywords++
}

// Keyword packs the name of the next keyword argument; its value goes to Next.
func (c *CallN) Keyword(name string) {
	if c.keywords+2 <= maxArguments {
		c.String(c.keywords, name)
		c.narrow(c.named[name], c.keywords+1)
		c.keywords += 2
	}
}

// narrow remembers that argument i is for a field that may change a number; nil for other
// fields.
func (c *CallN) narrow(f *fields.Field, i int) {
	if f != nil {
		c.more().narrow = append(c.more().narrow, narrowArgument{f, i})
	}
}

// Bits says that argument i, an int that was packed, is the bits of a uint64, which may be beyond int64: its field has no sign.
func (c *CallN) Bits(i int) {
	if c.extra != nil {
		c.extra.narrow = slices.DeleteFunc(c.extra.narrow, func(a narrowArgument) bool { return a.index == i })
	}
}

// Next is the index of the value of the keyword that was packed last.
func (c *CallN) Next() int { return c.keywords - 1 }

// Kwargs returns the object that separates positional from keyword arguments,
// owned. Libraries before 0.1.11 have none.
func Kwargs() (abi.Any, error) {
	var c Call1
	c.Begin(&kwargs, 0)
	if err := c.Do(); err != nil {
		return abi.Any{}, err
	}
	return c.Take(), nil
}
