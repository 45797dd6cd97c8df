package cuda

import "github.com/tvmffi-go/tvmffi/cuda/internal/driver"

// StartProfiler tells a profiler that was started with the program, such as Nsight
// Systems with --capture-range=cudaProfilerApi, to collect from here on. Without one, and
// a second time, it does nothing. Package cuda/nvtx names the parts of a program in a
// profile.
func (d Device) StartProfiler() error { return d.profiler(driver.ProfilerStart) }

// StopProfiler ends what [Device.StartProfiler] began. Kernels that are still queued may
// be missing in the profile: synchronise first.
func (d Device) StopProfiler() error { return d.profiler(driver.ProfilerStop) }

func (d Device) profiler(f driver.Func) error {
	s, err := stateOf(d)
	if err != nil {
		return err
	}
	return about(s.do(f), "%s", d)
}
