package sites

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"testing"
)

func TestAdvise(t *testing.T) {
	for errno, want := range map[syscall.Errno]string{
		syscall.ENOSPC: "; free some space, or set TVMFFI_CACHE to a folder on another disk",
		syscall.EROFS:  "; set TVMFFI_CACHE to a folder that you can write to",
		syscall.EACCES: "; set TVMFFI_CACHE to a folder that you can write to",
		syscall.EMFILE: "",
	} {
		err := fmt.Errorf("wheel: %w", &fs.PathError{Op: "mkdir", Path: "here", Err: errno})
		if got := Advise(err); got.Error() != err.Error()+want || !errors.Is(got, errno) || !strings.Contains(got.Error(), "here") {
			t.Errorf("%v, want it to end in %q", got, want)
		}
	}
	if Advise(nil) != nil {
		t.Error("Advise(nil) is not nil")
	}
}
