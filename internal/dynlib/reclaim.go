package dynlib

// KeepSignalAction remembers the SIGSEGV action of this moment, which must be
// Go's. The func that it returns puts it back if libtvm_ffi, loaded later by
// other code, has replaced it; handlers of other libraries stay.
func KeepSignalAction() (reclaim func()) { return saveSignalAction() }
