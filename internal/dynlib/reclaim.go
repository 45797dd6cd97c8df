package dynlib

// KeepSignalAction remembers the SIGSEGV action of this moment, which must be
// Go's. The func that it returns puts it back if libtvm_ffi, loaded later by
// somebody else, has taken its place; handlers of others stay.
func KeepSignalAction() (reclaim func()) { return saveSignalAction() }
