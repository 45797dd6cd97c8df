package rpc

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// TestMilliseconds: a time that is not 0 is at least one millisecond.
func TestMilliseconds(t *testing.T) {
	for d, want := range map[time.Duration]int64{0: 0, 1: 1, 500 * time.Microsecond: 1, time.Millisecond: 1, 1001 * time.Microsecond: 2, time.Second: 1000, math.MaxInt64: 9223372036855} {
		if got := milliseconds(d); got != want {
			t.Errorf("%v are %d ms, want %d", d, got, want)
		}
	}
}

// TestTimerOptions_fit: TVM would cut what int32 does not hold: with a Number of 2^32+1 it called the function once.
func TestTimerOptions_fit(t *testing.T) {
	const most = math.MaxInt32
	for _, o := range []TimerOptions{{Number: most + 1}, {Number: 1<<32 + 1}, {Repeat: most + 1}, {CooldownEvery: most + 1}, {FlushCache: 1 << 32}, {MinRepeat: 25 * 24 * time.Hour}, {Cooldown: math.MaxInt64}} {
		if err := o.fit(); !errors.Is(err, tvmffi.ErrOverflow) {
			t.Errorf("%+v: %v", o, err)
		}
	}
	const want = "TimerOptions: Number is -1099511627776, expected -2147483648 to 2147483647"
	for range 20 { // the first of all is named, each time
		o := TimerOptions{Number: -1 << 40, Repeat: 1 << 40, MinRepeat: math.MaxInt64, Cooldown: math.MaxInt64, CooldownEvery: 1 << 40, FlushCache: 1 << 40}
		if err := o.fit(); err == nil || !strings.Contains(err.Error(), want) {
			t.Fatalf("%v, want %s", err, want)
		}
	}
	if err := (&TimerOptions{Number: most, Repeat: most, MinRepeat: most * time.Millisecond, Cooldown: most * time.Millisecond, CooldownEvery: most, FlushCache: most}).fit(); err != nil {
		t.Error(err)
	}
}

// TestDurations: a time that a Duration does not hold is an error.
func TestDurations(t *testing.T) {
	of := func(seconds ...float64) (b []byte) {
		for _, x := range seconds {
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(x))
		}
		return b
	}
	if got, err := durations(of(1, 2e-9, 0)); err != nil || !slices.Equal(got, []time.Duration{time.Second, 2, 0}) {
		t.Errorf("%v, %v", got, err)
	}
	for _, x := range []float64{math.NaN(), math.Inf(1), 1e10, -1e10} {
		if got, err := durations(of(1, x)); !errors.Is(err, ErrProtocol) {
			t.Errorf("%v: %v, %v", x, got, err)
		}
	}
	if _, err := durations(make([]byte, 7)); !errors.Is(err, ErrProtocol) {
		t.Error(err)
	}
}
