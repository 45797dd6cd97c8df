package golib

import (
	"fmt"
	"math"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/define"
)

// Point is a point of the plane. Other languages construct, read and change it
// like a C++ class, without entering Go; only its methods run in Go.
//
//tvmffi:object
type Point struct {
	X    float64 `ffi:"x" doc:"to the right"`
	Y    float64 `ffi:"y,default=0"`
	Name string  `ffi:"name,kwonly,default=p"`
}

// Norm is the distance from the origin.
//
//tvmffi:method
func (p Point) Norm() float64 { return math.Hypot(p.X, p.Y) }

// Move moves the point.
//
//tvmffi:method
func (p *Point) Move(dx, dy float64) {
	p.X += dx
	p.Y += dy
}

// Mirror makes another point, on the other side of the origin.
//
//tvmffi:method mirrored
func (p Point) Mirror() (*define.Instance[Point], error) {
	return PointType.New(Point{X: -p.X, Y: -p.Y, Name: p.Name})
}

// String prints the point.
//
//tvmffi:repr
func (p Point) String() string { return fmt.Sprintf("%s(%g, %g)", p.Name, p.X, p.Y) }

// Circle is a point with a radius.
//
//tvmffi:object
type Circle struct {
	Point
	Radius float64 `ffi:"radius"`
}

// Area is the area of the circle.
//
//tvmffi:method
func (c Circle) Area() float64 { return math.Pi * c.Radius * c.Radius }

// Gauge shows a temperature. Its fields with structs, and those behind pointers, are copied values.
//
//tvmffi:object
type Gauge struct {
	Title  *string    `ffi:"title"`
	Limits Limits     `ffi:"limits"`
	Next   *Gauge     `ffi:"next"`
	Marks  *[]float64 `ffi:"marks"`
	Usual  *Limits    `ffi:"usual"`
}

// Warm raises the limits of the gauge and of all that follow it, and marks the first.
//
//tvmffi:method
func (g *Gauge) Warm(by Celsius) {
	if g.Marks != nil {
		*g.Marks = append(*g.Marks, float64(by))
	}
	for ; g != nil; g = g.Next {
		g.Limits.High += by
		if g.Usual != nil {
			g.Usual.High += by
		}
	}
}

// Highest is the upper limit of the last gauge, or of limits if that is higher.
//
//tvmffi:method limits=nil
func (g Gauge) Highest(limits *Limits) Celsius {
	switch {
	case g.Next != nil:
		return g.Next.Highest(limits)
	case limits != nil:
		return max(g.Limits.High, limits.High)
	}
	return g.Limits.High
}

// Distance returns the distance of two points, given by value.
//
//tvmffi:export
func Distance(a, b Point) float64 { return math.Hypot(a.X-b.X, a.Y-b.Y) }

// Around makes the circle around a point.
//
//tvmffi:export
func Around(p *define.Instance[Point], radius float64) (*define.Instance[Circle], error) {
	if radius < 0 {
		return nil, tvmffi.NewError("ValueError", "a negative radius")
	}
	return CircleType.New(Circle{Point: p.Value(), Radius: radius})
}

// Origin returns the origin.
//
//tvmffi:export
func Origin() Point { return Point{Name: "origin"} }
