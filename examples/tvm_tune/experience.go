//go:build bindings

package main

import (
	"math"
	"slices"
)

// experience guesses the speed of what it has not seen from the speed of what resembles it.
type experience struct {
	vectors [][]float64
	seconds []float64
}

// add remembers how long something with these features took.
func (e *experience) add(vector []float64, seconds float64) {
	e.vectors = append(e.vectors, vector)
	e.seconds = append(e.seconds, seconds)
}

func (e *experience) len() int { return len(e.vectors) }

// score is the mean of the speeds that are known, with more weight for what is near. The fastest known
// one has the speed 1, a failed one 0.
func (e *experience) score(vector []float64) float64 {
	distances := make([]float64, e.len())
	scale := e.scale()
	for i, known := range e.vectors {
		for j, x := range known {
			d := (x - vector[j]) * scale[j]
			distances[i] += d * d
		}
	}
	near := slices.Min(distances)
	width := near + 0.1*middle(distances) // a neighbour at the distance of the nearest one counts much
	if width == 0 {
		width = 1
	}
	best, sum, weights := slices.Min(e.seconds), 0.0, 0.0
	for i, distance := range distances {
		weight := math.Exp(-distance / width)
		weights += weight
		if !math.IsInf(e.seconds[i], 1) {
			sum += weight * best / e.seconds[i]
		}
	}
	return sum / weights
}

// scale is one over the spread of each feature, and 0 for one that is the same everywhere.
func (e *experience) scale() []float64 {
	scale := make([]float64, len(e.vectors[0]))
	for j := range scale {
		var sum, squares float64
		for _, known := range e.vectors {
			sum += known[j]
			squares += known[j] * known[j]
		}
		n := float64(e.len())
		if variance := squares/n - sum*sum/(n*n); variance > 1e-12 {
			scale[j] = 1 / math.Sqrt(variance)
		}
	}
	return scale
}

// middle is the median of numbers, which are not empty.
func middle(numbers []float64) float64 {
	sorted := slices.Sorted(slices.Values(numbers))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
