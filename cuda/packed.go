package cuda

import (
	"runtime"

	"github.com/tvmffi-go/tvmffi/cuda/internal/packed"
)

func init() {
	packed.Run = launchPacked
	packed.Sizes = func(k any) ([]int, bool) { return k.(*Kernel).params, k.(*Kernel).known }
}

// launchPacked is Launch for generated code, whose parameters are laid out and were
// compared with those of the kernel when it was loaded.
func launchPacked(l *packed.Launch) error {
	k := l.Kernel.(*Kernel)
	c := LaunchConfig{
		Grid: Dim3{l.Grid[0], l.Grid[1], l.Grid[2]}, Block: Dim3{l.Block[0], l.Block[1], l.Block[2]}, Shared: l.Shared,
		Cluster: Dim3{l.Cluster[0], l.Cluster[1], l.Cluster[2]}, Cooperative: l.Cooperative, Programmatic: l.Programmatic,
	}
	if _, err := k.m.live(); err != nil {
		return err
	}
	if err := k.check(&c); err != nil {
		return err
	}
	var h uintptr
	if l.Raw {
		h = l.Address
	} else if l.Stream != nil {
		var err error
		if h, err = l.Stream.(*Stream).of(k.m.s); err != nil {
			return err
		}
	}
	err := k.start(&l.Within, &c, h, l.Stream == nil && !l.Raw, l.Addresses())
	runtime.KeepAlive(l)
	return err
}
