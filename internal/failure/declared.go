package failure

import (
	"maps"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/abi"
)

// Declared is an error type of Go that other languages know by its kind.
type Declared struct {
	// Kind is the kind of the errors. Base is the kind of which it is a special case, or
	// empty.
	Kind, Base string
	// Types are the types of Go whose values are errors of the kind.
	Types []reflect.Type
	// Decode makes a value of the type from the fields that an error carries: a borrowed
	// Map, or 0 if it carries none.
	Decode func(fields uintptr) (error, error)
	// Detach copies what the fields of an error of the type have in memory that is lent.
	Detach func(err error, lent func(unsafe.Pointer) bool)
}

// declarations finds declared types. A table is replaced and never changed.
type declarations struct {
	byKind map[string]*Declared
	byType map[reflect.Type]*Declared
}

var (
	declared  atomic.Pointer[declarations]
	declaring sync.Mutex
)

// Declare makes errors of the type of d errors of its kind, in both directions.
func Declare(d *Declared) error {
	declaring.Lock()
	defer declaring.Unlock()
	old := declared.Load()
	if old == nil {
		old = &declarations{}
	}
	if other := old.byKind[d.Kind]; other != nil {
		if slices.Equal(other.Types, d.Types) {
			return nil
		}
		return Errorf(KindRuntime, "%s and %s are both declared as errors of the kind %s: give one another kind, //tvmffi:error other.Kind",
			other.Types[0], d.Types[0], d.Kind)
	}
	table := &declarations{maps.Clone(old.byKind), maps.Clone(old.byType)}
	if table.byKind == nil {
		table.byKind, table.byType = map[string]*Declared{}, map[reflect.Type]*Declared{}
	}
	table.byKind[d.Kind] = d
	for _, t := range d.Types {
		table.byType[t] = d
	}
	declared.Store(table)
	return nil
}

// DeclaredKind returns the declaration of a kind, or nil.
func DeclaredKind(kind string) *Declared {
	if table := declared.Load(); table != nil {
		return table.byKind[kind]
	}
	return nil
}

// DeclaredIn returns the first error of a declared type in the chain of err, and before it
// its declaration; nil if there is none.
func DeclaredIn(err error) (*Declared, error) {
	if declared.Load() == nil {
		return nil, nil
	}
	_, d, found := search(err, func(e error) bool { return declarationOf(e) != nil })
	return d, found
}

func declarationOf(err error) *Declared {
	if table := declared.Load(); table != nil && err != nil {
		return table.byType[reflect.TypeOf(err)]
	}
	return nil
}

// search returns the first error of the chain of err that matches, as a record, as a declared
// type and as itself. It gives up after some thousand errors: an error may unwrap to itself.
func search(err error, matches func(error) bool) (f *Failure, d *Declared, found error) {
	left := 10_000
	var look func(err error) bool
	look = func(err error) bool {
		for ; err != nil && left > 0; left-- {
			if matches(err) {
				f, d, found = FailureOf(err), declarationOf(err), err
				return true
			}
			many, one := unwrap(err)
			if many != nil {
				left--
				return slices.ContainsFunc(many, look)
			}
			err = one
		}
		return false
	}
	look(err)
	return f, d, found
}

// unwrap returns what an error wraps: nothing if its method panics, as that of a nil pointer does.
func unwrap(err error) (many []error, one error) {
	defer func() { _ = recover() }()
	switch w := err.(type) {
	case interface{ Unwrap() error }:
		return nil, w.Unwrap()
	case interface{ Unwrap() []error }:
		return w.Unwrap(), nil
	}
	return nil, nil
}

// first returns the first record in the chain of err, or nil.
func first(err error) *Failure {
	f, _, _ := search(err, func(err error) bool { return FailureOf(err) != nil })
	return f
}

// hasKind reports whether err is a record or of a declared type.
func hasKind(err error) bool { return FailureOf(err) != nil || declarationOf(err) != nil }

// received is the cause of an error of another language: the value of its declared type,
// and the error that it names as its cause.
type received struct{ value, cause error }

// Error returns the text of the value.
func (r *received) Error() string { return r.value.Error() }

// Unwrap returns the value and the cause.
func (r *received) Unwrap() []error { return []error{r.value, r.cause} }

// declaredCause returns the cause of an error of another language, whose own cause is
// given: with a value of the declared type, if the kind has one. Fields that do not fit
// the type are an error of the other language; the error then has its kind only.
func declaredCause(cell *abi.ErrorCell, kind string, cause error) error {
	d := DeclaredKind(kind)
	if d == nil {
		return cause
	}
	value, err := d.Decode(cell.ExtraContext)
	switch {
	case err != nil:
		return cause
	case cause == nil:
		return value
	}
	return &received{value, cause}
}

// OfGo reports whether no error in the chain of err came from another language.
func OfGo(err error) bool {
	_, _, found := search(err, func(err error) bool {
		f := FailureOf(err)
		return f != nil && (f.plain || f.Native() != nil)
	})
	return found == nil
}

// OtherCause returns the first error in the chain below e that came from another language, or
// nil.
func (e *Failure) OtherCause() *Failure {
	f, _, _ := search(e.Cause, func(err error) bool {
		f := FailureOf(err)
		return f != nil && (f.plain || f.Native() != nil) && (e.Native() == nil || f.Native() == nil || f.Native().Handle() != e.Native().Handle())
	})
	return f
}
