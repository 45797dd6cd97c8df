package cuda_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/ebitengine/purego"

	"github.com/tvmffi-go/tvmffi/cuda"
	"github.com/tvmffi-go/tvmffi/internal/dynlib"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

const (
	callerPTX = ".version 8.0\n.target sm_70\n.address_size 64\n.extern .func (.param .b32 r) twice(.param .b32 a);\n.visible .entry caller(.param .u64 x, .param .u32 n) { ret; }\n"
	calleePTX = ".version 8.0\n.target sm_70\n.address_size 64\n.visible .func (.param .b32 r) twice(.param .b32 a) { ret; }\n"
)

// links counts the links of the fake that are not destroyed.
func (f *fake) links() int {
	f.t.Helper()
	h := must[dynlib.Handle](f.t)(dynlib.Open(fakeFile()))
	count := must[uintptr](f.t)(h.Symbol("fakecuda_links"))
	n, _, _ := purego.SyscallN(count)
	return int(n)
}

// TestLink links two units of PTX by the linker in the driver. That the machine code is right
// only a GPU can show: the fake takes over the kernels, and knows which functions are missing.
func TestLink(t *testing.T) {
	f := load(t)
	before := f.links()
	for d := range cuda.Device(2) {
		cubin := must[[]byte](t)(d.Link([]cuda.LinkInput{{Data: []byte(callerPTX)}, {Name: "b.ptx", Data: []byte(calleePTX + "\x00\x00")}}, cuda.MaxRegisters(32)))
		if cuda.KindOf(cubin) != cuda.ImageCubin {
			t.Errorf("%s: the result is %s", d, cuda.KindOf(cubin))
		}
		m := must[*cuda.Module](t)(d.LoadModule(cubin))
		kernel(t, m, "caller")
		// What was linked can be linked again.
		again := must[[]byte](t)(d.Link([]cuda.LinkInput{{Kind: cuda.ImageCubin, Data: cubin}, {Data: []byte(ptx)}}))
		n := must[*cuda.Module](t)(d.LoadModule(again))
		kernel(t, n, "caller")
		kernel(t, n, "saxpy")
		ok(t, m.Close())
		ok(t, n.Close())
	}
	ok(t, cuda.WithDevice(0, func() error {
		f.reset()
		_, err := cuda.Device(1).Link([]cuda.LinkInput{{Data: []byte(calleePTX)}})
		f.expect("cuCtxGetCurrent", "cuCtxSetCurrent 1", "cuLinkCreate_v2 4", "cuLinkAddData_v2 1 "+strconv.Itoa(len(calleePTX)+1)+" input 0 0", "cuLinkComplete", "cuLinkDestroy", "cuCtxSetCurrent 0")
		return err
	}))
	if n := f.links() - before; n != 0 {
		t.Errorf("%d links are left", n)
	}
}

// TestLink_errors has wrong inputs, inputs that cannot be linked, and each call failing: nothing is left.
func TestLink_errors(t *testing.T) {
	f := load(t)
	const d = cuda.Device(1)
	before := f.links()
	lto := "\xed\x43\x4e\x7f" + strings.Repeat("x", 100)
	for _, c := range []struct {
		inputs []cuda.LinkInput
		kind   error
		says   string
	}{
		{nil, tvmffi.ErrValue, "link for cuda:1: there are no inputs"},
		{[]cuda.LinkInput{{}}, tvmffi.ErrValue, "link: input 0 is empty"},
		{[]cuda.LinkInput{{Data: []byte("text")}}, tvmffi.ErrValue, "input 0 is code of an unknown form: pass PTX"},
		{[]cuda.LinkInput{{Data: []byte(ptx)}, {Name: "b", Kind: cuda.ImageCubin, Data: []byte(ptx)}}, tvmffi.ErrValue, "b is a cubin, and its bytes are PTX"},
		{[]cuda.LinkInput{{Name: "a\x00", Data: []byte(ptx)}}, tvmffi.ErrValue, "NUL byte"},
		{[]cuda.LinkInput{{Name: "b.lto", Data: []byte(lto)}}, tvmffi.ErrValue, "b.lto is LTO IR, which the driver does not link: use package nvjitlink, or compile it without -dlto"},
		{[]cuda.LinkInput{{Data: []byte(callerPTX)}}, cuda.ErrInvalidImage, "Undefined reference to 'twice'"},
		{[]cuda.LinkInput{{Data: []byte(calleePTX)}, {Data: []byte(ptx)}, {Data: []byte(ptx)}}, cuda.ErrInvalidImage, "for a link on cuda:1\nerror   : Multiple definition of '"},
		{[]cuda.LinkInput{{Name: "b.ptx", Data: []byte(".version 8.0\nsyntax_error")}}, cuda.ErrInvalidPTX, "for b.ptx\nptxas application ptx input, line 2"},
		{[]cuda.LinkInput{{Data: []byte(strings.ReplaceAll(ptx, ".version 8.0", ".version 9.5"))}}, cuda.ErrUnsupportedPTX, "update the driver"},
	} {
		_, err := d.Link(c.inputs)
		wantError(t, err, c.kind, c.says)
	}
	for _, name := range []string{"cuLinkCreate_v2", "cuLinkAddData_v2", "cuLinkComplete", "cuCtxSetCurrent"} {
		f.failing(name, int(cuda.ErrUnknown), 0)
		_, err := d.Link([]cuda.LinkInput{{Data: []byte(callerPTX)}, {Data: []byte(calleePTX)}})
		f.reset()
		wantError(t, err, cuda.ErrUnknown)
		if _, set, err := cuda.CurrentDevice(); err != nil || set {
			t.Errorf("%s: a device is left current (%v)", name, err)
		}
	}
	if n := f.links() - before; n != 0 {
		t.Errorf("%d links are left", n)
	}
	f.failing("cuLinkDestroy", int(cuda.ErrUnknown), 0)
	cubin, err := d.Link([]cuda.LinkInput{{Data: []byte(calleePTX)}})
	wantDriverError(t, err, cuda.ErrUnknown, "cuLinkDestroy")
	if cubin != nil {
		t.Error("a cubin with an error")
	}
	_, err = d.LoadModule([]byte(lto))
	wantDriverError(t, err, cuda.ErrInvalidImage, "cuModuleLoadDataEx")
	wantError(t, err, nil, "the image is LTO IR, which the driver does not load: link it first, with package nvjitlink, or compile it without -dlto")
}

func TestKindOf(t *testing.T) {
	for image, want := range map[string]cuda.ImageKind{
		"": cuda.ImageUnknown, "x": cuda.ImageUnknown, ptx: cuda.ImagePTX, ptx + "\x00": cuda.ImagePTX, ".version\x00more": cuda.ImageUnknown,
		"\x7fELF" + strings.Repeat("\x00", 14) + "\xbe\x00": cuda.ImageCubin, "\x7fELF" + strings.Repeat("\x00", 14) + "\x3e\x00": cuda.ImageObject, "\x7fELF": cuda.ImageObject,
		"\x50\xed\x55\xba": cuda.ImageFatbin, "\xed\x43\x4e\x7f": cuda.ImageLTOIR, "!<arch>\n": cuda.ImageLibrary,
	} {
		if got := cuda.KindOf([]byte(image)); got != want {
			t.Errorf("%.10q is %s, want %s", image, got, want)
		}
	}
	if s := cuda.ImageKind(99).String(); s != "code of an unknown form" {
		t.Error(s)
	}
}
