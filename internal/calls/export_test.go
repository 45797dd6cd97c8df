package calls

// Lose does what two goroutines do that count at the same time.
func (v *Batch) Lose(what string) {
	switch what {
	case "an argument":
		v.start--
		v.used--
	case "a call":
		v.serial--
	case "the limit":
		for v.serial <= v.limit {
			v.serial++
			v.used++
		}
		v.start = v.used - v.width
	}
}

// IsLight reports whether calls of f are light.
func IsLight(f *Func) bool { return f.way.state.Load() >= light }

// MakeLight makes calls of f light if a program has asked for light calls.
func MakeLight(f *Func) {
	if f.way.state.Load() != ordinary {
		f.way.state.Store(light)
	}
}
