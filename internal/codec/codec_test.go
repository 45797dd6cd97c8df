package codec_test

import (
	"reflect"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/codec"
)

// TestSetMeanwhile: a type gets its codec from package define while another goroutine makes one.
func TestSetMeanwhile(t *testing.T) {
	type defined struct{}
	public, of, want := codec.Public, reflect.TypeFor[defined](), &codec.Codec{Name: "defined"}
	defer func() { codec.Public = public }()
	codec.Public = func(reflect.Type) *codec.Codec {
		codec.Set(of, want)
		return &codec.Codec{Name: "made"}
	}
	if got := codec.Of(of); got != want {
		t.Errorf("Of returns the codec %s", got.Name)
	}
}
