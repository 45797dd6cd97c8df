// Package kernelrt is the support package for the typed kernels that "tvmffi-bind gen"
// writes from the list kernels of a configuration. It is not for use by hand: it trusts
// its caller, the generator.
//
// A generated func packs its arguments as [Value], as FFI functions get them, with the
// elements of tuples and shapes in their places (see [Checks]), and calls one func that
// checks them, works out the grid, and launches:
//
//	x := kernelrt.TensorAt(args, 0)
//	if len(args) != 2 || !kernelrt.IsTensor(x, ...) || !kernelrt.IsInt(args[1]) {
//		return checksSaxpy.Refuse(args) // the first check of spec.Func.Plan that does not hold
//	}
//	l, err := kernelSaxpy.Begin(device, &kernelrt.Dims{...})
//	if l == nil {
//		return err // the grid is empty, or wrong
//	}
//	l.Int32(0, n)
//	l.Pointer(1, x)
//	return l.Run(stream)
package kernelrt

import (
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/tvmffi-go/tvmffi/cuda"
	"github.com/tvmffi-go/tvmffi/cuda/internal/packed"
	"github.com/tvmffi-go/tvmffi/cuda/nvrtc"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// Generation1 is named by the code that this generation of the generator writes. A
// module that no longer supports it lacks the constant, and the code does not
// compile.
const Generation1 = 1

// Kernel is a kernel and how it is launched. It is static data: nothing happens at
// import, and it is loaded on each device when it is first used there.
type Kernel struct {
	// Name is the name in messages, Entry the name in the image.
	Name, Entry string
	Image       *Image
	// Sizes are the bytes of the parameters.
	Sizes []int
	// Grid, Block, Cluster and Shared are the expressions, for messages.
	Grid, Block, Cluster []string
	Shared               string
	// Full says that a grid of 0 blocks is an error; without it nothing is launched.
	Full                      bool
	Cooperative, Programmatic bool

	on [16]atomic.Pointer[cuda.Kernel] // by the number of the device
}

// Image is the code of kernels: files of go:embed, or a program for NVRTC.
type Image struct {
	// Files has the cubins, fatbins and PTX that match Pattern.
	Files   fs.FS
	Pattern string
	// Source is a text in CUDA C++. File is its name in messages. It is
	// compiled on first use, for Arch, or without it for the device.
	Source  *string
	File    string
	Arch    string
	Options []string

	mu     sync.Mutex
	images map[string]*cuda.Image // by architecture of the device, or Arch, "" for files
	used   []*Kernel              // that were loaded
	left   []*cuda.Image          // that Unload could not close
}

// kernel loads a kernel on a device. That may wait for the work of the device, so im.mu is not
// held meanwhile.
func (im *Image) kernel(d cuda.Device, k *Kernel) (*cuda.Kernel, error) {
	image, err := im.image(d)
	if err != nil {
		return nil, err
	}
	loaded, err := image.Kernel(d, k.Entry)
	if err != nil {
		return nil, err
	}
	if sizes, known := packed.Sizes(loaded); known && !slices.Equal(sizes, k.Sizes) {
		return nil, typeError("kernel %q: its parameters have %v bytes, those of `%s` %v: correct args in the configuration", k.Entry, sizes, k.Name, k.Sizes)
	}
	im.mu.Lock()
	defer im.mu.Unlock()
	for _, now := range im.images {
		if now != image {
			continue
		}
		if !slices.Contains(im.used, k) {
			im.used = append(im.used, k)
		}
		if int(d) < len(k.on) {
			k.on[d].Store(loaded)
		}
	}
	return loaded, nil
}

// image returns the image for a device, which the first call for an architecture makes.
func (im *Image) image(d cuda.Device) (*cuda.Image, error) {
	im.mu.Lock()
	defer im.mu.Unlock()
	arch := im.Arch
	if im.Source != nil && arch == "" {
		device, err := d.Arch()
		if err != nil {
			return nil, err
		}
		arch = device.String()
	}
	image := im.images[arch]
	if image == nil {
		var err error
		if image, err = im.make(d); err != nil {
			return nil, err
		}
		if im.images == nil {
			im.images = map[string]*cuda.Image{}
		}
		im.images[arch] = image
	}
	return image, nil
}

// make makes an image that the driver of the machine loads on a device.
func (im *Image) make(d cuda.Device) (*cuda.Image, error) {
	if im.Source == nil {
		return cuda.ImageFS(im.Files, im.Pattern)
	}
	code, err := nvrtc.CompileFor(d, nvrtc.Program{Name: im.File, Source: *im.Source, Arch: im.Arch, Options: im.Options})
	if err != nil {
		return nil, err
	}
	return cuda.NewImage(code.Image), nil
}

// Unload unloads the images from all devices. No kernel of them may be in a call; the
// next call loads them again. After an error it can be called again.
func Unload(images ...*Image) error {
	var first error
	for _, im := range images {
		for _, image := range im.forget() {
			if err := image.Close(); err != nil { // waits for the device
				first = cmp.Or(first, err)
				im.mu.Lock()
				im.left = append(im.left, image) // which keeps what cannot be unloaded now
				im.mu.Unlock()
			}
		}
	}
	return first
}

// forget lets the next call load the images again, and returns what there is to close.
func (im *Image) forget() []*cuda.Image {
	im.mu.Lock()
	defer im.mu.Unlock()
	for _, k := range im.used {
		for i := range k.on {
			k.on[i].Store(nil)
		}
	}
	images := slices.AppendSeq(im.left, maps.Values(im.images))
	im.images, im.used, im.left = nil, nil, nil
	return images
}

// Dims are the values of the launch expressions of one call. The generated code fills in all of
// them: where the description names none, 1 in Grid and Block, and 0 in Cluster and Shared.
type Dims struct {
	Grid, Block, Cluster [3]int64
	Shared               int64
}

// The limits that all devices share.
var (
	mostGrid    = [3]int64{math.MaxInt32, 65535, 65535}
	mostBlock   = [3]int64{1024, 1024, 64}
	mostCluster = [3]int64{math.MaxInt32, 65535, 65535}
)

const mostThreads = 1024

// check finds the first value that is out of range, and whether there is anything
// to launch.
func (k *Kernel) check(d *Dims) (empty bool, err error) {
	if uint64(d.Grid[0]-1) < math.MaxInt32 && uint64(d.Grid[1]-1) < 65535 && uint64(d.Grid[2]-1) < 65535 &&
		uint64(d.Block[0]-1) < 1024 && uint64(d.Block[1]-1) < 1024 && uint64(d.Block[2]-1) < 64 && d.Block[0]*d.Block[1]*d.Block[2] <= mostThreads &&
		k.Cluster == nil && uint64(d.Shared) <= math.MaxInt32 {
		return false, nil
	}
	return k.closer(d)
}

// closer is check for a launch that is wrong or empty, or has clusters.
func (k *Kernel) closer(d *Dims) (empty bool, err error) {
	for i, v := range d.Grid {
		if v == 0 && !k.Full {
			empty = true
			continue
		}
		if v < 1 || v > mostGrid[i] {
			least := int64(0)
			if k.Full {
				least = 1
			}
			return false, k.outOfRange("grid", k.Grid, i, v, least, mostGrid[i])
		}
	}
	for i, v := range d.Block {
		if v < 1 || v > mostBlock[i] {
			return false, k.outOfRange("block", k.Block, i, v, 1, mostBlock[i])
		}
	}
	if n := d.Block[0] * d.Block[1] * d.Block[2]; n > mostThreads {
		return false, valueError("launch of `%s`: the block %v = %v has %d threads: a block has at most %d", k.Name, k.Block, d.Block, n, mostThreads)
	}
	for i, v := range d.Cluster {
		if len(k.Cluster) > 0 && (v < 1 || v > mostCluster[i]) {
			return false, k.outOfRange("cluster", k.Cluster, i, v, 1, mostCluster[i])
		}
	}
	if d.Shared < 0 || d.Shared > math.MaxInt32 {
		return false, k.outOfRange("shared", []string{k.Shared}, 0, d.Shared, 0, math.MaxInt32)
	}
	return empty, nil
}

func (k *Kernel) outOfRange(what string, expressions []string, i int, v, least, most int64) error {
	if what != "shared" {
		what += " " + string(rune('x'+i))
	}
	if i < len(expressions) {
		what += " = " + expressions[i]
	}
	value := strconv.FormatInt(v, 10)
	if v == NoValue {
		value = "beyond int64, or a division by 0"
	}
	return valueError("launch of `%s`: %s is %s: it must be %d to %d", k.Name, what, value, least, most)
}

// Begin prepares a launch on a device. Where there is nothing to launch, it returns
// nil without an error.
func (k *Kernel) Begin(device int32, d *Dims) (*Launch, error) {
	empty, err := k.check(d)
	if empty || err != nil {
		return nil, err
	}
	var loaded *cuda.Kernel
	if uint32(device) < uint32(len(k.on)) {
		loaded = k.on[device].Load()
	}
	if loaded == nil {
		if loaded, err = k.Image.kernel(cuda.Device(device), k); err != nil {
			return nil, err
		}
	}
	l := packed.New()
	l.Kernel = loaded
	for i := range 3 {
		l.Grid[i], l.Block[i], l.Cluster[i] = uint32(d.Grid[i]), uint32(d.Block[i]), uint32(d.Cluster[i])
	}
	l.Shared, l.Cooperative, l.Programmatic = int(d.Shared), k.Cooperative, k.Programmatic
	return (*Launch)(l), nil
}

func typeError(format string, args ...any) error {
	return tvmffi.NewError("TypeError", fmt.Sprintf(format, args...))
}

func valueError(format string, args ...any) error {
	return tvmffi.NewError("ValueError", fmt.Sprintf(format, args...))
}

// Keep keeps an argument alive until here.
func Keep[T any](p *T) { runtime.KeepAlive(p) }
