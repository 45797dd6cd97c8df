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
	if l.Raw {
		c.Stream = &Stream{resource: resource{s: k.m.s}, borrowed: true, address: l.Address}
	} else if l.Stream != nil {
		c.Stream = l.Stream.(*Stream)
	}
	if err := k.check(&c); err != nil {
		return err
	}
	err := k.start(&c, l.Addresses())
	runtime.KeepAlive(l)
	return err
}
