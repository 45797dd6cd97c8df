package maptable

import (
	"encoding/binary"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/ccall"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/objects"
	"github.com/tvmffi-go/tvmffi/internal/registry"
	"github.com/tvmffi-go/tvmffi/internal/values"
)

// A lookup in a Map or a Dict whose key is a text or a scalar, and a walk over
// the entries, read the table where it lies. map_base.h of the library defines the
// form of a table, the hash of a key and the place of colliding keys. The first use
// checks all of it on maps that the library makes; if one answer differs, the
// functions of the library are called instead.

// Key is a key that Find can look up.
type Key struct {
	index abi.TypeIndex // TypeStr for a text of any length
	bits  uint64        // the scalar, or the hash of the text
	str   string
}

// StringKey returns the key of a text.
func StringKey(s string) Key { return Key{abi.TypeStr, hashString(s), s} }

// ScalarKey returns the key of a value that is neither a text nor an object.
func ScalarKey(index abi.TypeIndex, bits uint64) Key { return Key{index: index, bits: bits} }

// hashString is StableHashBytes of the library.
func hashString(s string) (h uint64) {
	const multiplier, modulus = 1099511628211, 1<<31 - 1
	for ; len(s) >= 8; s = s[8:] {
		h = (h*multiplier + binary.LittleEndian.Uint64(unsafe.Slice(unsafe.StringData(s), 8))) % modulus
	}
	if len(s) > 0 {
		var last uint64
		for i := range len(s) {
			last |= uint64(s[i]) << (8 * i)
		}
		h = (h*multiplier + last) % modulus
	}
	return h
}

// jumps are the distances to the next slot of a chain, by the lower bits of the
// byte of a slot; 0 is the end. The values come from map_base.h of Apache TVM FFI
// (Apache License 2.0), because the library lays out its maps by them; see NOTICE.
var jumps = [128]uint64{
	0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,
	21, 28, 36, 45, 55, 66, 78, 91, 105, 120, 136, 153, 171, 190, 210, 231, 253, 276, 300, 325, 351, 378, 406, 435,
	465, 496, 528, 561, 595, 630, 666, 703, 741, 780, 820, 861, 903, 946, 990, 1035, 1081, 1128, 1176, 1225, 1275,
	1326, 1378, 1431, 1485, 1540, 1596, 1653, 1711, 1770, 1830, 1891, 1953, 2016, 2080, 2145, 2211, 2278, 2346, 2415,
	2485, 2556, 2628, 8515, 19110, 42778, 96141, 216153, 486591, 1092981, 2458653, 5532801, 12442566, 27993903,
	62983476, 141717030, 318844378, 717352503, 1614057336, 3631522476, 8170957530, 18384510628, 41364789378,
	93070452520, 209408356380, 471168559170, 1060128894105, 2385289465695, 5366898840628, 12075518705635,
	27169915244790, 61132312065111, 137547689707000, 309482283181501, 696335127828753, 1566753995631385,
	3525196511162271, 7931691992677701, 17846306936293605, 40154190677507445, 90346928918121501,
	203280589587557251, 457381325854679626, 1029107982097042876, 2315492959180353330, 5209859154120846435,
}

// slotEmpty is the bit of slots in which no chain begins.
const slotEmpty = 0x80

// blockItem returns the byte and the item of a slot.
func blockItem(data uintptr, slot uint64) (meta uint8, item *abi.MapItem) {
	block := data + uintptr(slot/abi.MapBlockSlots)*abi.MapBlockSize
	at := uintptr(slot % abi.MapBlockSlots)
	return *capi.PointerTo[uint8](block + at), capi.PointerTo[abi.MapItem](block + abi.MapBlockSlots + at*unsafe.Sizeof(abi.MapItem{}))
}

func (k *Key) is(v *abi.Any) bool {
	if k.index != abi.TypeStr {
		return v.TypeIndex == k.index && v.Bits == k.bits
	}
	text, ok := capi.BorrowString(v)
	return ok && string(text) == k.str
}

// Find returns the value of a key, borrowed; nil if there is none. The maps of
// the library must be readable, and the map must live and not change meanwhile.
func Find(handle uintptr, k *Key) *abi.Any {
	m := capi.PointerTo[abi.MapObject](handle)
	if m.Slots>>abi.MapSmallBit != 0 {
		for i := range uintptr(m.Size) {
			if e := capi.PointerTo[abi.MapEntry](m.Data + i*unsafe.Sizeof(abi.MapEntry{})); k.is(&e.Key) {
				return &e.Value
			}
		}
		return nil
	}
	if m.Size == 0 {
		return nil
	}
	const golden = 11400714819323198485
	key := uint64(k.index)
	hash := key ^ (k.bits + 0x9e3779b9 + key<<6 + key>>2)
	slot := hash * golden >> m.FibShift
	meta, item := blockItem(m.Data, slot)
	if meta&slotEmpty != 0 {
		return nil
	}
	for !k.is(&item.Entry.Key) {
		jump := jumps[meta&^slotEmpty]
		if jump == 0 {
			return nil
		}
		slot = (slot + jump) & (m.Slots - 1)
		meta, item = blockItem(m.Data, slot)
	}
	return &item.Entry.Value
}

// Size returns the number of entries of a map, if maps are readable.
func Size(handle uintptr) int { return int(capi.PointerTo[abi.MapObject](handle).Size) }

// Walk reads the entries of a map in the order of insertion.
type Walk struct {
	data uintptr
	slot uint64 // of the next entry
	// Left is the number of entries that Next has not returned.
	Left  int
	small bool
}

// NewWalk begins at the first entry. The maps of the library must be readable,
// and the map must live and not change until the walk ends.
func NewWalk(handle uintptr) Walk {
	m := capi.PointerTo[abi.MapObject](handle)
	if m.Slots>>abi.MapSmallBit != 0 {
		return Walk{m.Data, 0, int(m.Size), true}
	}
	return Walk{m.Data, m.Head, int(m.Size), false}
}

// Next returns the next entry, borrowed; Left must not be 0.
func (w *Walk) Next() *abi.MapEntry {
	w.Left--
	if w.small {
		at := w.data + uintptr(w.slot)*unsafe.Sizeof(abi.MapEntry{})
		w.slot++
		return capi.PointerTo[abi.MapEntry](at)
	}
	_, item := blockItem(w.data, w.slot)
	w.slot = item.Next
	return &item.Entry
}

// mapsState says whether the layout of maps was checked, and is the one known.
var mapsState atomic.Int32

const (
	mapsUnchecked = iota
	mapsKnown
	mapsForeign
)

// Readable reports whether Find, Size and Walk may be used.
func Readable() bool { return mapsState.Load() == mapsKnown || checkMaps() }

// Forget makes Readable false until the function that it returns is
// called: tests of the other way need it.
func Forget() (undo func()) {
	before := mapsState.Swap(mapsForeign)
	return func() { mapsState.Store(before) }
}

var mapsCheck sync.Mutex

func checkMaps() bool {
	if mapsState.Load() == mapsForeign {
		return false
	}
	create, err := registry.GlobalFunction("ffi.Map")
	if err != nil || create == 0 {
		return false
	}
	defer objects.DecRef(create)
	mapsCheck.Lock()
	defer mapsCheck.Unlock()
	if mapsState.Load() == mapsUnchecked {
		state := int32(mapsKnown)
		for _, n := range []int{0, 1, 4, 5, 200} {
			if !readableMap(create, n) {
				state = mapsForeign
			}
		}
		mapsState.Store(state)
	}
	return mapsState.Load() == mapsKnown
}

// readableMap makes a map of n texts and ints by the function create of the library, and
// reports whether it is read right. Nothing is read of a table that makes no sense.
func readableMap(create uintptr, n int) bool {
	var keys []Key
	var args []abi.Any
	defer func() {
		for _, v := range args {
			objects.ReleaseValue(v)
		}
	}()
	for i := range n {
		if i%3 == 0 {
			args = append(args, abi.Any{TypeIndex: abi.TypeInt, Bits: uint64(-i)})
			keys = append(keys, ScalarKey(abi.TypeInt, uint64(-i)))
		} else {
			text := strings.Repeat(string(rune('a'+i%26)), i%23) + strconv.Itoa(i)
			v, err := values.NewString(text)
			if err != nil {
				return false
			}
			args = append(args, v)
			keys = append(keys, StringKey(text))
		}
		args = append(args, abi.Any{TypeIndex: abi.TypeInt, Bits: uint64(i)})
	}
	v, err := failure.Apply(create, args)
	if err != nil || v.TypeIndex != abi.TypeMap {
		return false
	}
	handle := uintptr(v.Bits)
	defer objects.DecRef(handle)
	if !plausible(capi.PointerTo[abi.MapObject](handle), uint64(n)) {
		return false
	}
	walk := NewWalk(handle)
	for i := range keys {
		e := walk.Next()
		if !keys[i].is(&e.Key) || e.Value.Bits != uint64(i) || Find(handle, &keys[i]) != &e.Value {
			return false
		}
		other := StringKey("none " + strconv.Itoa(i))
		if Find(handle, &other) != nil {
			return false
		}
	}
	return true
}

// plausible checks a new map of n entries before its table is looked at.
func plausible(m *abi.MapObject, n uint64) bool {
	if m.Size != n || n > 0 && (m.Data == 0 || m.Data%8 != 0) {
		return false
	}
	slots := m.Slots &^ (1 << abi.MapSmallBit)
	switch {
	case slots != m.Slots:
		return slots >= n && slots <= 4
	case n == 0:
		return true
	}
	if slots < n || slots > 16*n || slots&(slots-1) != 0 || m.FibShift == 0 || m.FibShift > 63 || slots != 1<<(64-m.FibShift) {
		return false
	}
	// The list of entries must stay inside and end.
	slot := m.Head
	for range n {
		if slot >= slots {
			return false
		}
		_, item := blockItem(m.Data, slot)
		slot = item.Next
	}
	return slot == ^uint64(0)
}

// EntriesAtOnce is the largest number of entries that a Cursor reads at once.
const EntriesAtOnce = 64

// Cursor reads the entries of a map through the iterator functor of the library,
// which answers 0 with the key, 1 with the value, and 2 by advancing.
type Cursor struct {
	head    ccall.Vector
	record  ccall.Record
	results [3 * EntriesAtOnce]abi.Any
	functor *objects.Object
	left    int
}

var cursors = sync.Pool{New: func() any { return new(Cursor) }}

// commands are the arguments of the functor, one for each call. C only reads them.
var commands = func() (c [3 * EntriesAtOnce]abi.Any) {
	for i := range c {
		c[i] = abi.Any{TypeIndex: abi.TypeInt, Bits: uint64(i % 3)}
	}
	return c
}()

// NewCursor begins to read n entries through a functor. Close gives it back.
func NewCursor(functor *objects.Object, n int) *Cursor {
	c := cursors.Get().(*Cursor)
	c.functor, c.left = functor, n
	c.record = ccall.Record{Fn: capi.SafeCall(functor.Addr()), Handle: functor.Addr(), Args: uintptr(unsafe.Pointer(&commands)), N: 1}
	return c
}

// Next reads the next entries: each is a key, a value, both owned, and a third
// value without meaning. None are left when there are none.
func (c *Cursor) Next() ([]abi.Any, error) {
	n := min(c.left, EntriesAtOnce)
	if n == 0 {
		return nil, nil
	}
	c.left -= n
	calls := 3 * n
	if c.left == 0 {
		calls-- // the last entry is not left behind
	}
	clear(c.results[:3*n])
	c.record.Calls = uintptr(calls)
	c.head.Records = uintptr(unsafe.Pointer(&c.record))
	c.head.SetResults(uintptr(unsafe.Pointer(&c.results)), calls)
	ccall.CallAll(&c.head)
	runtime.KeepAlive(c)
	if c.head.Left == 0 {
		return c.results[:3*n], nil
	}
	for _, v := range c.results[:calls-int(c.head.Left)] {
		if v.TypeIndex.IsObject() {
			objects.DecRef(uintptr(v.Bits))
		}
	}
	return nil, failure.OfCall(c.head.RC, c.head.Err)
}

// Close gives c back; what Next returned last must have been used.
func (c *Cursor) Close() {
	c.functor.Release()
	c.functor = nil
	cursors.Put(c)
}
