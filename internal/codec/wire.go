package codec

import (
	"cmp"
	"maps"
	"math"
	"reflect"
	"slices"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/crossing"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/objects"
	"github.com/tvmffi-go/tvmffi/internal/values"
)

// otherCodec makes the codec of a Go type whose values cross as those of another, or as numbers with a type; nil for all
// others.
func otherCodec(t reflect.Type) *Codec {
	switch KindOf(t) {
	case crossing.KindSet:
		return setCodec(t)
	case crossing.KindComplex:
		return complexCodec(t)
	case crossing.KindTime:
		return timeCodec()
	case crossing.KindDuration:
		c := intCodec(t)
		c.Typed = "duration"
		return c
	}
	return nil
}

// wireCodec makes the codec of a Go type whose values cross as those of another type, for which TVM-FFI
// has a form. give returns a pointer to a new value of the type wire, which stands for the value at p, and
// take sets the value at p to the one for which the value at w stands.
func wireCodec(wire reflect.Type, give func(p unsafe.Pointer) (w unsafe.Pointer), take func(w, p unsafe.Pointer) error) *Codec {
	c := &Codec{
		Name: Of(wire).Name,
		Wire: wire, takeWire: take,
		Decode: func(v abi.Any, from objects.Reading, p unsafe.Pointer) error {
			w := reflect.New(wire).UnsafePointer()
			if value, ok := withoutType(v); ok {
				defer Release(value)
				v = value
			}
			if err := Of(wire).Decode(v, from, w); err != nil {
				return err
			}
			return take(w, p)
		},
	}
	return c.Nested(func(p unsafe.Pointer, outer *Nest) (values.AnyView, error) {
		return EncodeIn(Of(wire), give(p), outer)
	})
}

// wireTime is a time.Time: seconds since 1970 in UTC, nanoseconds, and the seconds by which its zone is
// east of UTC. The name of the zone does not cross.
type wireTime = struct {
	Seconds     int64 `tuple:""`
	Nanoseconds int64
	East        int64
}

func timeCodec() *Codec {
	const day, most = 24 * 60 * 60, 1 << 56 // two billion years
	c := wireCodec(reflect.TypeFor[wireTime](), func(p unsafe.Pointer) unsafe.Pointer {
		t := *(*time.Time)(p)
		_, east := t.Zone()
		return unsafe.Pointer(&wireTime{t.Unix(), int64(t.Nanosecond()), int64(east)})
	}, func(w, p unsafe.Pointer) error {
		x := *(*wireTime)(w)
		if x.Seconds < -most || x.Seconds > most || x.Nanoseconds < 0 || x.Nanoseconds >= 1e9 || x.East <= -day || x.East >= day {
			return failure.Errorf(failure.KindValue, "%d seconds and %d nanoseconds since 1970, %d seconds east of UTC, are not a time", x.Seconds, x.Nanoseconds, x.East)
		}
		*(*time.Time)(p) = time.Unix(x.Seconds, x.Nanoseconds).In(zoneOf(int(x.East)))
		return nil
	})
	c.Typed = "time"
	return c
}

// zones has some of the zones that zoneOf has made, by their offset.
var zones [64]atomic.Pointer[wireZone]

type wireZone struct {
	east int
	zone *time.Location
}

// zoneOf returns the zone without a name that is so many seconds east of UTC. The times of a column share theirs.
func zoneOf(east int) *time.Location {
	if east == 0 {
		return time.UTC
	}
	place := &zones[uint(east/(15*60))%uint(len(zones))]
	z := place.Load()
	if z == nil || z.east != east {
		z = &wireZone{east, time.FixedZone("", east)}
		place.Store(z)
	}
	return z.zone
}

// wireComplex is a complex number.
type wireComplex = struct {
	Real float64 `tuple:""`
	Imag float64
}

type wireComplex64 = struct {
	Real float32 `tuple:""`
	Imag float32
}

// complexCodec converts complex numbers. Numbers that are real are valid ones, too.
func complexCodec(t reflect.Type) *Codec {
	c := wireCodec(reflect.TypeFor[wireComplex](), func(p unsafe.Pointer) unsafe.Pointer {
		x := valueAt(t, p).Complex()
		return unsafe.Pointer(&wireComplex{real(x), imag(x)})
	}, func(w, p unsafe.Pointer) error {
		x := *(*wireComplex)(w)
		if t.Kind() == reflect.Complex128 {
			*(*complex128)(p) = complex(x.Real, x.Imag)
			return nil
		}
		return setComplex(valueAt(t, p), complex(x.Real, x.Imag))
	})
	c.Typed = "complex"
	pair, half := c.Decode, t.Bits()/2
	c.Decode = func(v abi.Any, from objects.Reading, p unsafe.Pointer) error {
		if v.TypeIndex != abi.TypeInt && v.TypeIndex != abi.TypeBool && v.TypeIndex != abi.TypeFloat && v.TypeIndex != abi.TypeBigInt {
			if half == 32 { // its parts may be ints, which are rounded once
				if x, err := DecodeFrom[wireComplex64](v, from); err == nil {
					return setComplex(valueAt(t, p), complex(float64(x.Real), float64(x.Imag)))
				}
			}
			return pair(v, from, p)
		}
		x, err := decodeFloat(v, from, half)
		if err != nil {
			return err
		}
		return setComplex(valueAt(t, p), complex(x, 0))
	}
	return c
}

func setComplex(to reflect.Value, x complex128) error {
	if to.OverflowComplex(x) {
		return overflow(x, to.Type())
	}
	to.SetComplex(x)
	return nil
}

// setCodec converts a set as a sequence of its elements, in order where they have one. An element that occurs again is the
// same one, but two that differ, and become one element, are an error.
func setCodec(t reflect.Type) *Codec {
	c := sequenceOf(t)
	c.Typed = "set"
	if kind := t.Key().Kind(); kind == reflect.Interface || kind == reflect.Pointer || kind == reflect.Struct {
		write := c.within
		c.Nested(func(p unsafe.Pointer, outer *Nest) (values.AnyView, error) {
			if err := distinct(valueAt(t, p)); err != nil {
				return values.AnyView{}, err
			}
			return write(p, outer)
		})
	}
	read := c.Decode
	c.Decode = func(v abi.Any, from objects.Reading, p unsafe.Pointer) error {
		if err := read(v, from, p); err != nil {
			return err
		}
		if value, ok := withoutType(v); ok {
			defer Release(value)
			v = value
		}
		set := valueAt(t, p)
		if all, _ := Elements(v); set.Len() < len(all) && differing(all) > set.Len() {
			Abandon(set)
			set.SetZero()
			return failure.Errorf(failure.KindValue, "two elements of the %s differ and are one element of a Go set of %s: take a slice", capi.KeyOf(v.TypeIndex), t.Key())
		}
		return nil
	}
	return c
}

// distinct returns an error for a set of which two elements become one value, such as any(int8(1)) and any(int64(1)), or one
// time in two zones with one offset.
func distinct(set reflect.Value) error {
	seen := map[string]bool{}
	for _, e := range set.MapKeys() {
		var o PackedArgs
		v, err := o.Pack(e.Interface())
		if err != nil {
			return err
		}
		text := Itoa(int(v.TypeIndex)) + content(v)
		if v.TypeIndex == abi.TypeFloat && math.IsNaN(math.Float64frombits(v.Bits)) {
			text = Itoa(len(seen)) + "NaN" // differs from itself
		}
		o.Close()
		if seen[text] {
			return failure.Errorf(failure.KindValue, "two elements of the %s are the same value outside Go: convert them to one type", set.Type())
		}
		seen[text] = true
	}
	return nil
}

func sequenceOf(t reflect.Type) *Codec {
	switch t {
	case reflect.TypeFor[map[string]struct{}]():
		return setOf[string]()
	case reflect.TypeFor[map[int]struct{}]():
		return setOf[int]()
	case reflect.TypeFor[map[int64]struct{}]():
		return setOf[int64]()
	}
	elem := t.Key()
	if elem == reflect.TypeFor[byte]() { // a slice of them is bytes
		elem = reflect.TypeFor[uint16]()
	}
	slice := reflect.SliceOf(elem)
	return wireCodec(slice, func(p unsafe.Pointer) unsafe.Pointer {
		w := reflect.New(slice)
		for _, e := range sortedEntries(valueAt(t, p)) {
			w.Elem().Set(reflect.Append(w.Elem(), e.Key.Convert(elem)))
		}
		return w.UnsafePointer()
	}, func(w, p unsafe.Pointer) error {
		elements := valueAt(slice, w)
		set := reflect.MakeMapWithSize(t, elements.Len())
		for i := range elements.Len() {
			x := elements.Index(i)
			if elem != t.Key() && x.Uint() > math.MaxUint8 {
				return failure.Annotate("element "+Itoa(i), overflow(x.Uint(), t.Key()))
			}
			if err := hashable(x); err != nil {
				Abandon(elements)
				return err
			}
			set.SetMapIndex(x.Convert(t.Key()), reflect.ValueOf(struct{}{}))
		}
		valueAt(t, p).Set(set)
		return nil
	})
}

// setOf is setCodec for the common sets, without reflection.
func setOf[K cmp.Ordered]() *Codec {
	return wireCodec(reflect.TypeFor[[]K](), func(p unsafe.Pointer) unsafe.Pointer {
		set := *(*map[K]struct{})(p)
		elements := slices.AppendSeq(make([]K, 0, len(set)), maps.Keys(set))
		slices.Sort(elements)
		return unsafe.Pointer(&elements)
	}, func(w, p unsafe.Pointer) error {
		elements := *(*[]K)(w)
		set := make(map[K]struct{}, len(elements))
		for _, x := range elements {
			set[x] = struct{}{}
		}
		*(*map[K]struct{})(p) = set
		return nil
	})
}
