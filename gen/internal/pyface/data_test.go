package pyface

import (
	"testing"

	"github.com/tvmffi-go/tvmffi/gen/internal/face"
)

// TestGivenRecords has a record that only Go makes, and records in a parameter, in another record, and in a function.
func TestGivenRecords(t *testing.T) {
	of := func(k face.Kind, elems ...*face.Type) *face.Type { return &face.Type{Kind: k, Elems: elems} }
	record := func(fields ...face.Field) *face.Type {
		return &face.Type{Kind: face.KindRecord, Record: &face.Record{Fields: fields}}
	}
	made, inner, called := record(), record(), record()
	outer := record(face.Field{Type: of(face.KindSequence, inner)})
	l := &face.Library{Functions: []*face.Function{
		{Results: []face.Result{{Type: of(face.KindSequence, made)}, {Type: inner}, {Type: of(face.KindCallable, of(face.KindNone), called)}}},
		{Params: []face.Param{{Type: of(face.KindSequence, outer)}}},
	}}
	given := givenRecords(l)
	for _, r := range []*face.Type{made, inner, called, outer} {
		if want := r != made; given[r.Record] != want {
			t.Errorf("%v, want %v", given[r.Record], want)
		}
	}
}
