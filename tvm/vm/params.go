package vm

import (
	"fmt"

	"github.com/tvmffi-go/tvmffi/internal/jsonlines"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// Metadata is the name of a function that tells about its model: it takes no arguments and returns a JSON
// text, with the parameters under the name "params". MLC's compiler adds it to each model.
const Metadata = "_metadata"

// Params returns the parameters of the model, in the order of its tuple of weights, as its function
// [Metadata] lists them. [Weights.Tuple] compares weights with them.
func (m *Machine) Params() ([]Param, error) {
	f, err := m.Function(Metadata)
	if err != nil {
		return nil, err
	}
	v, err := f.Call()
	if err != nil {
		return nil, err
	}
	defer v.Release()
	text, err := tvmffi.As[string](v)
	var about struct {
		Params []Param `json:"params"`
	}
	if err == nil {
		err = jsonlines.Unmarshal([]byte(text), &about)
	}
	if err == nil && about.Params == nil {
		err = fmt.Errorf("it has no list with the name params: %.200s", text)
	}
	return about.Params, fail("read", Metadata, err)
}
