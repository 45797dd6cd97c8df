// Package paint has what the other libraries lack: enums, values that are compared, and
// names that other languages reserve.
package paint

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"iter"
	"slices"
	"strings"
	"time"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// Color is a color.
type Color int

// The colors.
const (
	ColorRed  Color = iota + 1 // like blood
	ColorBlue                  // like the sky
)

// Mode is how paint is applied.
type Mode string

// The modes.
const (
	ModeBrush Mode = "brush"
	ModeSpray Mode = "spray"
)

// Finish is what a coat looks like. Its constants are combined.
type Finish uint8

// The finishes.
const (
	Matt Finish = 1 << iota
	Gloss
	Clear
)

// Sealed returns a finish with Clear.
//
//tvmffi:export f=2
func Sealed(f Finish) Finish { return f | Clear }

// Coated returns the finishes of coats with a last one that is matt.
//
//tvmffi:export
func Coated(coats []Finish) []Finish { return append(slices.Clone(coats), Matt) }

// Mix returns the other color; the number of another color stays.
//
//tvmffi:export
func Mix(c Color) Color {
	switch c {
	case ColorRed:
		return ColorBlue
	case ColorBlue:
		return ColorRed
	}
	return c
}

// Kinds returns x with its type in Go, and constants as values of any type.
//
//tvmffi:export
func Kinds(x any) (kind string, all []any) {
	return fmt.Sprintf("%T %v", x, x), []any{x, ColorRed, ModeSpray, Gloss | Clear, []Mode{ModeBrush}, map[Color]any{ColorBlue: Color(9)}}
}

// Modes returns all modes, and m first if it is not nil.
//
//tvmffi:export m=nil
func Modes(m *Mode) ([]Mode, *Mode, map[string]Color) {
	all := []Mode{ModeBrush, ModeSpray}
	if m != nil {
		all = append([]Mode{*m}, all...)
	}
	return all, m, map[string]Color{"sky": ColorBlue}
}

// Coat describes a coat of paint.
type Coat struct {
	Color Color  `ffi:"color"`
	Class string `ffi:"class"`
	Under []Coat `ffi:"under,optional"`
}

// Strip returns the coats from the top to the bottom.
//
//tvmffi:export
func Strip(c Coat) []Coat {
	all := []Coat{{Color: c.Color, Class: c.Class}}
	for _, u := range c.Under {
		all = append(all, Strip(u)...)
	}
	return all
}

// Layer is a layer of paint, which has no enum.
type Layer struct {
	Name  string                         `ffi:"name"`
	Size  tvmffi.Tuple2[int64, *float64] `ffi:"size"`
	Data  []byte                         `ffi:"data"`
	Note  *string                        `ffi:"note"`
	Extra any                            `ffi:"extra"`
	Under []Layer                        `ffi:"under,optional"`
}

// Layers returns n layers with the given text, each with n layers less below it.
//
//tvmffi:export
func Layers(n int, text string) []Layer {
	var all []Layer
	for i := range n {
		all = append(all, Layer{Name: text, Data: []byte(text), Extra: text, Under: Layers(i, text)})
		if i > 0 {
			all[i].Note, all[i].Extra = &text, []string{text}
		}
	}
	return all
}

// Reserved has parameters with names that Python reserves or uses, and joins them.
//
//tvmffi:export lambda class=c None=n
func Reserved(list, class, None string) string { return strings.Join([]string{list, class, None}, " ") }

// List has the name of a type of Python.
//
//tvmffi:export list
func List(int string) []string { return []string{int} }

// Brush has a field with the name of a function of Python that the package uses.
//
//tvmffi:object
type Brush struct {
	Type string `ffi:"type"`
	Size int64  `ffi:"size,default=1"`
}

// Type has that name itself.
//
//tvmffi:export
func Type(text string, size int64) string { return strings.Repeat(text, int(size)) }

// Timedelta has the name of a class that the package uses. It returns a function that multiplies a
// duration, or nil for zero.
//
//tvmffi:export timedelta=1s
func Timedelta(timedelta time.Duration) func(times int64) time.Duration {
	if timedelta == 0 {
		return nil
	}
	return func(times int64) time.Duration { return timedelta * time.Duration(times) }
}

// Palette changes the color by the mode that choose returns for it, and returns a func that mixes colors of that mode.
//
//tvmffi:export
func Palette(c Color, choose func(Color) (Mode, error)) (func(c Color, rest *Color) ([]Color, error), error) {
	mode, err := choose(c)
	if err != nil {
		return nil, err
	}
	return func(c Color, rest *Color) ([]Color, error) {
		all := []Color{c}
		if mode == ModeSpray {
			all = append(all, Mix(c))
		}
		if rest != nil {
			all = append(all, *rest)
		}
		return all, nil
	}, nil
}

// DryError says which paint is dry.
//
//tvmffi:error
type DryError struct {
	Color Color `ffi:"color"`
}

func (e *DryError) Error() string { return fmt.Sprintf("color %d is dry", e.Color) }

// SpillError has fields with names that OSError has, and one that Python reserves.
//
//tvmffi:error base=OSError
type SpillError struct {
	Filename string `ffi:"filename"`
	Errno    int    `ffi:"errno,default=5"`
	From     string `ffi:"from,default=tin"`
}

func (e *SpillError) Error() string {
	return fmt.Sprintf("%s: %d from a %s", e.Filename, e.Errno, e.From)
}

// Spill returns what do returns, or an error with the name of a color of its own.
//
//tvmffi:export
func Spill(do func() error) error {
	if err := do(); err != nil {
		return err
	}
	return &SpillError{"red", 7, "can"}
}

// Drop is a drop of paint: two drops with the same weight are equal.
//
//tvmffi:object
type Drop struct {
	Weight float64 `ffi:"weight"`
	Color  Color   `ffi:"color,default=1" doc:"what it looks like"`
	From   string  `ffi:"from,default="`
}

// Equal compares weights.
//
//tvmffi:equal
func (d Drop) Equal(other Drop) bool { return d.Weight == other.Weight }

// Hash goes with Equal.
//
//tvmffi:hash
func (d Drop) Hash() int64 {
	h := fnv.New32()
	fmt.Fprint(h, d.Weight)
	return int64(h.Sum32())
}

// Compare orders by weight.
//
//tvmffi:compare
func (d Drop) Compare(other Drop) int { return cmp.Compare(d.Weight, other.Weight) }

// Tin is a tin of paint, which is closed after use.
//
//tvmffi:object structural=tree
type Tin struct {
	Names []string `ffi:"names"`
	Open  bool     `ffi:"open,default=true"`
}

// Len counts.
//
//tvmffi:method
func (t Tin) Len() int { return len(t.Names) }

// String writes the names.
//
//tvmffi:method
func (t Tin) String() string { return strings.Join(t.Names, "+") }

// Close closes the tin.
//
//tvmffi:method
func (t *Tin) Close() { t.Open = false }

// All yields the names.
//
//tvmffi:method
func (t Tin) All() iter.Seq[string] { return slices.Values(t.Names) }

// Mixer mixes paint.
//
//tvmffi:object opaque
type Mixer struct{ weight int64 }

// NewMixer asks a goroutine for the weight of each of the drops.
//
//tvmffi:constructor
func NewMixer(drops int, weigh func(drop int64) (int64, error)) (*Mixer, error) {
	weights := make(chan int64, drops)
	failed := make(chan error, drops)
	for i := range drops {
		go func() {
			weight, err := weigh(int64(i))
			weights <- weight
			failed <- err
		}()
	}
	m := &Mixer{}
	var err error
	for range drops {
		m.weight += <-weights
		err = cmp.Or(err, <-failed)
	}
	return m, err
}

// Weight returns the weight of all drops.
//
//tvmffi:method
func (m *Mixer) Weight() int64 { return m.weight }

// Shelf returns a map or a set with keys that Python takes for one.
//
//tvmffi:export
func Shelf(kind string) any {
	switch kind {
	case "map":
		return map[any]string{1: "tin", true: "pot", "x": "brush"}
	case "deep":
		return []any{map[any]string{1: "tin", true: "pot"}}
	}
	return map[any]struct{}{1: {}, true: {}}
}
