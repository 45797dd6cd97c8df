package vm

import (
	"crypto/md5"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"

	"github.com/tvmffi-go/tvmffi/internal/jsonlines"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// Weights are the tensors of a model by their names, on the host.
type Weights struct {
	path    string
	names   []string
	tensors map[string]*tvmffi.Tensor
	shards  []shard // of a tensor cache that names their sums
}

// LoadWeights loads weights: from a folder with a tensor cache of TVM (tensor-cache.json, or ndarray-cache.json of
// older versions, and its shards), from a file of the format safetensors, or from a folder with such files. What an
// index names must be there: of a tensor cache, or a *.safetensors.index.json.
// It needs libtvm_ffi, which the load of an executable finds too. The caller releases the weights.
//
// A tensor is the memory of its file, without a copy, if its place in the file is a multiple of 64 bytes, as kernels
// of TVM expect. All others are copied, and so are float32 tensors that a tensor cache stores as bfloat16, and
// all tensors on Windows. The pages of a file are read when a kernel first needs them. A write to a tensor stays
// in this process. While a tensor lives, its file must keep its content: a shorter file ends the process at the
// next read. So put a new file in the place of an old one by a rename, and do not write into it.
//
// Any content of the files is safe to read: a mistake is an [*Error] that names the file and the tensor.
func LoadWeights(path string) (*Weights, error) {
	w := &Weights{path: path, tensors: map[string]*tvmffi.Tensor{}}
	if err := w.load(); err != nil {
		w.Release()
		return nil, fail("load the weights of", path, err)
	}
	return w, nil
}

// indexes are the names of the index of a tensor cache, the newest first.
var indexes = []string{"tensor-cache.json", "ndarray-cache.json"}

func (w *Weights) load() error {
	info, err := os.Stat(w.path)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return w.safetensors(w.path)
	}
	for _, index := range indexes {
		text, err := os.ReadFile(filepath.Join(w.path, index))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			err = w.tensorCache(text)
		}
		return annotate(index, err)
	}
	files, err := fs.Glob(os.DirFS(w.path), "*.safetensors") // the path may have characters of patterns
	if err != nil {
		return err
	}
	in := map[string]string{} // the file of each tensor
	for _, file := range files {
		before := len(w.names)
		if err := w.safetensors(filepath.Join(w.path, file)); err != nil {
			return annotate(file, err)
		}
		for _, name := range w.names[before:] {
			in[name] = file
		}
	}
	lists, err := fs.Glob(os.DirFS(w.path), "*.safetensors.index.json")
	if err != nil {
		return err
	}
	for _, list := range lists {
		if err := w.listed(list, files, in); err != nil {
			return annotate(list, err)
		}
	}
	if files == nil {
		return fmt.Errorf("the folder has none of %s and *.safetensors", strings.Join(indexes, ", "))
	}
	return nil
}

// listed compares the tensors of files with the index of a model in many files, which names the file of each tensor.
func (w *Weights) listed(list string, files []string, in map[string]string) error {
	text, err := os.ReadFile(filepath.Join(w.path, list))
	if err != nil {
		return err
	}
	var index struct {
		Map map[string]string `json:"weight_map"`
	}
	if err := jsonlines.Unmarshal(text, &index); err != nil {
		return err
	}
	if index.Map == nil {
		return errors.New("it lists no tensors: expected an object with the name weight_map")
	}
	for _, name := range slices.Sorted(maps.Keys(index.Map)) {
		switch want := index.Map[name]; {
		case !slices.Contains(files, want):
			return fmt.Errorf("tensor %.200q: its file is %.200q, which the folder does not have: copy the folder again", name, want)
		case in[name] == "":
			return fmt.Errorf("tensor %.200q: no file has it, expected it in %.200q: copy the folder again", name, want)
		case in[name] != want:
			return fmt.Errorf("tensor %.200q: it is in %.200q, expected it in %.200q: copy the folder again", name, in[name], want)
		}
	}
	return nil
}

func annotate(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}

// entry is a tensor in a file.
type entry struct {
	name        string
	dtype       tvmffi.DataType
	shape       []int64
	begin, size int64 // in bytes
	widen       bool  // float32 numbers that are stored as bfloat16
}

// check compares the size of an entry with its shape, and its place with the size of the file.
func (e *entry) check(file int64) error {
	stored := e.dtype
	if e.widen {
		stored = tvmffi.BFloat16
	}
	want, err := stored.BytesOf(e.shape)
	switch {
	case err != nil:
	case e.size != want:
		err = fmt.Errorf("it has %d bytes, and %s of shape %v has %d", e.size, stored, e.shape, want)
	case e.begin < 0 || e.begin > file-e.size:
		err = fmt.Errorf("it lies at byte %d with %d bytes, and the file has %d", e.begin, e.size, file)
	}
	return annotate(fmt.Sprintf("tensor %.200q", e.name), err)
}

// alignment is what kernels of TVM rely on.
const alignment = 64

// add makes the tensor of an entry.
func (w *Weights) add(m *mapping, e *entry) error {
	if err := e.check(int64(len(m.bytes))); err != nil {
		return err
	}
	if w.tensors[e.name] != nil {
		return fmt.Errorf("tensor %.200q: it is there twice", e.name)
	}
	x, err := m.tensor(e)
	if err != nil {
		return fmt.Errorf("tensor %.200q: %w", e.name, err)
	}
	w.names, w.tensors[e.name] = append(w.names, e.name), x
	return nil
}

// mapping is the content of a file. Its memory ends when the collector finds that nothing refers to the mapping.
type mapping struct {
	bytes   []byte
	outside bool // outside of Go's heap
}

// tensor returns the tensor of an entry, which check has accepted.
func (m *mapping) tensor(e *entry) (*tvmffi.Tensor, error) {
	b := m.bytes[e.begin : e.begin+e.size]
	if m.outside && e.size > 0 && e.begin%alignment == 0 && !e.widen {
		// Sound: the memory is not of Go's heap, so it does not move; it begins at a page; and the tensor keeps m,
		// whose cleanup unmaps it.
		return tvmffi.FromPointer(tvmffi.Pointer{Address: reflect.ValueOf(b).Pointer()}, e.dtype, tvmffi.CPU, m, e.shape...)
	}
	x, err := tvmffi.NewTensor(e.dtype, e.shape...)
	if err != nil {
		return nil, err
	}
	to, err := x.Bytes()
	switch {
	case err != nil:
		x.Release()
		return nil, err
	case e.widen: // the upper half of each number, in little endian
		for i := 0; i < len(b); i += 2 {
			to[2*i+2], to[2*i+3] = b[i], b[i+1]
		}
	default:
		copy(to, b)
	}
	runtime.KeepAlive(m) // b is its memory
	return x, nil
}

// Names returns the names in the order of the file. The caller must not change it.
func (w *Weights) Names() []string { return w.names }

// Tensor returns a tensor, or nil if there is none of that name. It belongs to the weights.
func (w *Weights) Tensor(name string) *tvmffi.Tensor { return w.tensors[name] }

// Release releases all tensors. A tensor that is an argument of [Function.SetInput], or an element of a tuple,
// lives on.
func (w *Weights) Release() {
	for _, x := range w.tensors {
		x.Release()
	}
	clear(w.tensors)
	w.names, w.shards = nil, nil
}

// shard is a file with the sum that the index of a tensor cache names.
type shard struct {
	path, sum string
	file      *mapping
}

// Verify compares the files with the MD5 sums that the index of a tensor cache names, so it finds a file that was damaged on its
// way. It reads all of them, which LoadWeights does not. The files of a cache without sums, and safetensors, have
// nothing to compare with.
func (w *Weights) Verify() error {
	for _, s := range w.shards {
		sum := md5.Sum(s.file.bytes)
		runtime.KeepAlive(s.file)
		if got := hex.EncodeToString(sum[:]); !strings.EqualFold(got, s.sum) {
			return fail("verify the weights of", w.path, fmt.Errorf("shard %s: its MD5 sum is %s, and the index says %.40s: copy the folder again", s.path, got, s.sum))
		}
	}
	return nil
}

// Param is a parameter of a model: what a tensor of its weights must be.
type Param struct {
	Name string `json:"name"`
	// DataType is the name of the type, such as "float16".
	DataType string `json:"dtype"`
	// Shape has -1 for a dimension of any size.
	Shape []int64 `json:"shape"`
}

// Tuple returns the tensors of params, in their order, as the argument for a parameter that is a tuple. It fails if the
// weights are not those of the model: if a tensor is missing, has another type or shape, or is not among params.
// The error lists the first of these. The caller releases the tuple, which keeps its tensors.
func (w *Weights) Tuple(params []Param) (*tvmffi.Array[*tvmffi.Tensor], error) {
	var wrong []string
	all, known := make([]*tvmffi.Tensor, len(params)), map[string]bool{}
	for i, p := range params {
		x := w.tensors[p.Name]
		all[i], known[p.Name] = x, true
		dtype, err := tvmffi.ParseDataType(p.DataType)
		switch {
		case err != nil:
			wrong = append(wrong, fmt.Sprintf("parameter %s: %v", p.Name, err))
		case x == nil:
			wrong = append(wrong, "there is no "+p.Name)
		case x.DataType() != dtype || !slices.EqualFunc(x.Shape(), p.Shape, func(have, want int64) bool { return have == want || want == -1 }):
			wrong = append(wrong, fmt.Sprintf("%s is %s%v, expected %s%v", p.Name, x.DataType(), x.Shape(), dtype, p.Shape))
		}
	}
	for _, name := range w.names {
		if !known[name] {
			wrong = append(wrong, fmt.Sprintf("the model has no parameter %.200q", name))
		}
	}
	if n := len(wrong); n > 0 {
		const most = 5
		text := strings.Join(wrong[:min(n, most)], "; ")
		if n > most {
			text += fmt.Sprintf("; and %d more", n-most)
		}
		return nil, fail("match the weights of", w.path, errors.New("these are not the weights of the model: "+text))
	}
	a, err := tvmffi.NewArray(all...)
	return a, fail("match the weights of", w.path, err)
}
