//go:build gpupack && linux

package main

import (
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/tvmffi-go/tvmffi/bench/gpupack"
	"github.com/tvmffi-go/tvmffi/internal/testkit/consumer"
	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
)

// emptyRoot returns a command that runs in dir as its whole file system, which a user without rights does in a
// namespace.
func emptyRoot(t *testing.T, dir string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: dir}
	cmd.Dir, cmd.Env = "/", []string{"PATH=/bin"}
	cmd.Stdin = strings.NewReader("") // it has no /dev/null
	if os.Getuid() != 0 {
		cmd.SysProcAttr.Cloneflags = syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	return cmd
}

// ran runs a command and returns its status and what it printed.
func ran(t *testing.T, cmd *exec.Cmd) (status int, text string) {
	t.Helper()
	out, err := cmd.CombinedOutput()
	var e *exec.ExitError
	if errors.Is(err, syscall.EPERM) {
		t.Skipf("this user cannot make a user namespace: %v", err)
	}
	if err != nil && !errors.As(err, &e) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

// TestGPUPack makes a pack and runs it on the fake driver: in a file system that has nothing else, and on this machine.
// What only a GPU can show, the figures and the examples whose kernels go through the CUDA runtime, it does not show.
func TestGPUPack(t *testing.T) {
	consumer.Watch(t)
	t.Chdir("..")
	bench, err := newTree(t.Context())
	if err != nil {
		nativetest.Unavailable(t, err)
	}
	root := t.TempDir()
	dir := filepath.Join(root, "pack")
	if err := bench.pack(t.Context(), dir, "", false); err != nil {
		t.Fatal(err)
	}
	t.Run("files", func(t *testing.T) { packedFiles(t, dir) })
	for where, command := range map[string]func(args ...string) *exec.Cmd{
		"in an empty root": func(args ...string) *exec.Cmd { return emptyRoot(t, root, append([]string{"/pack/run"}, args...)...) },
		"on this machine": func(args ...string) *exec.Cmd {
			cmd := exec.CommandContext(t.Context(), filepath.Join(dir, gpupack.RunName), args...)
			cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, gpupack.DriverVariable) })
			return cmd
		},
	} {
		t.Run(where, func(t *testing.T) {
			status, text := ran(t, command("-with-fake"))
			// Without /proc the fake driver shares no memory with another process.
			want, without := 6, "TestOtherProcess: the fake driver shares memory by /proc, which is not here"
			if where == "in an empty root" {
				want = 5
			}
			if status != 0 || !strings.Contains(text, fmt.Sprintf("PASSED: all %d parts", want)) || strings.Count(text, "PASSED in ") != want {
				t.Errorf("status %d\n%s", status, text)
			}
			if lacking := strings.Contains(text, without); lacking != (want == 5) || strings.Count(text, "not supported by this device") != 6-want {
				t.Errorf("what the device lacks: %t\n%s", lacking, text)
			}
			if own := strings.Contains(text, "libraries of the pack, because"); own != (where == "in an empty root") {
				t.Errorf("libraries of the pack: %t\n%s", own, text)
			}
		})
	}
	t.Run("planted", func(t *testing.T) {
		if status, text := ran(t, emptyRoot(t, root, "/pack/run")); status != 2 || !strings.Contains(text, "this machine has no GPU that CUDA can use") {
			t.Errorf("without a driver: status %d\n%s", status, text)
		}
		one := emptyRoot(t, root, "/pack/run", "-with-fake")
		one.Env = append(one.Env, "FAKECUDA_DEVICES=1")
		if status, text := ran(t, one); status != 0 || !strings.Contains(text, "NOT RUN: it needs 2 devices, this machine has 1.") {
			t.Errorf("one device: status %d\n%s", status, text)
		}
		broken := emptyRoot(t, root, "/pack/run", "-with-fake")
		broken.Env = append(broken.Env, "FAKECUDA_INIT=100")
		if status, text := ran(t, broken); status != 2 || !strings.Contains(text, "CUDA_ERROR_NO_DEVICE") {
			t.Errorf("a driver without a device: status %d\n%s", status, text)
		}
		older := emptyRoot(t, root, "/pack/run", "-with-fake")
		older.Env = append(older.Env, "FAKECUDA_VERSION=12020")
		if status, text := ran(t, older); status != 0 || !strings.Contains(text, "TestConditionalNodes/cuda:0,_while: conditional nodes: CUDA Error: the driver (CUDA 12.2) has no such function") {
			t.Errorf("an older driver: status %d\n%s", status, text)
		}
		program := filepath.Join(dir, "bin", "gputest")
		if err := os.Chmod(program, 0o644); err != nil {
			t.Fatal(err)
		}
		if status, text := ran(t, emptyRoot(t, root, "/pack/run", "-with-fake")); status != 2 || !strings.Contains(text, "bin/gputest may not be executed") {
			t.Errorf("a program without its mode: status %d\n%s", status, text)
		}
		if err := os.Chmod(program, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(filepath.Join(dir, "images", "cuda12", "gpu.sm_90.cubin")); err != nil {
			t.Fatal(err)
		}
		if status, text := ran(t, emptyRoot(t, root, "/pack/run", "-with-fake")); status != 2 || !strings.Contains(text, "images/cuda12/gpu.sm_90.cubin is missing") {
			t.Errorf("a missing file: status %d\n%s", status, text)
		}
	})
}

// packedFiles compares the files of a pack with what a machine with a driver alone needs.
func packedFiles(t *testing.T, dir string) {
	t.Helper()
	want := []string{"bin/bench", "bin/cpp", "bin/gputest", "bin/launch.ptx", "bin/launch.py", "bin/ours", "bin/report", "bin/saxpy", "README.md",
		gpupack.FakeName, gpupack.LibraryName, gpupack.ManifestName, gpupack.RunName}
	for _, name := range cLibraryNames {
		want = append(want, "libc/"+name)
	}
	for _, w := range nvrtcWheels {
		dir := gpupack.ImagesFor(1000*w.major) + "/"
		for _, name := range []string{"gpu"} {
			for _, arch := range w.architectures {
				want = append(want, dir+name+"."+arch+".cubin")
			}
			want = append(want, dir+name+".compute_75.ptx")
		}
	}
	var got []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		// NVRTC may know more architectures.
		if !strings.HasPrefix(name, "images/") || slices.Contains(want, name) {
			got = append(got, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("the pack has\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	program, err := elf.Open(filepath.Join(dir, gpupack.RunName))
	if err != nil {
		t.Fatal(err)
	}
	defer program.Close()
	for _, p := range program.Progs {
		if p.Type == elf.PT_INTERP {
			t.Error("the program run is not linked statically")
		}
	}
}
