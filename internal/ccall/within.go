package ccall

// Within describes one call that is made while a value of the OS thread, such as
// its current device, is the wanted one. CallWithin reads the value, sets it where
// it differs, calls, and sets it back, in one crossing and so on one thread. It and
// all that it names lie in Go heap memory or in C memory, which do not move, and are
// kept alive by the caller; never on a goroutine stack.
type Within struct {
	Get  uintptr // int Get(uintptr *value)
	Set  uintptr // int Set(uintptr value)
	Want uintptr
	// Lookup, unless it is 0, runs before Fn: uintptr Lookup(LookupArgs...). Its
	// result goes to the word at LookupTo, such as one of Args.
	Lookup     uintptr
	LookupArgs [2]uintptr
	LookupTo   uintptr
	Fn         uintptr // int Fn(Args...); what it does not take it does not see
	Args       [11]uintptr

	Before uintptr // the value that Get read
	Step   uintptr // which function was called last but for setting back: AtGet, AtSet or AtFn
	RC     int64   // what that one returned
	Back   int64   // what Set returned for setting back, 0 where nothing was to be set back

	//lint:ignore U1000 what the portable path passes
	spare [2]uintptr
}

// The steps of a Within. Where Get or Set fails, nothing more is called.
const (
	AtGet = iota
	AtSet
	AtFn
)
