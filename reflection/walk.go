package reflection

import (
	"iter"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/codec"
	"github.com/tvmffi-go/tvmffi/internal/crossing"
	"github.com/tvmffi-go/tvmffi/internal/objects"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// WalkOption changes which values a walk visits.
type WalkOption func(*Walker)

// MaxDepth limits the walk to values at most n steps away from the root.
func MaxDepth(n int) WalkOption { return func(w *Walker) { w.maxDepth = n } }

// EveryPath yields an object once for each path that leads to it, and goes into it each
// time. The number of paths may be exponential in the number of objects. A path ends at
// an object that is already on it.
func EveryPath() WalkOption { return func(w *Walker) { w.everyPath = true } }

// ObjectsOnly passes over values that are not objects, and over strings and bytes.
func ObjectsOnly() WalkOption { return func(w *Walker) { w.objectsOnly = true } }

// Walker walks over all values that an object reaches through fields, Array, List, Map
// and Dict.
type Walker struct {
	root                   tvmffi.ObjectRef
	maxDepth               int
	everyPath, objectsOnly bool
	skip                   bool
	err                    error
}

// Walk prepares a walk:
//
//	w := reflection.Walk(root)
//	for path, v := range w.All() {
//		if v.TypeKey() == "garden.Shed" {
//			w.Skip()
//		}
//	}
//	if err := w.Err(); err != nil { ... }
func Walk(root tvmffi.ObjectRef, options ...WalkOption) *Walker {
	w := &Walker{root: root, maxDepth: -1}
	for _, option := range options {
		option(w)
	}
	return w
}

// Skip keeps the loop from the values inside the value of this step.
func (w *Walker) Skip() { w.skip = true }

// Err returns the error that ended the last loop, such as a getter's error, or
// nil.
func (w *Walker) Err() error { return w.err }

// All ranges over the root and all values reachable from it, a value before the values
// inside it, fields and elements in their order. Each object comes once, by the first
// path, so cycles end; strings, bytes and values that are not objects come each time.
// Only the entries of a map are read ahead, and only memory limits the depth of the
// graph.
//
// Objects are borrowed until the next step; [tvmffi.Retain] keeps one. The loop may
// change the objects that it sees; removed values may still come or not.
func (w *Walker) All() iter.Seq2[Path, tvmffi.Any] {
	return func(yield func(Path, tvmffi.Any) bool) {
		w.err = nil
		o := stateOf(w.root)
		if o.Handle() == 0 {
			w.err = noObject(o, "walk")
			return
		}
		r := run{Walker: w, yield: yield}
		defer r.close()
		objects.IncRef(o.Handle())
		keep(o)
		if !r.object(o.Handle(), Path{}, false) {
			return
		}
		for len(r.stack) > 0 && r.advance() {
		}
	}
}

// run is one loop of a Walker.
type run struct {
	*Walker
	yield func(Path, tvmffi.Any) bool
	stack []frame
	seen  handles // objects that more than one reference may lead to
	// made holds objects that getters gave the walk: their addresses must not be used
	// again as long as it lasts.
	made    []uintptr
	current uintptr      // the object that the loop body has, a reference, or 0
	lists   []*fieldList // by type index
	loan    objects.BorrowScope
}

// frame is an object whose parts are being walked over.
type frame struct {
	handle  uintptr   // owns a reference
	before  *pathStep // its path; nil for the root
	next    int
	list    *fieldList // of an object with fields
	entries []entry    // of a map
	listed  bool       // in seen because it is on the stack
}

// to returns the path to a part of the object.
func (f *frame) to(s Step) Path { return Path{f.before, s} }

// entry is an entry of a map. It owns references to objects in it.
type entry struct {
	key, value             tvmffi.Any // of values that are not objects
	keyHandle, valueHandle uintptr
}

// fieldList is the fields of a type to which a walk goes.
type fieldList struct{ fields []*Field }

func (r *run) fieldsOf(index abi.TypeIndex) *fieldList {
	if int(index) < len(r.lists) && r.lists[index] != nil {
		return r.lists[index]
	}
	p := new(fieldList)
	for _, f := range typeOf(index).load().fields {
		if !r.objectsOnly || f.reader.HasParts() {
			p.fields = append(p.fields, f)
		}
	}
	for int(index) >= len(r.lists) {
		r.lists = append(r.lists, nil)
	}
	r.lists[index] = p
	return p
}

// close ends the loop, wherever it is.
func (r *run) close() {
	r.loan.End()
	releaser := objects.NewReleaser()
	for i := range r.stack {
		r.stack[i].drop(releaser)
	}
	for _, handle := range r.made {
		releaser.Release(handle)
	}
	if r.current != 0 {
		releaser.Release(r.current) // the loop body has panicked
	}
	releaser.Close()
}

// drop gives up the references of a frame.
func (f *frame) drop(r *objects.Releaser) {
	for i := min(f.next/2, len(f.entries)); i < len(f.entries); i++ {
		f.entries[i].drop(r)
	}
	r.Release(f.handle)
}

func (e *entry) drop(r *objects.Releaser) {
	if e.keyHandle != 0 {
		r.Release(e.keyHandle)
	}
	if e.valueHandle != 0 {
		r.Release(e.valueHandle)
	}
}

// advance goes one step on in the uppermost frame. It returns false when the loop
// is over.
func (r *run) advance() bool {
	f := &r.stack[len(r.stack)-1]
	i := f.next
	f.next++
	switch {
	case f.list != nil:
		if i < len(f.list.fields) {
			return r.field(f, f.list.fields[i])
		}
	case f.entries != nil:
		if i/2 < len(f.entries) {
			return r.entry(f, i)
		}
	default:
		// A list may have changed since the last step.
		for elements := capi.Elements(f.handle); i < len(elements); i++ {
			v := elements[i]
			if r.objectsOnly && !codec.HasParts(v) {
				continue
			}
			f.next = i + 1
			return r.borrowed(v, f.to(Step{Kind: StepIndex, Index: i}))
		}
	}
	if f.listed {
		r.seen.remove(f.handle)
	}
	objects.DecRef(f.handle)
	*f = frame{}
	r.stack = r.stack[:len(r.stack)-1]
	return true
}

// field goes to a field of the uppermost frame.
func (r *run) field(f *frame, field *Field) bool {
	v, owned, err := field.reader.Peek(f.handle)
	path := f.to(Step{Kind: StepField, Field: field})
	if err != nil {
		r.err = errorf(kindOf(err), "%s: %w", path, err)
		return false
	}
	if !owned {
		return r.borrowed(v, path)
	}
	if codec.HasParts(v) {
		return r.object(uintptr(v.Bits), path, true)
	}
	defer objects.ReleaseValue(v)
	return r.borrowed(v, path)
}

// entry goes to a key or a value of the uppermost frame.
func (r *run) entry(f *frame, i int) bool {
	e := &f.entries[i/2]
	if i%2 == 0 {
		if e.keyHandle == 0 {
			return true // a key that is not an object is part of the path
		}
		objects.IncRef(e.keyHandle) // the step to the value needs it too
		return r.object(e.keyHandle, f.to(Step{Kind: StepKey, key: keyOf(e)}), false)
	}
	path := f.to(Step{Kind: StepValue, key: keyOf(e)})
	if e.keyHandle != 0 {
		objects.DecRef(e.keyHandle)
		e.keyHandle = 0
	}
	if handle := e.valueHandle; handle != 0 {
		e.valueHandle = 0
		return r.object(handle, path, false)
	}
	if r.objectsOnly {
		return true
	}
	return r.show(path, e.value)
}

// keyOf returns the key of an entry, for a path that may be kept.
func keyOf(e *entry) *tvmffi.Any {
	if e.keyHandle == 0 {
		return &e.key
	}
	key := lendAny(abi.Any{TypeIndex: capi.PointerTo[abi.Object](e.keyHandle).TypeIndex, Bits: uint64(e.keyHandle)}, objects.ReadCollected())
	return &key
}

// borrowed goes to a value that somebody else keeps alive until the loop body
// begins.
func (r *run) borrowed(v abi.Any, path Path) bool {
	if codec.HasParts(v) {
		objects.IncRef(uintptr(v.Bits))
		return r.object(uintptr(v.Bits), path, false)
	}
	if r.objectsOnly {
		return true
	}
	return r.show(path, lendAny(v, objects.ReadOwned()))
}

// show yields a value without parts.
func (r *run) show(path Path, v tvmffi.Any) bool {
	return r.yield(path, v)
}

// object goes to an object and takes over one reference to it. given says that a getter
// returned that reference.
func (r *run) object(handle uintptr, path Path, given bool) bool {
	onPath := false
	switch {
	case given && objects.Strong(handle) == 1: // the getter made it just now
		objects.IncRef(handle)
		r.made = append(r.made, handle)
	case r.everyPath:
		onPath = r.seen.has(handle)
	case objects.Strong(handle) > 2 || given || len(r.stack) == 0:
		// Of fewer references one is the walk's, and the other is where it came from: no other
		// way leads here. A getter's new object has no other place, and may refer to itself.
		if !r.seen.add(handle) {
			objects.DecRef(handle)
			return true
		}
		if given { // nothing that the walk has gone through keeps it
			objects.IncRef(handle)
			r.made = append(r.made, handle)
		}
	}
	r.skip, r.current = false, handle
	v := abi.Any{TypeIndex: capi.PointerTo[abi.Object](handle).TypeIndex, Bits: uint64(handle)}
	more := r.yield(path, lendAny(v, objects.ReadBorrowed(&r.loan)))
	r.loan.End()
	r.current = 0
	if !more || r.skip || onPath || r.maxDepth >= 0 && path.Depth() >= r.maxDepth || !r.enter(v, path) {
		objects.DecRef(handle)
	}
	return more && r.err == nil
}

// enter puts an object onto the stack, if it has parts.
func (r *run) enter(v abi.Any, path Path) bool {
	f := frame{handle: uintptr(v.Bits)}
	switch crossing.ClassOf(v.TypeIndex) {
	case crossing.Sequence:
		if len(capi.Elements(f.handle)) == 0 {
			return false
		}
	case crossing.Mapping:
		if f.entries, r.err = entriesOf(f.handle, path); len(f.entries) == 0 {
			return false
		}
	default:
		f.list = r.fieldsOf(v.TypeIndex)
		if len(f.list.fields) == 0 {
			return false
		}
	}
	if r.everyPath {
		f.listed = r.seen.add(f.handle)
	}
	f.before = path.shared()
	r.stack = append(r.stack, f)
	return true
}

// entriesOf reads the entries of a map.
func entriesOf(handle uintptr, path Path) ([]entry, error) {
	var entries []entry
	err := eachEntry(objects.Static(handle), func(key, value tvmffi.Any, keyHandle, valueHandle uintptr) bool {
		e := entry{key: key, value: value, keyHandle: keyHandle, valueHandle: valueHandle}
		if keyHandle != 0 {
			objects.IncRef(keyHandle)
			e.key = tvmffi.Any{}
		}
		if valueHandle != 0 {
			objects.IncRef(valueHandle)
			e.value = tvmffi.Any{}
		}
		entries = append(entries, e)
		return true
	})
	if err == nil {
		return entries, nil
	}
	releaser := objects.NewReleaser()
	for _, e := range entries {
		e.drop(releaser)
	}
	releaser.Close()
	return nil, errorf(kindOf(err), "%s: %w", path, err)
}

// handles is a set of addresses of objects.
type handles struct {
	slots []uintptr
	n     int
}

const deleted = 1 // no object has this address

// at returns the slot of a handle, or a free one. slots is not empty.
func (h *handles) at(handle uintptr) int {
	mask := uintptr(len(h.slots) - 1)
	free := -1
	for i := uintptr(uint64(handle>>3)*0x9E3779B97F4A7C15>>20) & mask; ; i = (i + 1) & mask {
		switch h.slots[i] {
		case handle:
			return int(i)
		case deleted:
			if free < 0 {
				free = int(i)
			}
		case 0:
			if free < 0 {
				free = int(i)
			}
			return free
		}
	}
}

// add adds a handle and reports whether it was not there.
func (h *handles) add(handle uintptr) bool {
	if 2*h.n >= len(h.slots) {
		old := h.slots
		h.slots, h.n = make([]uintptr, max(64, 2*len(old))), 0
		for _, x := range old {
			if x > deleted {
				h.slots[h.at(x)] = x
				h.n++
			}
		}
	}
	i := h.at(handle)
	if h.slots[i] == handle {
		return false
	}
	if h.slots[i] == 0 {
		h.n++ // a deleted one is counted already
	}
	h.slots[i] = handle
	return true
}

func (h *handles) has(handle uintptr) bool {
	return len(h.slots) > 0 && h.slots[h.at(handle)] == handle
}

func (h *handles) remove(handle uintptr) {
	if h.has(handle) {
		h.slots[h.at(handle)] = deleted
	}
}
