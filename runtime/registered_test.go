package tvmffi_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tvmffi-go/tvmffi/internal/testkit/runtimetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/define"
)

func TestRegister(t *testing.T) {
	runtimetest.Load(t)
	const name = "test.register"
	if err := tvmffi.Register(name, func(x int64) int64 { return x + 1 }); err != nil {
		t.Fatal(err)
	}
	if v := runtimetest.MustCall(t, name, 1); v.Value() != int64(2) {
		t.Errorf("the registered function returned %v, want 2", v)
	}
	runtimetest.WantError(t, tvmffi.Register(name, func() {}), tvmffi.ErrRuntime, "RuntimeError: Global Function `test.register` is already registered: choose another name, or give the option Override")
	if err := tvmffi.Register(name, func(x int64) int64 { return x + 2 }, tvmffi.Override()); err != nil {
		t.Error(err)
	}
	if v := runtimetest.MustCall(t, name, 1); v.Value() != int64(3) {
		t.Errorf("the function that replaced it returned %v, want 3", v)
	}
	if was, err := tvmffi.Unregister(name); err != nil || !was {
		t.Errorf("Unregister returned %v, %v, want true", was, err)
	}
	if was, err := tvmffi.Unregister(name); err != nil || was {
		t.Errorf("Unregister again returned %v, %v, want false", was, err)
	}
	_, err := tvmffi.Lookup(name)
	runtimetest.WantError(t, err, tvmffi.ErrAttribute, "there is no global function test.register")
	_, err = tvmffi.Lookup("calls.ad_one")
	runtimetest.WantError(t, err, tvmffi.ErrAttribute, "there is no global function calls.ad_one: load the library that registers it first; did you mean calls.add_one?")
	_, err = tvmffi.Lookup("")
	runtimetest.WantError(t, err, tvmffi.ErrValue, "the name of a global function is empty")
	runtimetest.WantError(t, tvmffi.Register("", func() {}), tvmffi.ErrValue, "is empty")
	// Names that no tool could show or bind.
	for name, why := range map[string]string{
		"a\nb": `is "a\nb": a name must not hold control characters`, "a\x00b": "control characters", "a\x1b[31mb": "control characters",
		"a\xffb": "not valid UTF-8", strings.Repeat("n", 4097): "has 4097 bytes: the limit is 4096",
	} {
		err := tvmffi.Register(name, func() {})
		runtimetest.WantError(t, err, tvmffi.ErrValue, why)
		if err != nil && len(err.Error()) > 200 {
			t.Errorf("the error has %d bytes", len(err.Error()))
		}
	}
	longest := strings.Repeat("n", 4096)
	if err := tvmffi.Register(longest, func() {}); err != nil {
		t.Error(err)
	}
	if was, err := tvmffi.Unregister(longest); err != nil || !was {
		t.Errorf("Unregister of the longest name: %t, %v", was, err)
	}
	names := runtimetest.Must[[]string](t)(tvmffi.Functions())
	if len(names) < 100 || !slices.IsSorted(names) || !slices.Contains(names, "calls.apply_packed") {
		t.Errorf("%d functions", len(names))
	}
	keys := runtimetest.Must[[]string](t)(tvmffi.TypeKeys())
	if !strings.Contains(strings.Join(keys, " "), "calls.SubBox") {
		t.Errorf("types %v", keys)
	}
	if m, err := tvmffi.FunctionMetadata("calls.add_one"); err != nil || !strings.Contains(m, "type_schema") {
		t.Errorf("metadata %q, %v", m, err)
	}
	_, err = tvmffi.FunctionMetadata("test.no such function")
	runtimetest.WantError(t, err, tvmffi.ErrRuntime, "Global Function is not found: test.no such function")
	// A method value is a func as any other, with its receiver inside.
	var n tally
	if err := tvmffi.Register(name, n.add); err != nil {
		t.Error(err)
	}
	if runtimetest.MustCall(t, name, 2); runtimetest.MustCall(t, name, 3).Value() != int64(5) || n != 5 {
		t.Errorf("the state of the method is %d, want 5", n)
	}
	if _, err := tvmffi.Unregister(name); err != nil {
		t.Error(err)
	}
	// The functor that lists the names checks its index.
	list := runtimetest.Get[*tvmffi.Function](t, "ffi.FunctionListGlobalNamesFunctor")
	_, err = list.Call(1 << 30)
	runtimetest.WantError(t, err, tvmffi.ErrIndex, "Index 1073741824 out of bounds")
	list.Release()
}

type tally int64

func (c *tally) add(n int64) int64 { *c += tally(n); return int64(*c) }

// Names are registered and removed, and libraries loaded, by many at once.
func TestRegistryFromManyGoroutines(t *testing.T) {
	runtimetest.Load(t)
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 50 {
				name := fmt.Sprintf("test.many.%d.%d", g, i)
				if err := tvmffi.Register(name, func() int64 { return int64(i) }); err != nil {
					t.Error(err)
				}
				if v, err := runtimetest.Call(name); err != nil || v.Value() != int64(i) {
					t.Errorf("%s returned %v, %v, want %d", name, v, err, i)
				}
				if _, err := tvmffi.Unregister(name); err != nil {
					t.Error(err)
				}
				if _, err := tvmffi.Functions(); i%25 == 0 && err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

type namedBytes []byte

// The description that Register gives of a func is in the registry for everyone, read here by C++.
func TestRegisteredMetadata(t *testing.T) {
	runtimetest.Load(t)
	if err := linkedType.Register(); err != nil {
		t.Fatal(err)
	}
	runtimetest.Balanced(t)
	const name = "test.metadata"
	for _, c := range []struct {
		f       any
		options []tvmffi.RegisterOption
		want    string
	}{
		{func(int, *float64, []string, *define.Instance[linked]) (map[string]bool, error) { return nil, nil },
			[]tvmffi.RegisterOption{tvmffi.Doc("It does nothing."), tvmffi.Param("n", "how often")},
			`{"return":[{"type":"ffi.Map","args":[{"type":"ffi.String"},{"type":"bool"}]}],"params":[{"type":"int"},{"type":"Optional","args":[{"type":"float"}]},{"type":"ffi.Array","args":[{"type":"ffi.String"}]},{"type":"gotest.Linked"}]}`},
		{func(func(int64) (int64, error)) {}, nil,
			`{"return":[{"type":"None"}],"params":[{"type":"ffi.Function","named_args":{"return":[{"type":"int"}],"params":[{"type":"int"}]}}]}`},
		{func(namedBytes, []byte, time.Duration) map[int8]struct{} { return nil }, nil,
			`{"return":[{"type":"ffi.Array","args":[{"type":"int"}]}],"params":[{"type":"ffi.Bytes"},{"type":"ffi.Bytes"},{"type":"int"}]}`},
		{func(args []tvmffi.Any) (any, error) { return nil, nil }, nil, ""},
		{func(x any) {}, []tvmffi.RegisterOption{tvmffi.Signature("(ffi.String) -> int")}, `{"return":[{"type":"int"}],"params":[{"type":"ffi.String"}]}`},
	} {
		if err := tvmffi.Register(name, c.f, append(c.options, tvmffi.Override())...); err != nil {
			t.Fatal(err)
		}
		text := runtimetest.MustCall(t, "ffi.GetGlobalFuncMetadata", name).String()
		var metadata struct {
			Schema string `json:"type_schema"`
		}
		if err := json.Unmarshal([]byte(text), &metadata); err != nil {
			t.Fatalf("the metadata %s is not JSON: %v", text, err)
		}
		var got struct {
			Type string
			Args json.RawMessage `json:"named_args"`
		}
		if err := json.Unmarshal([]byte(metadata.Schema), &got); err != nil || got.Type != "ffi.Function" || string(got.Args) != c.want {
			t.Errorf("%T is\n%s, want\n%s; %v", c.f, metadata.Schema, c.want, err)
		}
		if own, err := tvmffi.MetadataOf(c.f, c.options...); err != nil || own != text {
			t.Errorf("MetadataOf is %s, in the registry it is %s; %v", own, text, err)
		}
	}
	if was, err := tvmffi.Unregister(name); err != nil || !was {
		t.Errorf("Unregister returned %v, %v, want true", was, err)
	}
}
