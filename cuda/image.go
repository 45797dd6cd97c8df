package cuda

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/tvmffi-go/tvmffi/cuda/internal/driver"
)

// Arch is the architecture of a device or of code for it, such as sm_90a.
type Arch struct {
	Major, Minor int
	// Suffix is 'a' for code that runs on this architecture only, 'f' for code of
	// its family, otherwise 0.
	Suffix byte
}

var archPattern = regexp.MustCompile(`^(?:sm_|compute_)?(?:(\d{1,3})\.(\d)|(\d{1,3})(\d))([af]?)$`)

// ParseArch reads an architecture in one of the forms 8.9, 89, 90a, sm_90a and
// compute_90a.
func ParseArch(s string) (Arch, error) {
	m := archPattern.FindStringSubmatch(s)
	if m == nil {
		return Arch{}, valueError("%q is not an architecture: write it as sm_90, sm_90a or 9.0", s)
	}
	var a Arch
	a.Major, _ = strconv.Atoi(m[1] + m[3])
	a.Minor, _ = strconv.Atoi(m[2] + m[4])
	if m[5] != "" {
		a.Suffix = m[5][0]
	}
	return a, nil
}

// String returns the architecture as compilers write it, such as "sm_90a".
func (a Arch) String() string {
	s := fmt.Sprintf("sm_%d%d", a.Major, a.Minor)
	if a.Suffix != 0 {
		s += string(a.Suffix)
	}
	return s
}

// Arch returns the architecture of the device.
func (d Device) Arch() (Arch, error) {
	s, err := stateOf(d)
	if err != nil {
		return Arch{}, err
	}
	l, err := s.limits()
	if err != nil {
		return Arch{}, err
	}
	return Arch{Major: l.major, Minor: l.minor}, nil
}

// Image is code for one or more architectures that is loaded on each device when
// it is first used there. It may be used from many goroutines.
type Image struct {
	variants []variant
	options  []ModuleOption

	mu     sync.Mutex // held for no call of the driver
	loaded map[Device]*loadedImage
	left   []*Module // that Close could not unload
}

// loadedImage is an image on one device. Loading code may wait for the work of the device,
// which only those do who use the image there.
type loadedImage struct {
	mu      sync.Mutex
	module  *Module // nil until it is loaded
	kernels map[string]*Kernel
	closed  bool // by Close of the image, which the next use loads again
}

type variant struct {
	name  string // of the file, "" for NewImage
	arch  Arch   // zero where the driver chooses
	ptx   bool
	bytes []byte
}

// NewImage makes an image of a cubin, a fatbin or PTX text for all devices. It keeps the slice,
// which must not change: each device loads it on first use.
func NewImage(image []byte, options ...ModuleOption) *Image {
	return &Image{variants: []variant{{bytes: image}}, options: slices.Clone(options)} // the slice is the caller's
}

var archInName = regexp.MustCompile(`(?:^|[._-])((?:sm|compute)_\d+[af]?)(?:[._-]|$)`)

// ImageFS makes an image of the files that match a pattern of path.Match, such as files that the
// program embeds. The name of a .cubin has its architecture in it, as in saxpy.sm_90a.cubin, the
// name of a .ptx may have it. That of a .fatbin should not: with one, it is chosen like a cubin of
// that architecture. For each device a cubin is preferred to a fatbin, and that to PTX.
func ImageFS(files fs.FS, pattern string, options ...ModuleOption) (*Image, error) {
	names, err := fs.Glob(files, pattern)
	if err != nil {
		return nil, valueError("pattern %q: %v", pattern, err)
	}
	if len(names) == 0 {
		return nil, valueError("no file matches %q: look at the names of the files", pattern)
	}
	im := &Image{options: slices.Clone(options)}
	for _, name := range names {
		v := variant{name: name, ptx: path.Ext(name) == ".ptx"}
		m := archInName.FindStringSubmatch(path.Base(name))
		switch {
		case m != nil:
			if v.arch, err = ParseArch(m[1]); err != nil {
				return nil, err
			}
		case path.Ext(name) == ".cubin":
			return nil, valueError("%s: the name of a cubin must have its architecture in it, such as %s.sm_90.cubin", name, strings.TrimSuffix(name, ".cubin"))
		}
		if v.bytes, err = fs.ReadFile(files, name); err != nil {
			return nil, err
		}
		im.variants = append(im.variants, v)
	}
	return im, nil
}

// rank says how well the variant suits a device, 0 if not at all.
func (v *variant) rank(d Arch) int {
	const (
		ptx    = 1
		fatbin = 10000
		cubin  = 20000
	)
	version := 10*v.arch.Major + v.arch.Minor
	exact := v.arch.Major == d.Major && v.arch.Minor == d.Minor
	switch {
	case v.arch == (Arch{}) && v.ptx:
		return ptx
	case v.arch == (Arch{}):
		return fatbin
	case v.arch.Suffix == 'a' && !exact:
		return 0
	case v.ptx && (v.arch.Suffix != 'f' || v.arch.Major == d.Major) && version <= 10*d.Major+d.Minor:
		return ptx + 2*version + min(int(v.arch.Suffix), 1)
	case !v.ptx && v.arch.Major == d.Major && v.arch.Minor <= d.Minor:
		return cubin + 2*version + min(int(v.arch.Suffix), 1)
	}
	return 0
}

// choose returns the variant that suits a device best.
func (im *Image) choose(d Device) (*variant, error) {
	arch, err := d.Arch()
	if err != nil {
		return nil, err
	}
	best := slices.MaxFunc(im.variants, func(a, b variant) int { return cmp.Compare(a.rank(arch), b.rank(arch)) })
	if best.rank(arch) == 0 {
		var have []string
		for _, v := range im.variants {
			have = append(have, v.name)
		}
		return nil, &Error{Number: int(ErrNoBinaryForGPU), Name: names[ErrNoBinaryForGPU], Call: driver.ModuleLoadDataEx.String(),
			Text: fmt.Sprintf("no code for %s, there is %s", arch, strings.Join(have, ", ")), Item: d.String()}
	}
	return &best, nil
}

// Module returns the image as it is loaded on a device. It belongs to the image.
func (im *Image) Module(d Device) (*Module, error) {
	l, err := im.on(d)
	if err != nil {
		return nil, err
	}
	defer l.mu.Unlock()
	return l.module, nil
}

// on returns the image as it is loaded on a device, locked.
func (im *Image) on(d Device) (*loadedImage, error) {
	switch {
	case im == nil:
		return nil, anImage.none()
	case len(im.variants) == 0:
		return nil, anImage.zero()
	}
	for {
		l := im.entry(d)
		l.mu.Lock()
		if l.closed {
			l.mu.Unlock()
			continue
		}
		if err := im.load(l, d); err != nil {
			l.mu.Unlock()
			return nil, err
		}
		return l, nil
	}
}

func (im *Image) entry(d Device) *loadedImage {
	im.mu.Lock()
	defer im.mu.Unlock()
	if im.loaded == nil {
		im.loaded = map[Device]*loadedImage{}
	}
	l := im.loaded[d]
	if l == nil {
		l = &loadedImage{kernels: map[string]*Kernel{}}
		im.loaded[d] = l
	}
	return l
}

// load loads the image on a device unless that is done. l.mu is held.
func (im *Image) load(l *loadedImage, d Device) error {
	if l.module != nil {
		return nil
	}
	v, err := im.choose(d)
	if err != nil {
		return err
	}
	l.module, err = d.LoadModule(v.bytes, im.options...)
	if e, ok := err.(*Error); ok && v.name != "" && e.Item != "" {
		e.Item = v.name + ", " + e.Item
	}
	return err
}

// Kernel returns a kernel of the image on a device; the same one each time.
func (im *Image) Kernel(d Device, name string) (*Kernel, error) {
	l, err := im.on(d)
	if err != nil {
		return nil, err
	}
	defer l.mu.Unlock()
	if k := l.kernels[name]; k != nil {
		return k, nil
	}
	k, err := l.module.Kernel(name)
	if err != nil {
		return nil, err
	}
	l.kernels[name] = k
	return k, nil
}

// Close unloads the image from all devices. Its kernels must not be used any
// more; the next use of the image loads it again. If a module cannot be unloaded, it stays loaded, see
// [Module.Close], and Close can be called again.
func (im *Image) Close() error {
	if im == nil {
		return nil
	}
	im.mu.Lock()
	loaded, left := im.loaded, im.left
	im.loaded, im.left = nil, nil
	im.mu.Unlock()
	for _, l := range loaded {
		l.mu.Lock()
		if l.closed = true; l.module != nil {
			left = append(left, l.module)
		}
		l.mu.Unlock()
	}
	var err error
	for _, m := range left {
		err = errors.Join(err, m.Close()) // waits for the device
		if m.handle.Load() != 0 {
			im.mu.Lock()
			im.left = append(im.left, m)
			im.mu.Unlock()
		}
	}
	return err
}
