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
	// Field by field: a literal would be built elsewhere in small pieces and copied in large ones, for which the
	// processor has to wait.
	var c LaunchConfig
	c.Grid.X, c.Grid.Y, c.Grid.Z = l.Grid[0], l.Grid[1], l.Grid[2]
	c.Block.X, c.Block.Y, c.Block.Z = l.Block[0], l.Block[1], l.Block[2]
	c.Cluster.X, c.Cluster.Y, c.Cluster.Z = l.Cluster[0], l.Cluster[1], l.Cluster[2]
	c.Shared, c.Cooperative, c.Programmatic = l.Shared, l.Cooperative, l.Programmatic
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

func init() {
	packed.Reaches = func(device, memory int32) bool {
		s, err := stateOf(Device(device))
		return err == nil && s.reaches(Device(memory))
	}
}
