package cuda_test

import (
	"log"
	"sync/atomic"

	"github.com/tvmffi-go/tvmffi/cuda"
)

// A stream waits for the program.
func ExampleWaitValue() {
	const d = cuda.Device(0)
	st, err := d.NewStream(cuda.NonBlocking())
	if err != nil {
		log.Fatal(err)
	}
	defer st.Close()
	ready, err := cuda.AllocHost[uint32](d, 1)
	if err != nil {
		log.Fatal(err)
	}
	defer ready.Free()
	atomic.StoreUint32(&ready.Slice()[0], 0)
	if err := cuda.WaitValue(ready, 0, uint32(1), cuda.WaitGreaterOrEqual, st); err != nil {
		log.Fatal(err)
	}
	// What is queued on st from here on runs after this line:
	atomic.StoreUint32(&ready.Slice()[0], 1)
	if err := st.Synchronize(); err != nil {
		log.Fatal(err)
	}
}

// Two parts of a device, one with 16 multiprocessors at least, each with a stream of its own.
func ExampleDevice_NewGreenContext() {
	const d = cuda.Device(0)
	all, err := d.SMs()
	if err != nil {
		log.Fatal(err)
	}
	groups, rest, err := all.Split(1, 16)
	if err != nil {
		log.Fatal(err)
	}
	for _, sms := range []cuda.SMs{groups[0], rest} {
		part, err := d.NewGreenContext(sms)
		if err != nil {
			log.Fatal(err)
		}
		defer part.Close()
		st, err := part.NewStream()
		if err != nil {
			log.Fatal(err)
		}
		defer st.Close() // before the context
		// kernel.Launch(cuda.LaunchConfig{Stream: st, ...})
	}
}

// A program that waits for its device without a core: call it before anything else of CUDA.
func ExampleDevice_SetSchedule() {
	if err := cuda.Device(0).SetSchedule(cuda.ScheduleBlock); err != nil {
		log.Fatal(err)
	}
}

// A table that many kernels read stays in the L2 cache.
func ExampleStream_SetAccessWindow() {
	const d = cuda.Device(0)
	table, err := d.Alloc(4 << 20)
	if err != nil {
		log.Fatal(err)
	}
	defer table.Free()
	st, err := d.NewStream()
	if err != nil {
		log.Fatal(err)
	}
	defer st.Close()
	if _, err := d.SetLimit(cuda.LimitPersistingL2, table.Size()); err != nil {
		log.Fatal(err)
	}
	if err := st.SetAccessWindow(cuda.AccessWindow{Memory: table, HitRatio: 1, Hit: cuda.AccessPersisting}); err != nil {
		log.Fatal(err)
	}
	// ... launches on st ...
	if err := st.SetAccessWindow(cuda.AccessWindow{}); err != nil {
		log.Fatal(err)
	}
	if err := d.ResetPersistingL2(); err != nil {
		log.Fatal(err)
	}
}
