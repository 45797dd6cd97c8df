//go:build (linux || darwin) && !tvmffi_portable

package ccall

// entrySize is the size of an entry of a setter or a creator.
const entrySize = 10
