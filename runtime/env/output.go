package env

import (
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/failure"
)

// FlushOutput writes what native code has printed with printf, puts or std::cout and what the C
// library still holds. The C library holds output if it goes to a file or a pipe. A C or Python
// program writes it at its end; a Go program, which ends without the C library, loses it. So call
// FlushOutput at the end of main, and before os.Exit:
//
//	defer env.FlushOutput()
//
// It may be called from any goroutine, also before a library is loaded. The error is of kind
// ErrRuntime: the C library could not write all, as on a full disk.
func FlushOutput() error {
	if !capi.Flush() {
		return failure.Errorf(failure.KindRuntime, "fflush: the C library could not write all output of native code: check where standard output goes")
	}
	return nil
}
