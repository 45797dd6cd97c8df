package cuda

import (
	"errors"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/cuda/internal/driver"
)

// reaches reports whether kernels on the device may use memory of another one whose
// origin is not known: such as that of a tensor. The program must know which pool
// it is from.
func (s *state) reaches(d Device) bool { return s.peers.memory.has(d) || s.peers.pools.has(d) }

// forgetPeers forgets the access that ends with the context of the device, and what it
// knows of pools for tensors; the default pool and its access stay.
func (s *state) forgetPeers() {
	states, _ := start()
	for _, o := range states {
		for _, a := range []*access{&o.peers.memory, &o.peers.pools} {
			if o == s {
				a.bits.Store(0)
			} else if s.device < 64 {
				a.bits.And(^(1 << uint(s.device)))
			}
		}
	}
}

// CanAccessPeer reports whether kernels on d can use memory of the other device.
func (d Device) CanAccessPeer(other Device) (bool, error) {
	s, err := stateOf(d)
	if err != nil {
		return false, err
	}
	o, err := stateOf(other)
	if err != nil {
		return false, err
	}
	v := new(int32)
	if rc := driver.Call(driver.DeviceCanAccessPeer, uintptr(unsafe.Pointer(v)), s.handle, o.handle); rc != 0 {
		return false, failed(rc, driver.DeviceCanAccessPeer, d.String()+" and "+other.String())
	}
	return *v != 0, nil
}

// EnablePeerAccess lets kernels on d use memory of the other device, also memory that was
// allocated earlier, and launches on d accept it from then on. Memory of pools, and so that of
// AllocAsync, needs [Pool.AllowAccess] instead. A second call does nothing.
func (d Device) EnablePeerAccess(other Device) (err error) {
	s, err := stateOf(d)
	if err != nil {
		return err
	}
	o, err := stateOf(other)
	if err != nil {
		return err
	}
	if err := outside("EnablePeerAccess", "enable it before"); err != nil {
		return err
	}
	context, err := o.acquire()
	if err != nil {
		return err
	}
	defer o.users.Add(-1)
	err = s.do(driver.CtxEnablePeerAccess, context, 0)
	if err == nil || errors.Is(err, errPeerAccessAlreadyGiven) {
		s.peers.memory.allow(other)
		return nil
	}
	return about(err, "%s and %s", d, other)
}
