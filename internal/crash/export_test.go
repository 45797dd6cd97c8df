//go:build linux && (amd64 || arm64) && !tvmffi_portable && !msan && !asan

package crash

// Written returns what f adds to a report.
func Written(f func()) string {
	openPipe()
	defer closePipe()
	text.n = 0
	f()
	defer func() { text.n = 0 }()
	return string(text.bytes[:text.n])
}

var (
	AfterCall = afterCall
	Read      = read
)
