package core

import "github.com/tvmffi-go/tvmffi/schema"

// Signature makes the text that generated code holds of the type schema in metadata;
// it is empty when there is none.
func Signature(metadata string) (string, error) {
	m, err := schema.ParseMetadata(metadata)
	if err != nil || !m.HasType {
		return "", err
	}
	return m.Type.String(), nil
}
