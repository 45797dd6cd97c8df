package cuda_test

import "github.com/tvmffi-go/tvmffi/cuda"

func init() {
	scenarios["streams"] = streamScenario
	destroying = append(destroying, "cuGreenCtxDestroy")
	replaced = append(replaced, "cuDeviceGetUuid_v2")
}

// streamScenario uses what stream attributes, words, limits and green contexts have, on device 0, with device 1 current.
func streamScenario() (err error) {
	const d = cuda.Device(0)
	var c closers
	defer c.close(&err)
	c.add(d.Release) // so that the context is retained again
	return cuda.WithDevice(1, func() error {
		if err := d.SetSchedule(cuda.ScheduleAuto); err != nil {
			return err
		}
		m, err := d.LoadModule([]byte(ptx))
		if err != nil {
			return err
		}
		c.add(m.Close)
		k, err := m.Kernel("nothing")
		if err != nil {
			return err
		}
		x, err := d.Alloc(64)
		if err != nil {
			return err
		}
		c.add(x.Free)
		all, err := d.SMs()
		if err != nil {
			return err
		}
		groups, _, err := all.Split(2, 8)
		if err != nil {
			return err
		}
		green, err := d.NewGreenContext(groups...)
		if err != nil {
			return err
		}
		c.add(green.Close)
		st, err := green.NewStream(cuda.Priority(-1))
		if err != nil {
			return err
		}
		c.add(st.Close)
		window := cuda.AccessWindow{Memory: x, HitRatio: 1, Hit: cuda.AccessPersisting}
		for _, f := range []func() error{
			d.StartProfiler,
			func() error { _, _, err := d.Schedule(); return err },
			func() error { _, err := d.Properties(); return err },
			func() error { _, err := d.SetLimit(cuda.LimitStack, 1024); return err },
			func() error { _, err := d.Limit(cuda.LimitPrintf); return err },
			func() error { _, _, err := d.PriorityRange(); return err },
			func() error { _, err := st.Priority(); return err },
			func() error { _, err := st.NonBlocking(); return err },
			func() error { return st.SetSchedule(cuda.ScheduleBlock) },
			func() error { _, err := st.Schedule(); return err },
			func() error { return st.SetAccessWindow(window) },
			func() error { _, err := st.AccessWindow(); return err },
			func() error {
				return k.Launch(cuda.LaunchConfig{Grid: cuda.Dim(1), Block: cuda.Dim(1), Stream: st, Priority: -1, Window: &window, RemoteDomain: true})
			},
			func() error { return cuda.WriteValue(x, 8, uint32(1), st) },
			func() error { return cuda.WaitValue(x, 8, uint32(1), cuda.WaitEqual, st) },
			func() error { return cuda.WriteValue(x, 16, uint64(1), st) },
			func() error { return cuda.WaitValue(x, 16, uint64(1), cuda.WaitNor|cuda.WaitFlush, st) },
			st.Synchronize,
			d.ResetPersistingL2,
			d.StopProfiler,
		} {
			if err := f(); err != nil {
				return err
			}
		}
		return nil
	})
}
