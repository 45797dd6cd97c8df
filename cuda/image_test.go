package cuda_test

import (
	"encoding/binary"
	"errors"
	"slices"
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

func TestBrokenImages(t *testing.T) {
	f := load(t)
	elf := smallCubin()
	whole := must[*cuda.Module](t)(cuda.Device(0).LoadModule(elf))
	ok(t, whole.Close())
	host := slices.Clone(elf)
	host[18] = 62
	far := slices.Clone(elf)
	far[128+24], far[128+32] = 200, 100
	fat := fatbin(fatImage{kind: fatCubin, arch: 90, data: elf})
	fatbin := must[*cuda.Module](t)(cuda.Device(0).LoadModule(fat))
	ok(t, fatbin.Close())
	f.calls()
	for name, c := range map[string]struct {
		image []byte
		says  string
	}{
		"nil":        {nil, "empty"},
		"short ELF":  {elf[:40], "an ELF file and not a cubin"},
		"host ELF":   {host, "an ELF file and not a cubin"},
		"cut ELF":    {elf[:200], "cut off"},
		"far":        {far, "cut off"},
		"cut fatbin": {fat[:len(fat)-1], "cut off"},
		"wrapper":    {[]byte("\xb1\x43\x62\x46rest"), "pass the fatbin itself"},
		"text":       {[]byte("hello"), "neither"},
		"binary":     {[]byte(".version\x00more"), "neither"},
	} {
		_, err := cuda.Device(0).LoadModule(c.image)
		wantDriverError(t, err, cuda.ErrInvalidImage, "cuModuleLoadDataEx")
		if err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %q does not say %q", name, err, c.says)
		}
	}
	f.expect() // none of them reached the driver
	_, err := cuda.Device(0).LoadModule([]byte(".version 8.0\n syntax_error"))
	wantDriverError(t, err, cuda.ErrInvalidPTX, "cuModuleLoadDataEx")
	var e *cuda.Error
	if !errors.As(err, &e) || !strings.Contains(e.Log, "line 2") || !strings.HasSuffix(err.Error(), e.Log) {
		t.Errorf("%q has no log", err)
	}
}

// TestCutImages loads each beginning of a cubin and a fatbin, and images with each byte of the header changed: what
// the driver would read beyond its end never reaches it.
func TestCutImages(t *testing.T) {
	f := load(t)
	elf := smallCubin()
	fat := fatbin(fatImage{kind: fatCubin, arch: 90, data: elf})
	for name, image := range map[string][]byte{"cubin": elf, "fatbin": fat} {
		for n := range len(image) {
			_, err := cuda.Device(0).LoadModule(image[:n:n])
			wantDriverError(t, err, cuda.ErrInvalidImage, "cuModuleLoadDataEx")
		}
		f.expect()
		for at := range image {
			for _, b := range []byte{0, 1, 0x7f, 0x80, 0xff} {
				changed := slices.Clone(image)
				changed[at] = b
				m, err := cuda.Device(0).LoadModule(changed)
				if err == nil {
					err = m.Close()
				}
				var e *cuda.Error
				if err != nil && !errors.As(err, &e) {
					t.Errorf("%s with %#x at %d: %v", name, b, at, err)
				}
			}
		}
		f.reset()
	}
}

// The kinds of images in a fatbin.
const (
	fatPTX   = 1
	fatCubin = 2
)

// fatImage is an image in a fatbin.
type fatImage struct {
	kind uint16
	arch uint32
	data []byte
}

// fatbin assembles a fatbin, as fatbinary with --compress=false does.
func fatbin(images ...fatImage) []byte {
	le := binary.LittleEndian
	data := make([]byte, 16)
	copy(data, "\x50\xed\x55\xba\x01\x00\x10\x00")
	for _, im := range images {
		entry := make([]byte, 64)
		size := (len(im.data) + 7) / 8 * 8
		le.PutUint16(entry, im.kind)
		le.PutUint16(entry[2:], 0x101)
		le.PutUint32(entry[4:], uint32(len(entry)))
		le.PutUint64(entry[8:], uint64(size))
		le.PutUint32(entry[28:], im.arch)
		le.PutUint64(entry[40:], 0x11)
		data = append(append(data, entry...), im.data...)
		data = append(data, make([]byte, size-len(im.data))...)
	}
	le.PutUint64(data[8:], uint64(len(data)-16))
	return data
}

// smallCubin is an ELF file with the header of a cubin and two sections without names.
func smallCubin() []byte {
	elf := make([]byte, 256)
	copy(elf, "\x7fELF\x02\x01\x01")
	elf[18] = 190
	elf[40], elf[58], elf[60] = 128, 64, 2 // two sections of 64 bytes at 128
	return elf
}

// TestFatbin_broken has fatbins of which the driver would read what is behind their end.
func TestFatbin_broken(t *testing.T) {
	f := load(t)
	code, text := fatImage{fatCubin, 90, smallCubin()}, fatImage{fatPTX, 70, []byte(ptx)}
	whole := fatbin(text, code)
	m := must[*cuda.Module](t)(cuda.Device(0).LoadModule(whole))
	ok(t, m.Close())
	f.calls()
	second := 16 + 64 + (len(ptx)+7)/8*8
	change := func(at int, value uint64) []byte {
		data := slices.Clone(whole)
		binary.LittleEndian.PutUint64(data[at:], value)
		return data
	}
	short := slices.Clone(whole[:second+32])
	binary.LittleEndian.PutUint64(short[8:], uint64(len(short)-16))
	cut := code
	cut.data = cut.data[:len(cut.data)-16]
	for name, image := range map[string][]byte{
		"a size beyond the end":       change(16+8, uint64(len(whole))),
		"a huge size":                 change(second+8, 1<<64-1),
		"a header beyond the end":     change(second, 1<<62|fatCubin),
		"a header of no bytes":        change(second, fatCubin),
		"a tail without an image":     short,
		"a cubin that was cut off":    fatbin(cut),
		"a cubin that is not one":     fatbin(fatImage{kind: fatCubin, arch: 90, data: []byte("text of 16 bytes")}),
		"a header of the fatbin of 8": change(0, 0x0008_0001_ba55_ed50),
	} {
		_, err := cuda.Device(0).LoadModule(image)
		var e *cuda.Error
		if !errors.As(err, &e) || e.Number != int(cuda.ErrInvalidImage) || !strings.Contains(err.Error(), "the image is a fatbin that was cut off") {
			t.Errorf("%s: %v", name, err)
		}
	}
	f.expect() // none of them reached the driver
}

// TestImageCloseFails closes an image where a module cannot be unloaded: the next use loads another one, and a later
// Close unloads both.
func TestImageCloseFails(t *testing.T) {
	f := load(t)
	const d = cuda.Device(0)
	retain(t, f)
	st := closes[*cuda.Stream](t)(d.NewStream(cuda.Blocking()))
	im := cuda.NewImage([]byte(ptx))
	k := must[*cuda.Kernel](t)(im.Kernel(d, "nothing"))
	graph, err := st.Capture(func() error {
		wantError(t, im.Close(), tvmffi.ErrValue, "Close of a module inside Capture")
		return nil
	})
	ok(t, errors.Join(err, graph.Close()))
	if again := must[*cuda.Kernel](t)(im.Kernel(d, "nothing")); again == k || d.Live().Modules != 2 {
		t.Errorf("the image is loaded %d times, want 2", d.Live().Modules)
	}
	f.failing("cuCtxSynchronize", int(cuda.ErrUnknown), 0)
	wantError(t, im.Close(), cuda.ErrUnknown)
	ok(t, im.Close())
	if n := d.Live().Modules; n != 0 {
		t.Errorf("%d modules are left", n)
	}
}

// TestReusedOptions changes a slice that the program has given to an image.
func TestReusedOptions(t *testing.T) {
	load(t)
	options := []cuda.ModuleOption{cuda.MaxRegisters(32)}
	images := []*cuda.Image{
		cuda.NewImage([]byte(ptx), options...),
		must[*cuda.Image](t)(cuda.ImageFS(fstest.MapFS{"a.ptx": {Data: []byte(ptx)}}, "*.ptx", options...)),
	}
	options[0] = nil
	for _, im := range images {
		must[*cuda.Module](t)(im.Module(0))
		ok(t, im.Close())
	}
}
