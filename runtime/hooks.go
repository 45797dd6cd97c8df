package tvmffi

import (
	"github.com/tvmffi-go/tvmffi/internal/core"
	"github.com/tvmffi-go/tvmffi/schema"
)

// The machine below asks for the public types through these functions.
func init() {
	core.Hooks.ErrorOf = errorOf
	core.Hooks.Errorf = errorf
	core.Hooks.Raise = raise
	core.Hooks.Passed = passed
	core.Hooks.Origin = originOf
	core.Hooks.At = inElement
	core.Hooks.Recovered = recovered
	core.Hooks.Load = loadLibrary
	core.Hooks.Signature = canonicalSignature
	core.Hooks.Encode = encodeTyped
	core.Hooks.Decode = decodeTyped
	core.Hooks.Return = returnTemp
	core.Hooks.StateOf = func(ref any) *core.Object {
		if ref == nil {
			return nil
		}
		return stateOf(ref.(ObjectRef))
	}
}

// canonicalSignature makes the text that generated code holds of the type schema
// in metadata; it is empty when there is none.
func canonicalSignature(metadata string) (string, error) {
	m, err := schema.ParseMetadata(metadata)
	if err != nil || !m.HasType {
		return "", err
	}
	return m.Type.String(), nil
}
