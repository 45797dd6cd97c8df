package nvrtc

import (
	"fmt"

	"github.com/tvmffi-go/tvmffi/cuda"
	"github.com/tvmffi-go/tvmffi/cuda/internal/toolkit"
)

// ForDevice chooses among libraries of the given versions, the newest first. They compile for the
// architectures that the real ones compile for. It returns the version and the option.
func ForDevice(versions []int, arch, device cuda.Arch, kind cuda.ImageKind, driver int) string {
	var libs []*library
	for _, v := range versions {
		l := &library{version: toolkit.VersionOf(v), file: "lib" + toolkit.VersionOf(v).String()}
		for _, a := range []cuda.Arch{{Major: 5}, {Major: 7, Minor: 5}, {Major: 8}, {Major: 9}, {Major: 10}, {Major: 12}} {
			if a.Major <= 9 && (a.Major > 5 || v < 13000) || v >= 12080 && a.Major >= 10 {
				l.archs = append(l.archs, a)
			}
		}
		libs = append(libs, l)
	}
	at := toolkit.VersionOf(driver)
	l, t := forDevice(libs, target{arch, kind}, device, at)
	if l == nil {
		return unsuited("p.cu", libs, t, 1, at).Error()
	}
	return fmt.Sprintf("%s %s", l.version, t.option())
}
