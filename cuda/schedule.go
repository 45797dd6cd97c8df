package cuda

import (
	"unsafe"

	"github.com/tvmffi-go/tvmffi/cuda/internal/driver"
)

// Schedule says what a thread does while it waits for a device, in
// [Stream.Synchronize], [Event.Synchronize] and [Device.Synchronize].
type Schedule int32

// The ways to wait.
const (
	// ScheduleAuto is the default: the driver spins, or yields if the process has more
	// contexts than the machine has processors.
	ScheduleAuto Schedule = 0
	// ScheduleSpin asks again and again. It answers soonest and costs a core.
	ScheduleSpin Schedule = 1
	// ScheduleYield lets other threads run between two questions.
	ScheduleYield Schedule = 2
	// ScheduleBlock sleeps until the device interrupts. It costs no core and some
	// microseconds of delay.
	ScheduleBlock Schedule = 4

	scheduleMask = 7
)

// syncPolicies are the CUsynchronizationPolicy of streams.
var syncPolicies = map[Schedule]uint32{ScheduleAuto: 1, ScheduleSpin: 2, ScheduleYield: 3, ScheduleBlock: 4}

func (s Schedule) check() error {
	if _, ok := syncPolicies[s]; !ok {
		return valueError("the schedule is %d: it must be ScheduleAuto, ScheduleSpin, ScheduleYield or ScheduleBlock", int32(s))
	}
	return nil
}

// SetSchedule says how threads wait for the device. It is a flag of the primary context,
// so it holds for the whole process, for other libraries too. It neither makes the
// context nor needs it: call it before anything uses the device. Drivers of CUDA 11 and
// later also change it while the context is active. A driver that does not returns
// CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE. [Stream.SetSchedule] changes one stream.
func (d Device) SetSchedule(schedule Schedule) error {
	s, err := stateOf(d)
	if err != nil {
		return err
	}
	if err := schedule.check(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	flags, _, err := s.primary()
	if err != nil {
		return err
	}
	// The driver replaces all flags: those of others stay.
	flags = flags&^scheduleMask | uint32(schedule)
	return failed(driver.Call(driver.DevicePrimaryCtxSetFlags, s.handle, uintptr(flags)), driver.DevicePrimaryCtxSetFlags, d.String())
}

// Schedule returns how threads wait for the device, and whether its primary context is
// active, that is, used by this package or another library. It does not make it.
func (d Device) Schedule() (schedule Schedule, active bool, err error) {
	s, err := stateOf(d)
	if err != nil {
		return 0, false, err
	}
	flags, active, err := s.primary()
	return Schedule(flags & scheduleMask), active, err
}

// primary reads the flags of the primary context, which need not be active.
func (s *state) primary() (flags uint32, active bool, err error) {
	out := new([2]uint32)
	rc := driver.Call(driver.DevicePrimaryCtxGetState, s.handle, uintptr(unsafe.Pointer(&out[0])), uintptr(unsafe.Pointer(&out[1])))
	return out[0], out[1] != 0, failed(rc, driver.DevicePrimaryCtxGetState, s.device.String())
}

// SetSchedule says how Synchronize of the stream waits, whatever the schedule of the
// device is.
func (st *Stream) SetSchedule(schedule Schedule) error {
	if err := schedule.check(); err != nil {
		return err
	}
	v := new(attributeValue)
	v.words()[0] = syncPolicies[schedule]
	return st.setAttribute(attributeSyncPolicy, v)
}

// Schedule returns how Synchronize of the stream waits. ScheduleAuto is the schedule of
// the device.
func (st *Stream) Schedule() (Schedule, error) {
	v, err := st.attribute(attributeSyncPolicy)
	if err != nil {
		return 0, err
	}
	for schedule, policy := range syncPolicies {
		if policy == v.words()[0] {
			return schedule, nil
		}
	}
	return ScheduleAuto, nil
}
