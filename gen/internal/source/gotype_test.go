package source

import (
	"go/token"
	"go/types"
	"iter"
	"math/big"
	"reflect"
	"testing"
	"time"

	"github.com/tvmffi-go/tvmffi/internal/codec"
	"github.com/tvmffi-go/tvmffi/internal/crossing"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

type (
	blob   []byte
	level  uint8
	void   = struct{}
	hollow struct{}
	itself *itself
)

// TestGoType: reflect and go/types give the same kind to one type, also to aliases, named types, generic types and a type that
// contains itself.
func TestGoType(t *testing.T) {
	basic := func(k types.BasicKind) types.Type { return types.Typ[k] }
	named := func(path, name string, below types.Type) types.Type {
		return types.NewNamed(types.NewTypeName(token.NoPos, types.NewPackage(path, "p"), name, nil), below, nil)
	}
	alias := func(of types.Type) types.Type {
		return types.NewAlias(types.NewTypeName(token.NoPos, nil, "alias", nil), of)
	}
	empty := types.NewStruct(nil, nil)
	iface := types.NewInterfaceType(nil, nil)
	fun := types.NewSignatureType(nil, nil, nil, nil, nil, false)
	pointer := func(to types.Type) types.Type { return types.NewPointer(to) }
	text := basic(types.String)
	cycle := types.NewNamed(types.NewTypeName(token.NoPos, types.NewPackage("p", "p"), "itself", nil), nil, nil)
	cycle.SetUnderlying(types.NewPointer(cycle))
	ours := func(name string) types.Type { return named(crossing.Runtime, name, empty) }
	for _, c := range []struct {
		reflected reflect.Type
		written   types.Type
		want      crossing.Kind
	}{
		{reflect.TypeFor[bool](), basic(types.Bool), crossing.KindBool},
		{reflect.TypeFor[uintptr](), basic(types.Uintptr), crossing.KindInt},
		{reflect.TypeFor[level](), named("p", "level", basic(types.Uint8)), crossing.KindInt},
		{reflect.TypeFor[float32](), basic(types.Float32), crossing.KindFloat},
		{reflect.TypeFor[complex128](), basic(types.Complex128), crossing.KindComplex},
		{reflect.TypeFor[string](), alias(text), crossing.KindString},
		{reflect.TypeFor[[]byte](), types.NewSlice(basic(types.Byte)), crossing.KindBytes},
		{reflect.TypeFor[[]level](), types.NewSlice(named("p", "level", basic(types.Uint8))), crossing.KindSequence},
		{reflect.TypeFor[blob](), named("p", "blob", types.NewSlice(basic(types.Byte))), crossing.KindBytes},
		{reflect.TypeFor[[4]byte](), types.NewArray(basic(types.Byte), 4), crossing.KindSequence},
		{reflect.TypeFor[[]string](), types.NewSlice(text), crossing.KindSequence},
		{reflect.TypeFor[map[string]bool](), types.NewMap(text, basic(types.Bool)), crossing.KindMapping},
		{reflect.TypeFor[map[string]void](), types.NewMap(text, alias(empty)), crossing.KindSet},
		{reflect.TypeFor[map[string]hollow](), types.NewMap(text, named("p", "hollow", empty)), crossing.KindMapping},
		{reflect.TypeFor[func()](), fun, crossing.KindCallable},
		{reflect.TypeFor[any](), iface, crossing.KindAny},
		{reflect.TypeFor[error](), types.Universe.Lookup("error").Type(), crossing.KindAny},
		{reflect.TypeFor[hollow](), named("p", "hollow", empty), crossing.KindRecord},
		{reflect.TypeFor[*string](), pointer(text), crossing.KindOptional},
		{reflect.TypeFor[itself](), cycle, crossing.KindOptional},
		{reflect.TypeFor[time.Time](), named("time", "Time", empty), crossing.KindTime},
		{reflect.TypeFor[time.Duration](), alias(named("time", "Duration", basic(types.Int64))), crossing.KindDuration},
		{reflect.TypeFor[*time.Time](), pointer(named("time", "Time", empty)), crossing.KindOptional},
		{reflect.TypeFor[*big.Int](), pointer(named("math/big", "Int", empty)), crossing.KindBigInt},
		{reflect.TypeFor[iter.Seq2[int, bool]](), named("iter", "Seq2", fun), crossing.KindIterator},
		{reflect.TypeFor[*tvmffi.Error](), pointer(ours("Error")), crossing.KindError},
		{reflect.TypeFor[*tvmffi.Dict[string, []int]](), pointer(alias(ours("Dict"))), crossing.KindDict},
		{reflect.TypeFor[tvmffi.ArrayLike[string]](), ours("ArrayLike"), crossing.KindArray},
		{reflect.TypeFor[tvmffi.Tuple2[int, string]](), ours("Tuple2"), crossing.KindTuple},
		{reflect.TypeFor[*tvmffi.Any](), pointer(ours("Any")), crossing.KindOptional},
		{reflect.TypeFor[chan int](), types.NewChan(types.SendRecv, text), crossing.KindNone},
	} {
		kind, crosses := crossing.Classify(GoType{c.written})
		if got := codec.KindOf(c.reflected); got != c.want || kind != c.want || crosses != (c.want != crossing.KindNone) {
			t.Errorf("%s is %v for reflect, %v for go/types, %t: want %v", c.reflected, got, kind, crosses, c.want)
		}
	}
}
