package environment

// EndWith does nothing on Windows.
func EndWith(uintptr) {}

// End does nothing on Windows.
func End() {}
