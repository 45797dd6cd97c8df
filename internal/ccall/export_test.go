package ccall

// NameOf returns the name that a Function object was found by.
func NameOf(handle uintptr) string {
	if c := nameOf(handle); c != nil {
		return *c.name
	}
	return ""
}
