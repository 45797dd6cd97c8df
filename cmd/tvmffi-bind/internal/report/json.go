package report

import "github.com/tvmffi-go/tvmffi/schema"

// jsonListing is a schema with the constructors that libraries make of fields.
type jsonListing struct {
	schema.Schema
	Types []jsonType `json:"types"` // in place of the types in the schema
}

type jsonType struct {
	schema.Type
	Constructor *[]jsonParam `json:"constructor,omitempty"`
}

type jsonParam struct {
	Name        string            `json:"name"`
	Type        schema.TypeSchema `json:"schema"`
	Doc         string            `json:"doc,omitempty"`
	HasDefault  bool              `json:"has_default"`
	KeywordOnly bool              `json:"keyword_only"`
}

// JSON returns what ls --json prints: the schema, with constructors.
func (l *Listing) JSON() any {
	s := l.shown
	out := jsonListing{Schema: s, Types: make([]jsonType, len(s.Types))}
	for i := range s.Types {
		out.Types[i].Type = s.Types[i]
		fields, ok := s.Types[i].InitParams(l.types)
		if !ok {
			continue
		}
		params := make([]jsonParam, len(fields))
		for j, f := range fields {
			params[j] = jsonParam{f.Name, f.Type, f.Doc, f.HasDefault(), f.Flags&schema.FlagKwOnly != 0}
		}
		out.Types[i].Constructor = &params
	}
	return out
}
