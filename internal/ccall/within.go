package ccall

// Within describes one call that is made while a value of the OS thread, such as
// its current device, is the wanted one. CallWithin reads the value, sets it if it
// differs, calls, and sets it back, in one crossing and so on one thread. It and
// all that it points to lie in Go heap memory or in C memory, which do not move, and are
// kept alive by the caller; never on a goroutine stack.
type Within struct {
	Get  uintptr // int Get(uintptr *value); 0 for a call with any value
	Set  uintptr // int Set(uintptr value)
	Want uintptr
	// Lookup, unless it is 0, runs before Fn: uintptr Lookup(LookupArgs...). Its
	// result goes to the word at LookupTo, such as one of Args.
	Lookup     uintptr
	LookupArgs [2]uintptr
	LookupTo   uintptr
	Fn         uintptr // int Fn(Args...); it ignores the arguments that it does not take
	Args       [11]uintptr

	Before uintptr // the value that Get read
	Step   uintptr // which function was called last, apart from setting back: AtGet, AtSet or AtFn
	RC     int64   // what that function returned
	Back   int64   // what Set returned for setting back, 0 if that was not necessary

	//lint:ignore U1000 arguments on the portable path
	spare [2]uintptr
}

// The steps of a Within. Where Get or Set fails, nothing more is called.
const (
	AtGet = iota
	AtSet
	AtFn
)
