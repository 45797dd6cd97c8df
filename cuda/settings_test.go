package cuda_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/ebitengine/purego"

	"github.com/tvmffi-go/tvmffi/cuda"
	"github.com/tvmffi-go/tvmffi/cuda/internal/fakecuda"
	"github.com/tvmffi-go/tvmffi/internal/dynlib"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

func init() {
	children["schedule"] = scheduleFirst
	children["uuid"] = printUUIDs
	children["old streams"] = oldStreams
}

// scheduleFirst sets the schedule before the context is made, which it does not make.
func scheduleFirst() error {
	for _, s := range []cuda.Schedule{cuda.ScheduleSpin, cuda.ScheduleYield, cuda.ScheduleAuto, cuda.ScheduleBlock} {
		if err := cuda.Device(1).SetSchedule(s); err != nil {
			return err
		}
		if got, active, err := cuda.Device(1).Schedule(); got != s || active || err != nil {
			return fmt.Errorf("schedule %d, active %t (%v), want %d of a context that is not active", got, active, err, s)
		}
	}
	if got, active, err := cuda.Device(0).Schedule(); got != cuda.ScheduleAuto || active || err != nil {
		return fmt.Errorf("device 0: schedule %d, active %t (%v)", got, active, err)
	}
	f, err := fakecuda.Open(os.Getenv("TVMFFI_CUDA_LIBRARY"))
	if err != nil {
		return err
	}
	if n := f.Live(fakecuda.Contexts); n != 0 {
		return fmt.Errorf("%d contexts are retained", n)
	}
	if err := cuda.Device(1).Synchronize(); err != nil {
		return err
	}
	if got, active, err := cuda.Device(1).Schedule(); got != cuda.ScheduleBlock || !active || err != nil {
		return fmt.Errorf("in use: schedule %d, active %t (%v)", got, active, err)
	}
	return nil
}

func TestSchedule(t *testing.T) {
	f := load(t)
	child(t, "schedule", "TVMFFI_CUDA_LIBRARY="+os.Getenv("TVMFFI_CUDA_LIBRARY"))
	d := cuda.Device(0)
	ok(t, d.Synchronize()) // the context is active
	f.reset()
	ok(t, d.SetSchedule(cuda.ScheduleBlock))
	f.expect("cuDevicePrimaryCtxGetState 10", "cuDevicePrimaryCtxSetFlags_v2 10 4")
	if s, active, err := d.Schedule(); s != cuda.ScheduleBlock || !active || err != nil {
		t.Errorf("schedule %d, active %t (%v)", s, active, err)
	}
	ok(t, d.SetSchedule(cuda.ScheduleAuto))

	wantError(t, d.SetSchedule(3), tvmffi.ErrValue, "the schedule is 3", "ScheduleBlock")
	wantError(t, cuda.Device(7).SetSchedule(cuda.ScheduleSpin), tvmffi.ErrValue, "there is no device cuda:7")
	_, _, err := cuda.Device(7).Schedule()
	wantError(t, err, tvmffi.ErrValue, "there is no device cuda:7")
	f.failing("cuDevicePrimaryCtxSetFlags_v2", 708, 0)
	err = d.SetSchedule(cuda.ScheduleSpin)
	wantDriverError(t, err, 708, "cuDevicePrimaryCtxSetFlags")
	wantError(t, err, nil, "CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE", "call it first, before anything uses the device")
	f.failing("cuDevicePrimaryCtxGetState", int(cuda.ErrUnknown), 0)
	wantDriverError(t, d.SetSchedule(cuda.ScheduleSpin), cuda.ErrUnknown, "cuDevicePrimaryCtxGetState")
	f.failing("cuDevicePrimaryCtxGetState", int(cuda.ErrUnknown), 0)
	_, _, err = d.Schedule()
	wantDriverError(t, err, cuda.ErrUnknown, "cuDevicePrimaryCtxGetState")
}

// TestScheduleKeepsFlags has a flag of another library, which is one that this package does not know.
func TestScheduleKeepsFlags(t *testing.T) {
	f := load(t)
	const syncMemops = 0x80
	f.expect()
	setFlags(t, 11, syncMemops|2)
	ok(t, cuda.Device(1).SetSchedule(cuda.ScheduleSpin))
	f.expectCall(fmt.Sprintf("cuDevicePrimaryCtxSetFlags_v2 11 %d", syncMemops|1))
	if s, _, err := cuda.Device(1).Schedule(); s != cuda.ScheduleSpin || err != nil {
		t.Errorf("schedule %d (%v)", s, err)
	}
	setFlags(t, 11, 0)
}

func TestStreamSchedule(t *testing.T) {
	f := load(t)
	st := must[*cuda.Stream](t)(cuda.Device(0).NewStream())
	defer st.Close()
	for _, s := range []cuda.Schedule{cuda.ScheduleAuto, cuda.ScheduleSpin, cuda.ScheduleYield, cuda.ScheduleBlock} {
		ok(t, st.SetSchedule(s))
		if got, err := st.Schedule(); got != s || err != nil {
			t.Errorf("schedule %d (%v), want %d", got, err, s)
		}
	}
	wantError(t, st.SetSchedule(9), tvmffi.ErrValue, "the schedule is 9")
	wantError(t, (*cuda.Stream)(nil).SetSchedule(cuda.ScheduleSpin), tvmffi.ErrValue, "the stream is nil")
	_, err := (*cuda.Stream)(nil).Schedule()
	wantError(t, err, tvmffi.ErrValue, "the stream is nil")
	_, err = new(cuda.Stream).Schedule()
	wantError(t, err, tvmffi.ErrValue, "a zero Stream stands for nothing, in the call of Stream.Schedule")
	f.failing("cuStreamSetAttribute", int(cuda.ErrUnknown), 0)
	wantDriverError(t, st.SetSchedule(cuda.ScheduleSpin), cuda.ErrUnknown, "cuStreamSetAttribute")
}

func TestLimits(t *testing.T) {
	f := load(t)
	d := cuda.Device(0)
	for _, c := range []struct {
		limit     cuda.Limit
		set, want int64
	}{
		{cuda.LimitStack, 2000, 2000}, {cuda.LimitStack, 1025, 1040}, {cuda.LimitPrintf, 4 << 20, 4 << 20}, {cuda.LimitHeap, 16 << 20, 16 << 20},
		{cuda.LimitPendingLaunches, 4096, 4096}, {cuda.LimitL2Fetch, 1000, 128}, {cuda.LimitPersistingL2, 1 << 40, 32768000}, {cuda.LimitPersistingL2, 0, 0},
	} {
		if got, err := d.SetLimit(c.limit, c.set); got != c.want || err != nil {
			t.Errorf("limit %d: %d was made %d (%v), want %d", c.limit, c.set, got, err, c.want)
		}
		if got, err := d.Limit(c.limit); got != c.want || err != nil {
			t.Errorf("limit %d is %d (%v), want %d", c.limit, got, err, c.want)
		}
	}
	if n, err := cuda.Device(1).SetLimit(cuda.LimitSyncDepth, 4); n != 4 || err != nil {
		t.Errorf("depth %d (%v)", n, err)
	}
	_, err := d.SetLimit(cuda.LimitSyncDepth, 4)
	wantDriverError(t, err, 215, "cuCtxSetLimit")
	wantError(t, err, nil, "CUDA_ERROR_UNSUPPORTED_LIMIT", "for LimitSyncDepth of cuda:0: 4", "compute capability")
	_, err = d.SetLimit(cuda.LimitStack, -1)
	wantError(t, err, tvmffi.ErrValue, "LimitStack of cuda:0: -1 is negative")
	const names = "which is not one of LimitStack, LimitPrintf, LimitHeap, LimitSyncDepth, LimitPendingLaunches, LimitL2Fetch, LimitPersistingL2"
	for _, l := range []cuda.Limit{99, 7, -1} {
		_, err = d.Limit(l)
		wantDriverError(t, err, cuda.ErrInvalidValue, "cuCtxGetLimit")
		wantError(t, err, nil, fmt.Sprintf("Limit(%d) of cuda:0, ", int32(l))+names)
		_, err = d.SetLimit(l, 1)
		wantDriverError(t, err, cuda.ErrInvalidValue, "cuCtxSetLimit")
		wantError(t, err, nil, fmt.Sprintf("Limit(%d) of cuda:0, ", int32(l))+names)
	}
	if got := fmt.Sprint(cuda.LimitHeap, cuda.LimitPersistingL2, cuda.Limit(9)); got != "LimitHeap LimitPersistingL2 Limit(9)" {
		t.Error(got)
	}
	_, err = cuda.Device(9).Limit(cuda.LimitStack)
	wantError(t, err, tvmffi.ErrValue, "there is no device")
	_, err = cuda.Device(9).SetLimit(cuda.LimitStack, 1)
	wantError(t, err, tvmffi.ErrValue, "there is no device")
	f.failing("cuCtxGetLimit", int(cuda.ErrUnknown), 0)
	_, err = d.SetLimit(cuda.LimitStack, 1024)
	wantDriverError(t, err, cuda.ErrUnknown, "cuCtxGetLimit")
}

func TestProfiler(t *testing.T) {
	f := load(t)
	d := cuda.Device(1)
	ok(t, d.Synchronize())
	f.reset()
	ok(t, d.StartProfiler())
	ok(t, d.StopProfiler())
	for _, name := range []string{"cuProfilerStart", "cuProfilerStop"} {
		f.failing(name, int(cuda.ErrUnknown), 0)
	}
	wantDriverError(t, d.StartProfiler(), cuda.ErrUnknown, "cuProfilerStart")
	wantDriverError(t, d.StopProfiler(), cuda.ErrUnknown, "cuProfilerStop")
	if n := len(only(f.calls(), "cuProfilerStart")); n != 2 {
		t.Errorf("%d calls of cuProfilerStart, want 2", n)
	}
	wantError(t, cuda.Device(5).StartProfiler(), tvmffi.ErrValue, "there is no device")
}

func printUUIDs() error {
	for d := range cuda.Device(2) {
		p, err := d.Properties()
		if err != nil {
			return err
		}
		fmt.Println(p.UUID)
	}
	return nil
}

const uuid0, uuid1 = "GPU-00010203-0405-0607-0809-0a0b0c0d0e0f\n", "GPU-10111213-1415-1617-1819-1a1b1c1d1e1f\n"

// TestUUID has device 1 as an instance of a device that MIG splits, which has an identifier of its own for
// drivers since CUDA 11.4.
func TestUUID(t *testing.T) {
	f := load(t)
	library := "TVMFFI_CUDA_LIBRARY=" + os.Getenv("TVMFFI_CUDA_LIBRARY")
	for _, c := range []struct{ env, want string }{
		{"FAKECUDA_MIG=", uuid0 + uuid1},
		{"FAKECUDA_MIG=1", uuid0 + "MIG-90919293-9495-9697-9899-9a9b9c9d9e9f\n"},
	} {
		env := []string{library, c.env}
		if strings.HasSuffix(c.env, "=") {
			env = env[:1]
		}
		if got := child(t, "uuid", env...); got != c.want {
			t.Errorf("%s: %q, want %q", c.env, got, c.want)
		}
	}
	if got := child(t, "uuid", append(oldDriver(t), "FAKECUDA_MIG=1")...); got != uuid0+uuid1 {
		t.Errorf("an old driver: %q, want %q", got, uuid0+uuid1)
	}
	for _, name := range []string{"cuDeviceGetUuid", "cuDeviceGetUuid_v2"} {
		f.failing(name, int(cuda.ErrUnknown), 0)
		_, err := cuda.Device(0).Properties()
		wantDriverError(t, err, cuda.ErrUnknown, "cuDeviceGetUuid")
	}
}

// oldStreams uses a driver that lacks what came after CUDA 11.2, or after the version of the environment.
func oldStreams() error {
	const d = cuda.Device(0)
	m, err := d.Alloc(8)
	if err != nil {
		return err
	}
	_, e1 := d.SMs()
	sms, _ := d.SMs()
	g, e2 := d.NewGreenContext(sms)
	var e3 error
	if e2 == nil {
		_, e3 = g.NewStream()
	}
	e4 := cuda.WaitValue(m, 0, uint32(1), cuda.WaitEqual, nil)
	e5 := cuda.WriteValue(m, 0, uint32(1), nil)
	fmt.Println(e1, e2, e3, e4, e5)
	fmt.Printf("green contexts: %d\n", d.Live().GreenContexts)
	return nil
}

func TestOldDriverStreams(t *testing.T) {
	load(t)
	for _, c := range []struct {
		env  []string
		want []string
	}{
		{oldDriver(t), []string{
			"the driver (CUDA 11.2) has no such function, which came with CUDA 12.4: update the NVIDIA driver, in cuDeviceGetDevResource for the multiprocessors of cuda:0",
			"which came with CUDA 11.7: update the NVIDIA driver, in cuStreamWaitValue32 for the word of 4 bytes",
			"in cuStreamWriteValue32"}},
		{[]string{"FAKECUDA_VERSION=12040"}, []string{"which came with CUDA 12.5: update the NVIDIA driver, in cuGreenCtxStreamCreate for a stream in the green context on cuda:0", "green contexts: 1"}},
		{[]string{"FAKECUDA_VERSION=12030"}, []string{"the driver (CUDA 12.3) has no such function, which came with CUDA 12.4", "green contexts: 0"}},
	} {
		out := child(t, "old streams", append([]string{"TVMFFI_CUDA_LIBRARY=" + os.Getenv("TVMFFI_CUDA_LIBRARY")}, c.env...)...)
		for _, want := range c.want {
			if !strings.Contains(out, want) {
				t.Errorf("%s: %q does not say %q", c.env, out, want)
			}
		}
	}
}

// setFlags sets the flags of the primary context of a CUdevice as another library would.
func setFlags(t *testing.T, handle, flags uintptr) {
	t.Helper()
	if rc := callFake(t, "cuDevicePrimaryCtxSetFlags_v2", handle, flags); rc != 0 {
		t.Fatalf("the flags were not set: %d", rc)
	}
}

// callFake calls a function of the driver beside the package.
func callFake(t *testing.T, name string, args ...uintptr) int32 {
	t.Helper()
	h, err := dynlib.Open(os.Getenv("TVMFFI_CUDA_LIBRARY"))
	if err != nil {
		t.Fatal(err)
	}
	f, err := h.Symbol(name)
	if err != nil {
		t.Fatal(err)
	}
	rc, _, _ := purego.SyscallN(f, args...)
	return int32(rc)
}
