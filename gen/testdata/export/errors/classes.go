package errors

import (
	"context"
	"iter"

	"github.com/tvmffi-go/tvmffi/runtime/define"
)

//tvmffi:object opaque
type Index struct{ words map[string]int }

//tvmffi:object opaque kwonly
type OpaqueOptions struct{} // want `type OpaqueOptions is opaque: other languages do not see its fields, so of the options it can only have final`

//tvmffi:object opaque
type OpaqueTags struct {
	X int64 `ffi:"x"` // want `field X of OpaqueTags has a tag, but the type is opaque: remove the tag, or the option opaque`
}

//tvmffi:object opaque
type OpaqueOfFields struct {
	Plain // want `type OpaqueOfFields is opaque and embeds Plain, which is not: name the field, or make both opaque`
}

//tvmffi:object
type Plain struct {
	X int64 `ffi:"x"`
}

//tvmffi:object
type FieldsOfOpaque struct {
	Index // want `type FieldsOfOpaque embeds Index, which is opaque: make FieldsOfOpaque opaque too, or name the field`
}

//tvmffi:object opaque final
type Last struct{ next *Last }

//tvmffi:object opaque
type AfterLast struct {
	Last // want `type AfterLast embeds Last, which is final: name the field`
}

//tvmffi:object opaque
type TwoParents struct {
	Index
	AfterLast // want `type TwoParents embeds two opaque types, and a class has one parent: name one of the fields`
}

//tvmffi:export
func Copy(x Index) {} // want `parameter x of Copy: Index is opaque and is not copied: write *Index`

//tvmffi:export
func Values() map[string][]Index { return nil } // want `the result of Values: Index is opaque and is not copied: write *Index`

//tvmffi:export
func Twofold(x **Index) {} // want `parameter x of Twofold: type **Index: write *Index, of which nil is None`

//tvmffi:export
func Instances(x *define.Instance[Index]) {} // want `Index is opaque: write *Index, not *define.Instance[Index]`

//tvmffi:method
func (x Index) Copied() {} // want `Index.Copied has a receiver that is not a pointer, but Index is opaque and is not copied: write func (x *Index) Copied`

//tvmffi:equal
func (x *Index) Equal(other Index) bool { return false } // want `parameter other of Equal: Index is opaque`

//tvmffi:hash
func (x *Index) Hash() int { return 0 } // want `Index.Hash must be func (x *Index) Hash() int64, because Index is opaque`

//tvmffi:property
func (x *Index) Get(word string) int { return 0 } // want `property Index.Get must have no parameters and one result, and an error if it can fail: write //tvmffi:method for others`

//tvmffi:property
func (x *Index) Walk() iter.Seq[string] { return nil } // want `property Index.Walk must have no parameters and one result`

//tvmffi:property size
func (x *Index) Size() int { return 0 } // want `Index.Size and Count are both exported as size: give one another name`

//tvmffi:method size
func (x *Index) Count() int { return 0 }

//tvmffi:property x
func (p Plain) First() int64 { return 0 } // want `property Plain.First has the name of the field X: give one another name`

//tvmffi:method __ffi_init__
func (p Plain) Init() {} // want `Plain.Init cannot be named __ffi_init__: write //tvmffi:constructor above a func that returns the object`

//tvmffi:property // want `func Global has no receiver: write //tvmffi:export`
func Global() int { return 0 }

//tvmffi:constructor
func NewText() string { return "" } // want `constructor NewText must return the object that it makes, and an error if it can fail: T or *define.Instance[T] of a struct T`

//tvmffi:constructor
func NewPointer() *Plain { return nil } // want `constructor NewPointer must return the object that it makes`

//tvmffi:constructor
func NewPair() (*Index, int, error) { return nil, 0, nil } // want `constructor NewPair must return the object that it makes`

//tvmffi:constructor
func NewLast(ctx context.Context) *Last { return nil } // want `constructor NewLast takes a context: take it in a method, or write //tvmffi:export instead`

//tvmffi:constructor
func NewAny(args ...any) *Last { return nil } // want `constructor NewAny takes any arguments: name its parameters`

//tvmffi:constructor
func NewIndex() *Index { return nil }

//tvmffi:constructor
func OpenIndex() (*Index, error) { return nil, nil } // want `NewIndex and OpenIndex both construct Index, which can have one constructor: write //tvmffi:export above one of them`

//tvmffi:constructor named // want `//tvmffi:constructor takes no name, but defaults such as n=3: remove "named"`
func NewNamed() *Index { return nil }

//tvmffi:constructor n=x // want `parameter n of NewDefault: the default "x" is not a valid int64`
func NewDefault(n int64) *Last { return nil }

//tvmffi:constructor // want `New is a method: //tvmffi:constructor belongs above a func that returns the object`
func (x *Index) New() *Index { return nil }

//tvmffi:constructor // want `//tvmffi:constructor belongs above a func: write //tvmffi:object above a struct`
type NotFunc struct{}
