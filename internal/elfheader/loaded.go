package elfheader

// These are what a program reads in the memory of a loaded library of 64 bits, as the ELF specification has it.
const (
	SegmentsOffset = 32 // in the header: where the segments are
	SizesOffset    = 52 // the sizes of the header and of a segment, and the number of segments; 16 bits each
	OffOffset      = 8  // in a segment: its place in the file
	VaddrOffset    = 16 // its place in memory

	Load    = 1 // the kind of a segment that is mapped
	Dynamic = 2 // the kind of the segment that is the dynamic section
)

// Tag says what an entry of the dynamic section has.
type Tag uint64

// These are tags of tables and of their sizes.
const (
	Null       Tag = 0
	PLTRelSize Tag = 2
	Hash       Tag = 4
	Names      Tag = 5 // STRTAB
	Symbols    Tag = 6
	Rela       Tag = 7
	NamesSize  Tag = 10
	Rel        Tag = 17
	JmpRel     Tag = 23
	GNUHash    Tag = 0x6ffffef5
	VerSym     Tag = 0x6ffffff0
	VerDef     Tag = 0x6ffffffc
	VerNeed    Tag = 0x6ffffffe
)

// Symbol is an entry of the table of symbols.
type Symbol struct {
	Name  uint32 // where its name is in the table of names
	Info  uint8  // its kind, in the lower 4 bits
	Other uint8
	Shndx uint16 // its section, 0 for one that another library has
	Value uint64
	Size  uint64
}

// SymbolSize is the size of a Symbol.
const SymbolSize = 24

// These are the kinds of symbols that are functions.
const (
	Func  = 2
	IFunc = 10 // a function that chooses the function
)
