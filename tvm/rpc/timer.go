package rpc

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"time"

	tvmruntime "github.com/tvmffi-go/tvmffi/generated/tvm/runtime"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/tvm/internal/arguments"
)

// TimerOptions say how a function is measured. The zero value calls it once.
type TimerOptions struct {
	// Device is the device on which the function computes, by default the CPU. The timer waits
	// for it.
	Device tvmffi.Device
	// Number is how often one measurement calls the function; 0 is once. Its result is the time
	// divided by Number.
	Number int
	// Repeat is how many measurements there are; 0 is one.
	Repeat int
	// MinRepeat is the minimum time of a measurement, rounded up to milliseconds: Number grows until
	// it is reached.
	MinRepeat time.Duration
	// Cooldown is how long the server waits after each CooldownEvery measurements, rounded up to milliseconds.
	Cooldown      time.Duration
	CooldownEvery int
	// FlushCache is how many bytes of the CPU's cache to clear before each measurement.
	FlushCache int64
	// Prepare is the name of a registered function of the server that runs, with the arguments,
	// before each measurement: for example "cache_flush_cpu_non_first_arg".
	Prepare string
}

// milliseconds rounds up: a short time must not become none.
func milliseconds(d time.Duration) int64 {
	ms := d.Milliseconds()
	if d%time.Millisecond > 0 {
		ms++
	}
	return ms
}

// fit returns an error for an option that TVM would cut: its evaluator has ints of 32 bits.
func (o *TimerOptions) fit() error {
	for _, option := range []struct {
		name string
		n    int64
	}{
		{"Number", int64(o.Number)}, {"Repeat", int64(o.Repeat)}, {"MinRepeat, in milliseconds,", milliseconds(o.MinRepeat)},
		{"Cooldown, in milliseconds,", milliseconds(o.Cooldown)}, {"CooldownEvery", int64(o.CooldownEvery)}, {"FlushCache", o.FlushCache},
	} {
		if option.n != int64(int32(option.n)) {
			return tvmffi.NewError("OverflowError", fmt.Sprintf("TimerOptions: %s is %d, expected %d to %d", option.name, option.n, math.MinInt32, math.MaxInt32))
		}
	}
	return nil
}

// A Timer measures a function on the server, without the network time.
type Timer struct{ f *Function }

// Timer returns a timer of a function of the module. The caller releases it.
func (m *Module) Timer(ctx context.Context, name string, o TimerOptions) (*Timer, error) {
	device, err := m.session.device(cmp.Or(o.Device, tvmffi.CPU))
	if err != nil {
		return nil, err
	}
	o.Device = device
	var t *Timer
	err = m.session.Do(ctx, func() (err error) {
		t, err = TimerOf(m.module, name, o)
		return err
	})
	if err != nil {
		return nil, err
	}
	t.f.session = m.session
	return t, nil
}

// TimerOf returns a timer of a function of a module of this process. The caller releases it.
func TimerOf(m *tvmffi.Module, name string, o TimerOptions) (*Timer, error) {
	kind, err := m.Kind()
	if err == nil {
		err = errors.Join(arguments.Name(name), arguments.Name(o.Prepare))
	}
	if err != nil {
		return nil, err
	}
	if err := o.fit(); err != nil {
		return nil, err
	}
	device := cmp.Or(o.Device, tvmffi.CPU)
	const zeroTimes = 100 // measurements of zero time end a MinRepeat, as in Python
	f, err := tvmruntime.RPCTimeEvaluator(m, name, int64(device.Type), int64(device.ID), int64(max(o.Number, 1)), int64(max(o.Repeat, 1)),
		milliseconds(o.MinRepeat), zeroTimes, milliseconds(o.Cooldown), int64(max(o.CooldownEvery, 1)), o.FlushCache, o.Prepare)
	if err != nil {
		return nil, err
	}
	return &Timer{&Function{function: f, remote: kind == "rpc"}}, nil
}

// Release releases the timer on both sides.
func (t *Timer) Release() { t.f.Release() }

// Run calls the function with args, first once without measuring, and returns the measurements: times of one call of the
// function, in whole nanoseconds.
func (t *Timer) Run(ctx context.Context, args ...any) ([]time.Duration, error) {
	result, err := t.f.Call(ctx, args...)
	if err != nil {
		return nil, err
	}
	b, err := tvmffi.As[[]byte](result)
	if err != nil {
		return nil, err
	}
	return durations(b)
}

// durations reads the times of an evaluator: floats in seconds.
func durations(b []byte) ([]time.Duration, error) {
	if len(b)%8 != 0 {
		return nil, fmt.Errorf("%w: a timer returned %d bytes, which are not float64 numbers", ErrProtocol, len(b))
	}
	times := make([]time.Duration, len(b)/8)
	for i := range times {
		seconds := math.Float64frombits(binary.LittleEndian.Uint64(b[8*i:]))
		n := math.Round(seconds * 1e9)
		if !(math.Abs(n) < 1<<63) { // or NaN
			return nil, fmt.Errorf("%w: a timer returned a time of %v seconds", ErrProtocol, seconds)
		}
		times[i] = time.Duration(n)
	}
	return times, nil
}
