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
	var about struct {
		Params []Param `json:"params"`
	}
	text, err := m.metadata(&about)
	if err == nil && about.Params == nil {
		err = fail("read", Metadata, fmt.Errorf("it has no list with the name params: %.200s", text))
	}
	return about.Params, err
}

// ReadMetadata reads what the function [Metadata] says about the model into a pointer, as [json.Unmarshal] does. A key that
// stands twice is an error, and so is one that differs from another in case alone.
func (m *Machine) ReadMetadata(into any) error {
	_, err := m.metadata(into)
	return err
}

func (m *Machine) metadata(into any) (text string, err error) {
	f, err := m.Function(Metadata)
	if err != nil {
		return "", err
	}
	v, err := f.Call()
	if err != nil {
		return "", err
	}
	defer v.Release()
	if text, err = tvmffi.As[string](v); err == nil {
		err = jsonlines.Unmarshal([]byte(text), into)
	}
	return text, fail("read", Metadata, err)
}
