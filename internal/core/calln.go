package core

import (
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/ccall"
)

// CallN is a call with any number of arguments: its block is on the heap.
type CallN struct {
	Call
	arguments []abi.Any
	// keywords is the index of the next keyword argument, 0 before the first.
	keywords int
}

// Begin starts a call of f with n arguments.
func (c *CallN) Begin(f *Func, n int) {
	c.allocate(n)
	c.begin(f, n, uint32(n))
	c.external()
}

// BeginFunction starts a call of a Function object with n arguments.
func (c *CallN) BeginFunction(fn *Object, n int) {
	c.allocate(n)
	c.beginFunction(fn, n, uint32(n))
	c.external()
}

func (c *CallN) allocate(n int) {
	c.arguments = make([]abi.Any, max(n, 1))
	c.large = (*uint64)(unsafe.Pointer(unsafe.SliceData(c.arguments)))
}

// external makes the trampoline pass the block where it is: heap memory does not
// move, and c keeps it alive.
func (c *CallN) external() {
	c.head.Units = 0
	c.head.Mode = ccall.Value
	c.head.Word = uintptr(unsafe.Pointer(c.large))
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
	if keywords+options == 0 || c.err != nil {
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
	c.String(c.keywords, name)
	c.keywords += 2
}

// Next is the index of the value of the keyword that was packed last.
func (c *CallN) Next() int { return c.keywords - 1 }
