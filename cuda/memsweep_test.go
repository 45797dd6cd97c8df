package cuda_test

import (
	"github.com/tvmffi-go/tvmffi/cuda"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"

	"unsafe"
)

func init() {
	scenarios["transfers"] = transfers
	scenarios["virtual memory"] = virtualMemory
	scenarios["managed memory"] = managedMemory
	destroying = append(destroying, "cuMemHostUnregister", "cuMemUnmap", "cuMemAddressFree", "cuMulticastUnbind")
}

// first runs functions up to the first error.
func first(list ...func() error) error {
	for _, f := range list {
		if err := f(); err != nil {
			return err
		}
	}
	return nil
}

// transfers copies boxes and slices between both devices and the host.
func transfers() (err error) {
	const d = cuda.Device(1)
	var c closers
	defer c.close(&err)
	st, err := d.NewStream(cuda.NonBlocking())
	if err != nil {
		return err
	}
	c.add(st.Close)
	x, err := d.AllocAsync(512, st)
	if err != nil {
		return err
	}
	c.add(x.Free)
	there, err := cuda.Device(0).Alloc(512)
	if err != nil {
		return err
	}
	c.add(there.Free)
	h, err := cuda.AllocHost[byte](d, 512, cuda.HostMapped())
	if err != nil {
		return err
	}
	c.add(h.Free)
	p, err := mapMemory(1 << 12)
	if err != nil {
		return err
	}
	defer unmapMemory(p)
	r, err := cuda.RegisterHost[byte](d, tvmffi.Pointer{Address: uintptr(unsafe.Pointer(&p[0]))}, 512)
	if err != nil {
		return err
	}
	c.add(r.Free)
	via, err := d.NewStaging(256)
	if err != nil {
		return err
	}
	c.add(via.Close)
	c.add(func() error { // what was queued before an error uses the memory
		err := st.Synchronize()
		if err != nil {
			_ = d.Synchronize()
		}
		if failed := cuda.Device(0).Synchronize(); err == nil {
			err = failed
		}
		return err
	})
	box := func(m cuda.Span) cuda.Region { return cuda.Region{Memory: m, Offset: 8, Pitch: 16, Rows: 4} }
	size := cuda.Extent{Width: 8, Height: 3, Depth: 2}
	return first(
		func() error { return cuda.Fill(x, uint64(1), st) },
		func() error { return cuda.FillBox(box(x), uint8(1), size, st) },
		func() error { return cuda.FillBox(box(x), uint16(1), size, st) },
		func() error { return cuda.FillBox(box(x), uint64(1), size, st) },
		func() error { return cuda.CopyBox(box(h), box(x), size, st) },
		st.Synchronize, // the next copy is on a stream of the other device
		func() error { return cuda.CopyBox(box(there), box(x), size, nil) },
		cuda.Device(0).Synchronize,
		func() error { return cuda.CopyInAt(x, 8, []int32{1}, st) },
		func() error { return cuda.CopyInVia(via, x, 8, []int32{1}, st) },
		func() error { return cuda.CopyRange(x, 8, x, 0, 8, st) },
		func() error { return cuda.CopyOutAt(make([]int32, 2), x, 8, st) },
		func() error { _, err := d.About(x.Pointer()); return err },
		st.Synchronize,
	)
}

// virtualMemory maps memory of both devices, and multicast memory.
func virtualMemory() (err error) {
	const d = cuda.Device(1)
	var c closers
	defer c.close(&err)
	st, err := d.NewStream()
	if err != nil {
		return err
	}
	c.add(st.Close)
	p, err := d.AllocPhysical(1)
	if err != nil {
		return err
	}
	c.add(p.Close)
	multicast, err := cuda.NewMulticast(1, 0, 1)
	if err != nil {
		return err
	}
	c.add(multicast.Close)
	if err := multicast.Bind(0, p, 0, multicast.Size()); err != nil {
		return err
	}
	tried := false
	c.add(func() error { // once, because a second call is a mistake
		if tried {
			return nil
		}
		tried = true
		return multicast.Unbind(d, 0, multicast.Size())
	})
	a, err := d.Reserve(3 * p.Size())
	if err != nil {
		return err
	}
	c.add(a.Close)
	return first(
		func() error { return a.Map(p.Size(), p) },
		func() error { return a.AllowAccess(0) },
		func() error { return a.Map(0, multicast) },
		func() error {
			m, err := a.Memory(0, p.Size())
			if err != nil {
				return err
			}
			return cuda.Fill(m, uint8(1), st)
		},
		st.Synchronize,
		func() error { return a.Unmap(p.Size()) },
	)
}

// managedMemory moves managed memory and gives advice.
func managedMemory() (err error) {
	m, err := cuda.Device(0).AllocManaged(64)
	if err != nil {
		return err
	}
	defer func() {
		if failed := m.Free(); failed != nil {
			_ = m.Free() // what could not be closed for want of a device can be now
			err = failed
		}
	}()
	return first(
		func() error { return m.Prefetch(cuda.OnHost, nil) },
		func() error { return m.Advise(cuda.AdviseReadMostly, 0) },
		func() error { _, err := m.ManagedInfo(); return err },
	)
}
