package nvjitlink

import "github.com/tvmffi-go/tvmffi/cuda/internal/toolkit"

// InputTypes is what the test compares with the header of nvJitLink.
var InputTypes = inputTypes

// ResultName names a result of a version.
func ResultName(major, minor, rc int) string {
	return resultName(toolkit.Version{Major: major, Minor: minor}, int32(rc))
}

// Remedy says what to do where no library suits a driver.
func Remedy(driver int, ptx bool) string { return remedy(toolkit.VersionOf(driver), ptx) }
