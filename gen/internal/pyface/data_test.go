package pyface

import (
	"testing"

	"github.com/tvmffi-go/tvmffi/gen/internal/face"
	"github.com/tvmffi-go/tvmffi/internal/crossing"
)

// TestGivenRecords has a record that only Go makes, and records in a parameter, in another record, and in a function.
func TestGivenRecords(t *testing.T) {
	of := func(k crossing.Kind, elems ...*face.Type) *face.Type { return &face.Type{Kind: k, Elems: elems} }
	record := func(fields ...face.Field) *face.Type {
		return &face.Type{Kind: crossing.KindRecord, Record: &face.Record{Fields: fields}}
	}
	made, inner, called := record(), record(), record()
	outer := record(face.Field{Type: of(crossing.KindSequence, inner)})
	l := &face.Library{Functions: []*face.Function{
		{Results: []face.Result{{Type: of(crossing.KindSequence, made)}, {Type: inner}, {Type: of(crossing.KindCallable, of(crossing.KindNone), called)}}},
		{Params: []face.Param{{Type: of(crossing.KindSequence, outer)}}},
	}}
	given := givenRecords(l)
	for _, r := range []*face.Type{made, inner, called, outer} {
		if want := r != made; given[r.Record] != want {
			t.Errorf("%v, want %v", given[r.Record], want)
		}
	}
}
