package cuda_test

import (
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/tvmffi-go/tvmffi/cuda"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

func TestParseArch(t *testing.T) {
	for text, want := range map[string]cuda.Arch{
		"8.9": {Major: 8, Minor: 9}, "89": {Major: 8, Minor: 9}, "90a": {Major: 9, Suffix: 'a'}, "sm_90a": {Major: 9, Suffix: 'a'},
		"compute_70": {Major: 7}, "sm_100f": {Major: 10, Suffix: 'f'}, "12.1": {Major: 12, Minor: 1}, "sm_120": {Major: 12},
	} {
		if got, err := cuda.ParseArch(text); err != nil || got != want {
			t.Errorf("%s: %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "9", "sm_", "sm_9", "sm_90b", "sm-90", "90aa", "9.0.1", " 90", "sm_99999"} {
		if got, err := cuda.ParseArch(text); err == nil {
			t.Errorf("%q is %v", text, got)
		}
	}
	if s := (cuda.Arch{Major: 9, Suffix: 'a'}).String() + (cuda.Arch{Major: 12, Minor: 1}).String(); s != "sm_90asm_121" {
		t.Errorf("the architectures are written %s, want sm_90a and sm_121", s)
	}
}

// choice finds out which of the files is loaded: each has a kernel with its name.
func choice(t *testing.T, d cuda.Device, names ...string) (string, error) {
	t.Helper()
	files := fstest.MapFS{}
	for i, name := range names {
		kernel := string(rune('a' + i))
		files["kernels/"+name] = &fstest.MapFile{Data: []byte(".version 8.0\n.visible .entry " + kernel + "() { ret; }")}
	}
	im := closes[*cuda.Image](t)(cuda.ImageFS(files, "kernels/*"))
	if _, err := im.Module(d); err != nil {
		return "", err
	}
	for i, name := range names {
		if _, err := im.Kernel(d, string(rune('a'+i))); err == nil {
			return name, nil
		}
	}
	t.Fatal("nothing is loaded")
	return "", nil
}

func TestImageChoice(t *testing.T) {
	load(t)
	for _, c := range []struct {
		device cuda.Device // 0: sm_90, 1: sm_75
		files  string
		want   string
	}{
		{0, "k.sm_80.cubin k.sm_90.cubin k.sm_90a.cubin", "k.sm_90a.cubin"},
		{1, "k.sm_70.cubin k.sm_75.cubin k.sm_90a.cubin", "k.sm_75.cubin"},
		{1, "k.sm_70.cubin k.sm_80.cubin k.ptx", "k.sm_70.cubin"},
		{0, "k.sm_80.cubin k.fatbin k.ptx", "k.fatbin"},
		{0, "k.sm_80.cubin k.compute_70.ptx k.compute_80.ptx k.compute_100.ptx k.ptx", "k.compute_80.ptx"},
		{1, "k.compute_75.ptx k.compute_90a.ptx", "k.compute_75.ptx"},
		{0, "k.sm_90f.cubin k.sm_90.cubin", "k.sm_90f.cubin"},
		{1, "k.sm_80.cubin k.ptx", "k.ptx"},
	} {
		if got, err := choice(t, c.device, strings.Fields(c.files)...); err != nil || got != c.want {
			t.Errorf("%s of %s: %s, %v, want %s", c.device, c.files, got, err, c.want)
		}
	}
	_, err := choice(t, 1, "k.sm_80.cubin", "k.sm_90a.cubin", "k.compute_80.ptx")
	wantDriverError(t, err, cuda.ErrNoBinaryForGPU, "cuModuleLoadDataEx")
	wantError(t, err, nil, "no code for sm_75, there is kernels/k.compute_80.ptx, kernels/k.sm_80.cubin")
	_, err = cuda.ImageFS(fstest.MapFS{"k.cubin": {}}, "*")
	wantError(t, err, tvmffi.ErrValue, "k.cubin", "k.sm_90.cubin")
	_, err = cuda.ImageFS(fstest.MapFS{}, "*")
	wantError(t, err, tvmffi.ErrValue, "no file matches")
	_, err = cuda.ImageFS(fstest.MapFS{}, "[")
	wantError(t, err, tvmffi.ErrValue, "pattern")
}

func TestImageOnce(t *testing.T) {
	f := load(t)
	im := cuda.NewImage([]byte(ptx))
	var wg sync.WaitGroup
	kernels := make([]*cuda.Kernel, 16)
	for i := range kernels {
		wg.Go(func() {
			k, err := im.Kernel(cuda.Device(i%2), "nothing")
			if err != nil {
				t.Error(err)
			}
			kernels[i] = k
		})
	}
	wg.Wait()
	if n := len(only(f.calls(), "cuModuleLoadDataEx")); n != 2 {
		t.Errorf("loaded %d times", n)
	}
	for i, k := range kernels {
		if k != kernels[i%2] || k.Device() != cuda.Device(i%2) {
			t.Errorf("kernel %d is another one", i)
		}
	}
	if _, err := im.Kernel(0, "no_such"); err == nil {
		t.Error("no error for a missing kernel")
	}
	ok(t, im.Close())
	if _, err := im.Kernel(1, "nothing"); err != nil {
		t.Errorf("after Close: %v", err)
	}
	ok(t, im.Close())
	broken := cuda.NewImage(nil)
	_, err := broken.Kernel(0, "nothing")
	wantDriverError(t, err, cuda.ErrInvalidImage, "cuModuleLoadDataEx")
}

func TestKindOf(t *testing.T) {
	for image, want := range map[string]cuda.ImageKind{
		"": cuda.ImageUnknown, "x": cuda.ImageUnknown, ptx: cuda.ImagePTX, ptx + "\x00": cuda.ImagePTX, ".version\x00more": cuda.ImageUnknown,
		"\x7fELF" + strings.Repeat("\x00", 14) + "\xbe\x00": cuda.ImageCubin, "\x7fELF" + strings.Repeat("\x00", 14) + "\x3e\x00": cuda.ImageUnknown, "\x7fELF": cuda.ImageUnknown,
		"\x50\xed\x55\xba": cuda.ImageFatbin, "\xed\x43\x4e\x7f": cuda.ImageLTOIR,
	} {
		if got := cuda.KindOf([]byte(image)); got != want {
			t.Errorf("%.10q is %s, want %s", image, got, want)
		}
	}
	if s := cuda.ImageKind(99).String(); s != "code of an unknown form" {
		t.Error(s)
	}
}

// TestLTOIR is refused before the driver sees it.
func TestLTOIR(t *testing.T) {
	load(t)
	_, err := cuda.Device(0).LoadModule([]byte("\xed\x43\x4e\x7f" + strings.Repeat("x", 100)))
	wantDriverError(t, err, cuda.ErrInvalidImage, "cuModuleLoadDataEx")
	wantError(t, err, nil, "the image is LTO IR, which the driver does not load: compile it without -dlto, or link it first")
}
