// Quickstart makes sound with a C++ library of its own, through the Go package that
// tvmffi-bind wrote for it.
package main

import (
	"errors"
	"fmt"
	"log"
	"math"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"

	"github.com/tvmffi-go/tvmffi/examples/quickstart/synth"
)

func main() {
	// A program finds its libraries beside its executable. "go run" puts the executable
	// into a folder of its own, so this program names the file.
	err := synth.Load(tvmffi.WithFile("libsynth.so"))
	if err == nil {
		err = errors.Join(objects(), sound(), failures())
	}
	if err != nil {
		log.Fatal(err)
	}
}

// objects makes objects, reads and writes their fields, and calls their methods.
func objects() error {
	tone, err := synth.NewTone(440, synth.TonePhase(0.25)) // required arguments, then options by name
	if err != nil {
		return err
	}
	defer tone.Release() // or leave it to the collector
	note, err := tone.Note()
	if err != nil {
		return err
	}
	fmt.Printf("%g Hz is note %d\n", tone.Frequency(), note)

	if err := tone.SetGain(0.5); err != nil { // a field of Signal, which Tone derives from
		return err
	}
	loud, err := synth.Decibel(tone.Gain()) // a function that the library exports
	if err != nil {
		return err
	}
	fmt.Printf("half the gain is %.1f dB\n", loud)
	return nil
}

// sound shows containers, a Go function that C++ calls, and a slice that C++ fills.
func sound() error {
	chord, err := synth.Chord(220, tvmffi.Of[int64](0, 4, 7)) // Go values in, a container out
	if err != nil {
		return err
	}
	defer chord.Release()
	for _, signal := range chord.All() {
		if tone, ok := tvmffi.Cast[*synth.Tone](signal); ok {
			fmt.Printf("the chord has %.1f Hz\n", tone.Frequency())
		}
	}
	mix, err := synth.NewMix(chord)
	if err != nil {
		return err
	}
	defer mix.Release()
	fade := func(seconds float64) (float64, error) { return math.Exp(-seconds), nil }
	shaped, err := synth.NewShaped(mix, fade) // a Mix where a Signal is expected
	if err != nil {
		return err
	}
	defer shaped.Release()

	samples := make([]float32, 6)
	out, err := tvmffi.FromSlice(samples) // the memory of the slice, not a copy
	if err != nil {
		return err
	}
	defer out.Release()
	if err := synth.Render(shaped, 2000, out); err != nil {
		return err
	}
	fmt.Printf("samples %.2f\n", samples)
	return nil
}

// failures shows that a C++ exception becomes a Go error, and that a Go error comes
// out of C++ as the same error.
func failures() error {
	silent, err := synth.NewTone(0)
	if err != nil {
		return err
	}
	defer silent.Release()
	_, err = silent.Note()
	fmt.Printf("%v; a value error: %t\n", err, errors.Is(err, tvmffi.ErrValue))

	shaped, err := synth.NewShaped(silent, func(float64) (float64, error) { return 0, errTired })
	if err != nil {
		return err
	}
	defer shaped.Release()
	_, err = synth.Peak(shaped, 1)
	fmt.Printf("%v; the same error: %t\n", err, errors.Is(err, errTired))
	return nil
}

var errTired = errors.New("the envelope is tired")
