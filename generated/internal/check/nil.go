package check

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// NilReceivers calls every method of the types of pointers on nil, and returns how
// many it called. Markers return nil, fields panic with an *Error, and the others return
// an *Error. A method inherited through an embedded parent panics like any Go method.
func NilReceivers(t testing.TB, pointers ...any) (calls int) {
	t.Helper()
	for _, p := range pointers {
		v := reflect.Zero(reflect.TypeOf(p))
		embedding := v.Type().Elem()
		parent := reflect.PointerTo(embedding.Field(embedding.NumField() - 1).Type)
		for i := range v.NumMethod() {
			method := v.Type().Method(i).Name
			switch method {
			case "TVMFFIType", "Release", "String":
				continue
			}
			calls++
			_, inherited := parent.MethodByName(method)
			onNil(t, v.Type().Elem().Name()+"."+method, v.Method(i), inherited)
		}
	}
	return calls
}

func onNil(t testing.TB, name string, method reflect.Value, inherited bool) {
	t.Helper()
	args := make([]reflect.Value, method.Type().NumIn())
	for i := range args {
		args[i] = reflect.Zero(method.Type().In(i))
	}
	var results []reflect.Value
	panicked := func() (e any) {
		defer func() { e = recover() }()
		results = method.Call(args)
		return nil
	}()
	if strings.Contains(name, ".As") {
		if panicked != nil || !results[0].IsNil() {
			t.Errorf("%s of nil: %v, %v", name, results, panicked)
		}
		return
	}
	err, _ := panicked.(error)
	if panicked == nil && len(results) > 0 {
		err, _ = results[len(results)-1].Interface().(error)
	}
	if _, bug := err.(interface{ RuntimeError() }); bug && inherited {
		return // Go dereferences the pointer to promote the method, before any code of ours runs
	}
	var e *tvmffi.Error
	if !errors.As(err, &e) || !strings.Contains(e.Message, "nil") {
		t.Errorf("%s of nil: %v", name, err)
	}
}
