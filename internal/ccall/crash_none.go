//go:build !linux || (!amd64 && !arm64) || tvmffi_portable || msan || asan

package ccall

// ReportFaults does nothing: here Go alone reports faults.
func ReportFaults() {}

var _ = nameOf // for the reports
