package gputest

import (
	"bytes"
	"encoding/base64"
	"encoding/gob"
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/tvmffi-go/tvmffi/cuda"
)

// sharedName is the variable with what one process tells another.
const sharedName = "TVMFFI_GPUTEST_SHARED"

// shared says how another process opens memory of this one. What is not used is empty.
type shared struct {
	Memory   cuda.IPCMemory
	Event    cuda.IPCEvent
	Pooled   cuda.IPCPoolMemory
	Physical int64 // bytes
}

func (s shared) text(t *testing.T) string {
	t.Helper()
	var b bytes.Buffer
	ok(t, gob.NewEncoder(&b).Encode(s))
	return base64.StdEncoding.EncodeToString(b.Bytes())
}

// readers are what TestOtherProcess starts: each opens what is shared, and adds 1 to the numbers of it.
var readers = map[string]func() error{
	"memory and an event": func() error {
		return read(ten, func(s shared, st *cuda.Stream) (_ *cuda.Memory, end func() error, err error) {
			event, err := cuda.Device(0).OpenIPCEvent(s.Event)
			if err != nil {
				return nil, nil, err
			}
			m, err := cuda.Device(0).OpenIPC(s.Memory)
			if err != nil {
				return nil, nil, err
			}
			return m, func() error { return errors.Join(m.Free(), event.Close()) }, st.Wait(event)
		})
	},
	"a pool": func() error {
		return read(ten, func(s shared, st *cuda.Stream) (_ *cuda.Memory, end func() error, err error) {
			pool, err := cuda.Device(0).OpenPool(os.NewFile(3, "pool"))
			if err != nil {
				return nil, nil, err
			}
			m, err := pool.OpenMemory(s.Pooled)
			return m, func() error { return errors.Join(m.Free(), pool.Close()) }, err
		})
	},
	"physical memory": func() error {
		return read(ten, func(s shared, st *cuda.Stream) (_ *cuda.Memory, end func() error, err error) {
			physical, err := cuda.Device(0).OpenPhysical(os.NewFile(3, "physical memory"), s.Physical)
			if err != nil {
				return nil, nil, err
			}
			a, err := cuda.Device(0).Reserve(s.Physical)
			if err != nil {
				return nil, nil, err
			}
			if err := errors.Join(a.Map(0, physical), physical.Close()); err != nil {
				return nil, nil, err
			}
			m, err := a.Memory(0, 4*sharedNumbers)
			return m, a.Close, err
		})
	},
}

const sharedNumbers, ten = 1000, 10

// read opens memory of another process, whose numbers are to be those of ramp and a number, and adds 1 to them.
func read(more float32, open func(shared, *cuda.Stream) (*cuda.Memory, func() error, error)) error {
	var s shared
	data, err := base64.StdEncoding.DecodeString(os.Getenv(sharedName))
	if err != nil {
		return err
	}
	if err := gob.NewDecoder(bytes.NewReader(data)).Decode(&s); err != nil {
		return err
	}
	module, err := load(0)
	if err != nil {
		return err
	}
	k, err := module.Kernel("add_one")
	if err != nil {
		return err
	}
	st, err := cuda.Device(0).NewStream(cuda.NonBlocking())
	if err != nil {
		return err
	}
	m, end, err := open(s, st)
	if err != nil {
		return err
	}
	// The copy is on the stream that waits for the event.
	got := make([]float32, sharedNumbers)
	if err := cuda.CopyOutAt(got, m, 0, st); err != nil {
		return err
	}
	if want := plus(sharedNumbers, more); !slices.Equal(got, want) {
		return fmt.Errorf("the memory of the other process begins with %v, want %v", got[:4], want[:4])
	}
	if err := errors.Join(adds(k, st, m, m), st.Synchronize(), end(), st.Close(), module.Close()); err != nil {
		return err
	}
	if fake := onFake(); fake != nil {
		if bad := fake.Violations(); bad != "" {
			return fmt.Errorf("the work did what a device does not forgive: %s", bad)
		}
	}
	if left := cuda.Device(0).Live(); left != (cuda.Live{}) {
		return fmt.Errorf("left are %+v", left)
	}
	return nil
}

// TestOtherProcess shares memory with a process that it starts, which checks the numbers and changes them.
func TestOtherProcess(t *testing.T) {
	const d, n = cuda.Device(0), sharedNumbers
	k := kernel(t, prepare(t)[d], "add_one")
	if onFake() != nil {
		if _, err := os.Stat("/proc/self/fd"); err != nil {
			unsupported(t, "the fake driver shares memory by /proc, which is not here")
		}
	}
	st := streamOn(t, d, cuda.NonBlocking())
	// filled queues work that makes the numbers, which nobody waits for.
	filled := func(t *testing.T, m *cuda.Memory) {
		t.Helper()
		ok(t, cuda.CopyInAt(m, 0, ramp(n), st))
		for range ten {
			ok(t, k.Launch(cuda.LaunchConfig{Grid: cuda.GridFor(n, 256), Block: cuda.Dim(256), Stream: st}, m, m, int32(n)))
		}
	}
	t.Run("memory and an event", func(t *testing.T) {
		event, err := d.NewEvent(cuda.Interprocess())
		supported(t, "events of processes", err)
		t.Cleanup(func() { ok(t, event.Close()) })
		m, err := d.Alloc(4 * n)
		ok(t, err)
		t.Cleanup(func() { ok(t, m.Free()) })
		var s shared
		s.Memory, err = m.ShareIPC()
		supported(t, "memory of processes", err)
		s.Event, err = event.ShareIPC()
		supported(t, "events of processes", err)
		filled(t, m)
		ok(t, event.Record(st))
		child(t, "memory and an event", s.text(t))
		wantNumbers(t, m, plus(n, ten+1))
	})
	t.Run("a pool", func(t *testing.T) {
		pool, err := d.NewPool(cuda.PoolForFile())
		supported(t, "pools of processes", err)
		t.Cleanup(func() { ok(t, pool.Close()) })
		file, err := pool.File()
		supported(t, "pools of processes", err)
		t.Cleanup(func() { ok(t, file.Close()) })
		m, err := pool.Alloc(4*n, st)
		ok(t, err)
		t.Cleanup(func() { ok(t, m.Free()) })
		filled(t, m)
		ok(t, st.Synchronize())
		pooled, err := pool.ShareMemory(m)
		supported(t, "pools of processes", err)
		child(t, "a pool", shared{Pooled: pooled}.text(t), file)
		wantNumbers(t, m, plus(n, ten+1))
	})
	t.Run("physical memory", func(t *testing.T) {
		physical, err := d.AllocPhysical(4*n, cuda.PhysicalForFile())
		supported(t, "physical memory of processes", err)
		t.Cleanup(func() { ok(t, physical.Close()) })
		file, err := physical.File()
		supported(t, "physical memory of processes", err)
		t.Cleanup(func() { ok(t, file.Close()) })
		a, err := d.Reserve(physical.Size())
		ok(t, err)
		t.Cleanup(func() { ok(t, a.Close()) })
		ok(t, a.Map(0, physical))
		m, err := a.Memory(0, 4*n)
		ok(t, err)
		filled(t, m)
		ok(t, st.Synchronize())
		child(t, "physical memory", shared{Physical: physical.Size()}.text(t), file)
		wantNumbers(t, m, plus(n, ten+1))
	})
}
