package abi

// The layout of Map and Dict is not part of the C API. The C++ headers define it in
// inline code, which every library that uses maps contains, so it cannot change without
// breaking all of them. Code that reads it checks the loaded library first, like
// internal/maptable.

// MapObject is DenseMapBaseObj, a Map or a Dict with its header. A small one,
// SmallMapBaseObj, has the fields up to DataDeleter.
type MapObject struct {
	Header Object
	// Data is an array of MapEntry if the map is small, otherwise one of blocks.
	Data uintptr
	Size uint64
	// Slots has the bit MapSmallBit set if the map is small. Otherwise it is a power
	// of two.
	Slots       uint64
	DataDeleter uintptr
	// FibShift is the number of bits by which the product of a hash is shifted: the result is
	// its slot.
	FibShift uint32
	_        uint32
	// Head and Tail are the slots of the first and the last entry.
	Head, Tail uint64
}

// MapEntry is a key with its value.
type MapEntry struct{ Key, Value Any }

// MapItem is an entry of a block, with the slots of its neighbours in the order
// of insertion.
type MapItem struct {
	Entry      MapEntry
	Prev, Next uint64
}

// A block is MapBlockSlots bytes, one for each slot, and as many items.
const (
	MapSmallBit   = 63
	MapBlockSlots = 16
	MapBlockSize  = MapBlockSlots * (1 + 48)
)
