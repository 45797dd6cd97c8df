package cuda_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/gob"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tvmffi-go/tvmffi/cuda"
	"github.com/tvmffi-go/tvmffi/cuda/internal/fakecuda"
	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

const ipcDevice = cuda.Device(1)

// shared is what one process tells another: how to open its things, and where the files of the pool and of the physical
// memory are.
type shared struct {
	Memory         cuda.IPCMemory
	Event          cuda.IPCEvent
	Pooled         cuda.IPCPoolMemory
	Physical       int64
	Process        int
	PoolFD, PhysFD uintptr
}

func (s shared) text() string {
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(s); err != nil {
		panic(err)
	}
	return base64.StdEncoding.EncodeToString(b.Bytes())
}

func parseShared(text string) (s shared, err error) {
	b, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text))
	if err != nil {
		return s, err
	}
	return s, gob.NewDecoder(bytes.NewReader(b)).Decode(&s)
}

// exports is what a process shares.
type exports struct {
	shared
	closers
	st               *cuda.Stream
	memory, pooled   *cuda.Memory
	poolFile, phFile *os.File
}

// export makes memory, fills it by work that nobody waits for, and shares it with an event that is recorded behind it.
func export() (_ *exports, err error) {
	x := &exports{}
	defer func() {
		if err != nil {
			x.close(&err)
		}
	}()
	d := ipcDevice
	if x.st, err = d.NewStream(cuda.NonBlocking()); err != nil {
		return nil, err
	}
	x.add(x.st.Close)
	if x.memory, err = d.Alloc(4096); err != nil {
		return nil, err
	}
	x.add(x.memory.Free)
	pool, err := d.NewPool(cuda.PoolForFile())
	if err != nil {
		return nil, err
	}
	x.add(pool.Close)
	if x.pooled, err = pool.Alloc(64, x.st); err != nil {
		return nil, err
	}
	x.add(x.pooled.Free)
	physical, err := d.AllocPhysical(1, cuda.PhysicalForFile())
	if err != nil {
		return nil, err
	}
	x.add(physical.Close)
	a, err := d.Reserve(physical.Size())
	if err != nil {
		return nil, err
	}
	x.add(a.Close)
	event, err := d.NewEvent(cuda.Interprocess())
	if err != nil {
		return nil, err
	}
	x.add(event.Close)
	part, err := x.memory.Part(64, 128)
	if err != nil {
		return nil, err
	}
	var mapped *cuda.Memory
	for _, f := range []func() error{
		func() error { return a.Map(0, physical) },
		func() error { mapped, err = a.Memory(0, physical.Size()); return err },
		func() error { return cuda.Fill(x.memory, uint8(1), x.st) },
		func() error { return cuda.Fill(part, uint8(7), x.st) },
		func() error { return cuda.Fill(x.pooled, uint8(8), x.st) },
		func() error { return cuda.Fill(mapped, uint8(9), x.st) },
		func() error { return event.Record(x.st) },
		func() error { x.Memory, err = part.ShareIPC(); return err },
		func() error { x.Event, err = event.ShareIPC(); return err },
		func() error { x.Pooled, err = pool.ShareMemory(x.pooled); return err },
		func() error { x.poolFile, err = pool.File(); return err },
		func() error { x.add(x.poolFile.Close); x.phFile, err = physical.File(); return err },
	} {
		if err := f(); err != nil {
			return nil, err
		}
	}
	x.add(x.phFile.Close)
	x.Physical, x.Process, x.PoolFD, x.PhysFD = physical.Size(), os.Getpid(), x.poolFile.Fd(), x.phFile.Fd()
	return x, nil
}

// open opens what another process shares, looks at it when the event is done, and writes an answer.
func (s shared) open(poolFile, phFile *os.File, answer, pooledAnswer byte) (err error) {
	d := ipcDevice
	var c closers
	defer c.close(&err)
	st, err := d.NewStream(cuda.NonBlocking())
	if err != nil {
		return err
	}
	c.add(st.Close)
	event, err := d.OpenIPCEvent(s.Event)
	if err != nil {
		return err
	}
	c.add(event.Close)
	m, err := d.OpenIPC(s.Memory)
	if err != nil {
		return err
	}
	c.add(m.Free)
	again, err := d.OpenIPC(s.Memory)
	if err != nil {
		return err
	}
	c.add(again.Free)
	pool, err := d.OpenPool(poolFile)
	if err != nil {
		return err
	}
	c.add(pool.Close)
	pooled, err := pool.OpenMemory(s.Pooled)
	if err != nil {
		return err
	}
	c.add(pooled.Free)
	physical, err := d.OpenPhysical(phFile, s.Physical)
	if err != nil {
		return err
	}
	c.add(physical.Close)
	a, err := d.Reserve(s.Physical)
	if err != nil {
		return err
	}
	c.add(a.Close)
	if err := a.Map(0, physical); err != nil {
		return err
	}
	mapped, err := a.Memory(0, s.Physical)
	if err != nil {
		return err
	}
	if err := st.Wait(event); err != nil {
		return err
	}
	for _, want := range []struct {
		m    *cuda.Memory
		n    int64
		byte byte
	}{{m, 128, 7}, {again, 128, 7}, {pooled, 64, 8}, {mapped, s.Physical, 9}} {
		got := make([]byte, want.m.Size())
		if err := cuda.CopyOutAt(got, want.m, 0, st); err != nil {
			return err
		}
		if int64(len(got)) != want.n || slices.ContainsFunc(got, func(b byte) bool { return b != want.byte }) {
			return fmt.Errorf("%d bytes that begin with %v, want %d times %d", len(got), got[:4], want.n, want.byte)
		}
	}
	if _, err := pool.Alloc(8, st); err == nil || !strings.Contains(err.Error(), "is of another process: allocate there, and open the memory by OpenMemory") {
		return fmt.Errorf("Alloc of a pool of another process returns %v", err)
	}
	if err := cuda.CopyInAt(m, 100, []byte{answer}, st); err != nil {
		return err
	}
	if err := cuda.CopyInAt(pooled, 0, []byte{pooledAnswer}, st); err != nil {
		return err
	}
	return st.Synchronize()
}

// finish looks at what a child has left.
func finish() error {
	d, err := fakecuda.Open(os.Getenv("TVMFFI_CUDA_LIBRARY"))
	if err != nil {
		return err
	}
	if bad := d.Violations(); bad != "" {
		return fmt.Errorf("the work did what a device does not forgive: %s", bad)
	}
	if l := ipcDevice.Live(); l != (cuda.Live{}) || d.Live(fakecuda.Memory) != 0 {
		return fmt.Errorf("left are %+v, %d on the driver", l, d.Live(fakecuda.Memory))
	}
	return nil
}

func init() {
	children["ipc import"] = func() error {
		s, err := parseShared(os.Getenv("TVMFFI_TEST_SHARED"))
		if err != nil {
			return err
		}
		if err := s.open(os.NewFile(3, "pool"), os.NewFile(4, "physical"), 42, 43); err != nil {
			return err
		}
		tooLarge := s.Memory
		tooLarge.Size = 4096
		if _, err := ipcDevice.OpenIPC(tooLarge); err == nil || !strings.Contains(err.Error(), "shared memory of 4096 bytes at offset 64: the allocation of the other process has 4096 bytes") {
			return fmt.Errorf("memory that is too large: %v", err)
		}
		return finish()
	}
	// It shares until its input ends.
	children["ipc export"] = func() error {
		x, err := export()
		if err != nil {
			return err
		}
		fmt.Println(x.text())
		if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
			return err
		}
		x.close(&err)
		if err != nil {
			return err
		}
		return finish()
	}
	scenarios["memory of another process"] = func() error {
		s, err := exporter()
		if err != nil {
			return err
		}
		file := func(fd uintptr) (*os.File, error) {
			return os.OpenFile(fmt.Sprintf("/proc/%d/fd/%d", s.Process, fd), os.O_RDWR, 0)
		}
		pool, err := file(s.PoolFD)
		if err != nil {
			return err
		}
		defer pool.Close()
		physical, err := file(s.PhysFD)
		if err != nil {
			return err
		}
		defer physical.Close()
		return s.open(pool, physical, 7, 8)
	}
	scenarios["memory for another process"] = func() error {
		x, err := export()
		if err != nil {
			return err
		}
		err = x.st.Synchronize()
		x.close(&err)
		return err
	}
	destroying = append(destroying, "cuIpcCloseMemHandle", "cuMemRelease")
}

var exporterInput io.WriteCloser // it ends with this process

// exporter starts a process that shares until this one ends.
var exporter = sync.OnceValues(func() (s shared, err error) {
	exe, err := os.Executable()
	if err != nil {
		return s, err
	}
	cmd := nativetest.Command(context.Background(), exe)
	cmd.Env = append(os.Environ(), childName+"=ipc export")
	cmd.Stderr = os.Stderr
	if exporterInput, err = cmd.StdinPipe(); err != nil {
		return s, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return s, err
	}
	if err := cmd.Start(); err != nil {
		return s, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return s, err
	}
	return parseShared(line)
})

// TestIPC shares memory with another process, which answers in it.
func TestIPC(t *testing.T) {
	load(t)
	x, err := export()
	ok(t, err)
	if inherited(x.poolFile.Fd()) || inherited(x.phFile.Fd()) {
		t.Error("programs that this one starts get the files of the memory")
	}
	exe := must[string](t)(os.Executable())
	cmd := nativetest.Command(t.Context(), exe)
	cmd.Env = append(os.Environ(), childName+"=ipc import", "TVMFFI_TEST_SHARED="+x.text())
	cmd.ExtraFiles = []*os.File{x.poolFile, x.phFile}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("the other process: %v\n%s", err, out)
	}
	ok(t, x.st.Synchronize())
	want := slices.Repeat([]byte{1}, 4096)
	copy(want[64:192], slices.Repeat([]byte{7}, 128))
	want[164] = 42
	wantBytes(t, x.memory, x.st, want)
	want = slices.Repeat([]byte{8}, 64)
	want[0] = 43
	wantBytes(t, x.pooled, x.st, want)
	x.close(&err)
	ok(t, err)
}

func TestBadIPC(t *testing.T) {
	f := load(t)
	const d = ipcDevice
	m := onDevice(t, d, make([]byte, 64))
	own := must[cuda.IPCMemory](t)(m.ShareIPC())
	_, err := d.OpenIPC(own)
	wantDriverError(t, err, cuda.ErrInvalidContext, "cuIpcOpenMemHandle") // of the process that shared it
	wantError(t, err, nil, "this process must not have shared it")
	_, err = d.OpenIPC(cuda.IPCMemory{Size: 1})
	wantDriverError(t, err, cuda.ErrInvalidValue, "cuIpcOpenMemHandle")
	event := must[*cuda.Event](t)(d.NewEvent(cuda.Interprocess()))
	f.expectCall("cuEventCreate 6")
	plain := must[*cuda.Event](t)(d.NewEvent())
	_, err = d.OpenIPCEvent(must[cuda.IPCEvent](t)(event.ShareIPC()))
	wantDriverError(t, err, cuda.ErrInvalidContext, "cuIpcOpenEventHandle")
	wantError(t, err, nil, "this process must not have shared it")
	pool := must[*cuda.Pool](t)(d.NewPool(cuda.PoolForFile()))
	alone := must[*cuda.Pool](t)(d.NewPool())
	_, err = alone.File()
	wantDriverError(t, err, cuda.ErrInvalidValue, "cuMemPoolExportToShareableHandle")
	wantError(t, err, nil, "it must be made with cuda.PoolForFile()")
	pooled := must[*cuda.Memory](t)(pool.Alloc(16, nil))
	_, err = pooled.ShareIPC()
	wantDriverError(t, err, cuda.ErrInvalidValue, "cuIpcGetMemHandle") // memory of pools goes another way
	wantError(t, err, nil, "memory of 16 bytes on cuda:1: it must be of Device.Alloc; Pool.ShareMemory shares")
	_, err = pool.ShareMemory(m)
	wantDriverError(t, err, cuda.ErrInvalidValue, "cuMemPoolExportPointer")
	managed := must[*cuda.Memory](t)(d.AllocManaged(8))
	text, err := os.Open(os.DevNull)
	ok(t, err)
	_, err = d.OpenPool(text)
	wantDriverError(t, err, cuda.ErrInvalidValue, "cuMemPoolImportFromShareableHandle")
	ok(t, text.Close())
	freed := must[*cuda.Memory](t)(d.Alloc(8))
	ok(t, freed.Free())
	empty := must[*cuda.Memory](t)(d.Alloc(0))
	f.calls()
	refused := func(err error, texts ...string) { t.Helper(); wantError(t, err, tvmffi.ErrValue, texts...) }
	share := func(m *cuda.Memory) error { _, err := m.ShareIPC(); return err }
	refused(share(managed), "managed memory")
	refused(share(freed), "was freed")
	refused(share(nil), "nil")
	refused(share(empty), "0 bytes")
	_, err = d.OpenIPC(cuda.IPCMemory{Offset: -1, Size: 4})
	refused(err, "there is no such range")
	_, err = plain.ShareIPC()
	refused(err, "cuda.Interprocess()")
	_, err = d.NewEvent(cuda.Interprocess(), cuda.Timing())
	refused(err, "cannot be combined")
	_, err = d.OpenPool(nil)
	refused(err, "nil")
	_, err = pool.OpenMemory(cuda.IPCPoolMemory{Size: 8})
	refused(err, "is of this process")
	_, err = pool.ShareMemory(must[*cuda.Memory](t)(pooled.Part(0, 8)))
	refused(err, "share an allocation as a whole")
	_, err = d.OpenPhysical(nil, 8)
	refused(err, "the file is nil")
	f.expect() // nothing of this reached the driver
	_, err = d.OpenPool(text)
	refused(err, os.DevNull) // it is closed
	for _, c := range []func() error{pooled.Free, managed.Free, event.Close, plain.Close, pool.Close, alone.Close} {
		ok(t, c())
	}
	_, err = pool.File()
	wantError(t, err, tvmffi.ErrValue, "is closed")
	_, err = event.ShareIPC()
	wantError(t, err, tvmffi.ErrValue, "is closed")
}
