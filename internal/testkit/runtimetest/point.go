package runtimetest

import (
	"math"
	"testing"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/define"
	"github.com/tvmffi-go/tvmffi/runtime/structural"
)

// Point has the fields of define.Point in testdata/define.cc.
type Point struct {
	X    int64                   `ffi:"x" doc:"to the right"`
	Y    float64                 `ffi:"y,default=0"`
	Name string                  `ffi:"name,default=p"`
	Tag  any                     `ffi:"tag,optional"`
	Next *define.Instance[Point] `ffi:"next,optional"`

	Private int // has no tag
}

// Norm returns the distance of p from zero.
func (p Point) Norm() float64 { return math.Hypot(float64(p.X), p.Y) }

// Move adds dx to X.
func (p *Point) Move(dx int64) { p.X += dx }

// Scaled returns p with coordinates that are by times as large.
func (p Point) Scaled(by int64) Point { return Point{X: p.X * by, Y: p.Y * float64(by), Name: p.Name} }

// PointType is the type gotest.Point of [Point].
var PointType = define.Object[Point]("gotest.Point",
	define.Doc("A point."),
	define.Structural(structural.Tree),
	define.Method("norm", Point.Norm, tvmffi.Doc("The distance from zero.")),
	define.Method("move", (*Point).Move, tvmffi.Param("dx", "how far")),
	define.Method("scaled", Point.Scaled),
	define.Method("same", func(p, q *define.Instance[Point]) bool { return tvmffi.Same(p, q) }),
	define.StaticMethod("origin", func() Point { return Point{Name: "origin"} }))

// NewPoint makes an object of [PointType] after [LoadDefine]. The caller releases it.
func NewPoint(t testing.TB, p Point) *define.Instance[Point] {
	t.Helper()
	LoadDefine(t)
	x, err := PointType.New(p)
	if err != nil {
		t.Fatal(err)
	}
	return x
}
