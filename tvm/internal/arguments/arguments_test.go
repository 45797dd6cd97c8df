package arguments

import (
	"encoding/json"
	"errors"
	"math"
	"math/big"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

type level uint8

type name string

// stands is passed as another value, whatever its own kind is.
type stands string

func (s stands) FFIValue() (any, error) {
	if s == "handle" {
		return tvmffi.Pointer{Address: 8}, nil
	}
	return strings.Repeat(string(s), 2), nil
}

// either is a Variant, as generated code makes them.
type either struct{ tvmffi.Variant }

// TestRPC: every number that fits int64 goes, and no string is cut.
func TestRPC(t *testing.T) {
	if err := tvmffi.Load(tvmffi.WithLibrary(nativetest.Library(t))); err != nil {
		t.Fatal(err)
	}
	large := new(big.Int).Lsh(big.NewInt(1), 63)
	of := func(x any) tvmffi.Any {
		a, err := tvmffi.AnyOf(x)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	long := strings.Repeat("long", 10) + "\x00."
	cut := name("a\x00b")
	valuer, inner, whole := stands("a\x00"), any(&cut), uint64(math.MaxUint64)
	five := new(uint16(5))
	var self any
	self = &self
	for _, x := range []struct {
		arg, sent any
		err       error
	}{
		{uint(5), int64(5), nil},
		{uint64(math.MaxInt64), int64(math.MaxInt64), nil},
		{uint64(math.MaxInt64) + 1, nil, tvmffi.ErrOverflow},
		{time.Second, int64(time.Second), nil},
		{big.NewInt(-5), int64(-5), nil},
		{large, nil, tvmffi.ErrOverflow},
		{float32(2), float32(2), nil},
		{time.January, int64(1), nil},
		{name("a"), "a", nil},
		{json.RawMessage("a\x00"), []byte("a\x00"), nil},
		{[]byte("a\x00b"), []byte("a\x00b"), nil},
		{[]level{1, 2}, []level{1, 2}, nil}, // a slice of another type is not bytes: the call says what it takes
		{"a\x00b", nil, tvmffi.ErrValue},
		{cut, nil, tvmffi.ErrValue},
		{&cut, nil, tvmffi.ErrValue},
		{of("a\x00b"), nil, tvmffi.ErrValue},
		{of(long), nil, tvmffi.ErrValue},
		{&inner, nil, tvmffi.ErrValue},
		{valuer, nil, tvmffi.ErrValue},
		{&valuer, nil, tvmffi.ErrValue},
		{stands("a"), "aa", nil},
		{stands("handle"), of(tvmffi.Pointer{Address: 8}), nil},
		{either{tvmffi.VariantOf("a\x00b")}, nil, tvmffi.ErrValue},
		{&either{tvmffi.VariantOf("a\x00b")}, nil, tvmffi.ErrValue},
		{either{tvmffi.VariantOf("ab")}, "ab", nil},
		{new(of("a\x00b")), nil, tvmffi.ErrValue},
		{&whole, nil, tvmffi.ErrOverflow},
		{&five, int64(5), nil},
		{&self, &self, nil},
		{&t, &t, nil},
		{of("ab"), "ab", nil},
		{of(7), int64(7), nil},
		{of([]byte("a\x00b")), []byte("a\x00b"), nil},
	} {
		args := []any{"first", x.arg}
		got, err := RPC(args)
		if !errors.Is(err, x.err) || err == nil && !reflect.DeepEqual(got[1], x.sent) {
			t.Errorf("%T %v: %v, %v; want %v, %v", x.arg, x.arg, got, err, x.sent, x.err)
		}
		if err != nil && (!strings.HasPrefix(err.Error(), "argument 1: ") || !strings.Contains(err.Error(), ": pass ")) {
			t.Errorf("%T: %v", x.arg, err)
		}
		if !reflect.DeepEqual(args[1], x.arg) {
			t.Errorf("%T: the caller's arguments changed: %v", x.arg, args)
		}
	}
}

// TestRPC_allocations: the usual arguments cost nothing.
func TestRPC_allocations(t *testing.T) {
	args := []any{7, "a name", []byte("bytes"), 2.5, nil}
	if n := testing.AllocsPerRun(100, func() { _, _ = RPC(args) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
