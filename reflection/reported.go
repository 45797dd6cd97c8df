package reflection

import (
	"runtime"

	"github.com/tvmffi-go/tvmffi/internal/dynlib"
	"github.com/tvmffi-go/tvmffi/internal/refusal"
	"github.com/tvmffi-go/tvmffi/internal/symbols"
	"github.com/tvmffi-go/tvmffi/schema"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// refusals reads signatures of functions without metadata.
type refusals struct {
	module  *tvmffi.Module
	library dynlib.Handle
	code    refusal.Code
}

// newRefusals prepares for the functions of a library that is loaded.
func newRefusals(module *tvmffi.Module, path string) (*refusals, error) {
	library, err := dynlib.Open(path)
	if err != nil {
		return nil, err
	}
	core, err := dynlib.Open(tvmffi.LibraryPath())
	if err != nil {
		return nil, err
	}
	r := &refusals{module, library, refusal.Code{GOARCH: runtime.GOARCH, Functions: map[uint64]string{}, Slots: map[uint64]uint64{}}}
	if r.code.Read, err = dynlib.Memory(); err != nil {
		return r, nil // every function stays packed
	}
	addresses := map[string]uint64{}
	for _, name := range refusal.Names() {
		for _, h := range []dynlib.Handle{library, core} {
			if address, err := h.Symbol(name); err == nil {
				r.code.Functions[uint64(address)] = name
				addresses[name] = uint64(address)
			}
		}
	}
	for at, name := range library.Slots(r.code.Read) {
		if address, ok := addresses[name]; ok {
			r.code.Slots[at] = address
		}
	}
	return r, nil
}

// signature returns the signature in the text with which a function refuses a call with too many
// arguments. The text comes from the machine code of the function. A function is called only if its code
// shows that it refuses the call before it does anything. Without an answer the function stays packed.
func (r *refusals) signature(name string) *schema.Signature {
	if r.code.Read == nil {
		return nil
	}
	entry, err := r.library.Symbol(symbols.FunctionPrefix + name)
	if err != nil {
		return nil
	}
	r.code.Entry = uint64(entry)
	answer, err := refusal.Find(r.code)
	if err != nil {
		return nil
	}
	if answer.Text == "" {
		answer.Text = r.ask(name)
	}
	_, signature, err := schema.ParseReported(answer.Text)
	if err != nil {
		return nil
	}
	return signature
}

// ask calls a function with too many arguments, and returns the text of its error.
func (r *refusals) ask(name string) string {
	f, err := r.module.Function(name)
	if err != nil {
		return ""
	}
	defer f.Release()
	result, err := f.Call(make([]any, refusal.TooMany)...)
	if err == nil {
		result.Release()
		return ""
	}
	return err.Error()
}
