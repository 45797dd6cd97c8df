package calls

// IsLight reports whether calls of f are light.
func IsLight(f *Func) bool { return f.way.Light() }

// MakeLight makes calls of f light if a program has asked for light calls.
func MakeLight(f *Func) { f.way.Say(true) }
