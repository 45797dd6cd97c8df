package pynames

import (
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/tvmffi-go/tvmffi/schema"
	"github.com/tvmffi-go/tvmffi/schema/hints"
)

// tree writes a folder of sources.
func tree(t *testing.T, sources map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range sources {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// library returns the schema of a library with these functions and methods. Those of a type begin with its key; a
// method has the object as its first parameter.
func library(t *testing.T, keys []string, signatures map[string]string) *schema.Schema {
	t.Helper()
	s := &schema.Schema{Libraries: []schema.Library{{File: "libgarden.so", Role: schema.RoleBound}}}
	for _, key := range keys {
		s.Types = append(s.Types, schema.Type{Key: key, Library: "libgarden.so", Ancestors: []string{"ffi.Object"}})
	}
	for name, text := range signatures {
		sig, err := schema.ParseSignature(text)
		if err != nil {
			t.Fatal(err)
		}
		owner := -1
		for i, key := range keys {
			if strings.HasPrefix(name, key+".") {
				owner = i
			}
		}
		if owner < 0 {
			s.Functions = append(s.Functions, schema.Function{Name: name, Library: "libgarden.so", Signature: sig})
			continue
		}
		m := schema.Method{Name: last(name), Signature: sig}
		if len(sig.Params) == 0 || sig.Params[0].Type.Name != keys[owner] {
			m.Flags = schema.FlagIsStaticMethod
		}
		s.Types[owner].Methods = append(s.Types[owner].Methods, m)
	}
	return s
}

func read(t *testing.T, dir string, s *schema.Schema) (hints.File, *Report) {
	t.Helper()
	f, r, err := Read(t.Context(), []Input{{Path: dir}}, Options{Interface: s, Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Encode(); err != nil {
		t.Fatal(err)
	}
	return f, r
}

// api is the module of a namespace.
const api = "import tvm_ffi\ntvm_ffi.init_ffi_api(\"garden\", __name__)\n"

// TestRead reads one pattern of Python code each.
func TestRead(t *testing.T) {
	keys := []string{"garden.Plant", "garden.Rose"}
	for name, test := range map[string]struct {
		source     string
		signatures map[string]string
		want       map[string]hints.Item
	}{
		"a call": {
			"from . import _ffi_api\n\ndef water(plant, litres=1):\n    \"\"\"Water a plant.\n\n    Twice.\n    \"\"\"\n    return _ffi_api.water(plant, litres)\n",
			map[string]string{"garden.water": "(garden.Plant, float) -> None"},
			map[string]hints.Item{"garden.water": {Params: []string{"plant", "litres"}, Default: map[string]hints.Constant{"litres": {Value: 1.0}}, Doc: "Water a plant.\n\nTwice."}},
		},
		"numbers that Go has no constant for": {
			"from . import _ffi_api\n\nclass Big:\n    SIZE = 18446744073709551615\n    FAR = 1e999\n\ndef f(a=18446744073709551615, b=1e999, c=-1e999, d=-9223372036854775809, e=-9223372036854775808, g=Big.SIZE):\n    _ffi_api.f(a, b, c, d, e, g)\n",
			map[string]string{"garden.f": "(int, float, float, int, int, int) -> None"},
			map[string]hints.Item{"garden.f": {Params: []string{"a", "b", "c", "d", "e", "g"}, Default: map[string]hints.Constant{"e": {Value: int64(math.MinInt64)}}}},
		},
		"wrappers": {
			"from . import _ffi_api as api\nfrom tvm_ffi import convert\n\ndef f(a, b, c=None, *, d=(), e=0):\n    if c is None:\n        c = 1\n    b_text = str(b)\n    return api.f(convert(a), b_text, c, [x for x in d], e or 2, a.size, a.get_color(), 7, len(a), a.kind.value)\n",
			map[string]string{"garden.f": "(Any, Any, Any, Any, Any, Any, Any, int, int, Any) -> None"},
			map[string]hints.Item{"garden.f": {Params: []string{"a", "b", "c", "d", "e", "size", "color", "", "", "kind"}}},
		},
		"clash": {
			"from ._ffi_api import join\n\ndef f(a, b, c, some_beds):\n    c_keys = list(c.keys())\n    c_values = list(c.values())\n    some = list(some_beds)\n    return join(a.shape, b.shape, a, a, c_keys, c_values, some)\n",
			map[string]string{"garden.join": "(Any, Any, Any, Any, Any, Any, Any) -> None"},
			map[string]hints.Item{"garden.join": {Params: []string{"a_shape", "b_shape", "a", "", "c_keys", "c_values", "some_beds"}}},
		},
		"a constructor": {
			"import tvm_ffi\nfrom . import _ffi_api\n\n@tvm_ffi.register_object(\"garden.Rose\")\nclass Rose(tvm_ffi.Object):\n    \"\"\"A rose.\"\"\"\n\n    def __init__(self, color, thorns=0):\n        self.__init_handle_by_constructor__(_ffi_api.Rose, color, thorns)\n\n    def prune(self, height):\n        \"\"\"Cut it.\"\"\"\n        _ffi_api.RosePrune(self, height)\n",
			map[string]string{"garden.Rose": "(ffi.String, int) -> garden.Rose", "garden.RosePrune": "(garden.Rose, float) -> None"},
			map[string]hints.Item{
				"type:garden.Rose": {Doc: "A rose."}, "garden.Rose": {Params: []string{"color", "thorns"}, Default: map[string]hints.Constant{"thorns": {Value: int64(0)}}, Doc: "A rose."},
				"garden.RosePrune": {Params: []string{"rose", "height"}, Doc: "Cut it."},
			},
		},
		"a method by name": {
			"from tvm_ffi import Object, register_object\n\n@register_object(\"garden.Rose\")\nclass Rose(Object):\n    def __init__(self, color: str):\n        self.__ffi_init__(color)\n\n    def bloom(self, days: int):\n        return self._bloom(days)\n",
			map[string]string{"garden.Rose.__ffi_init__": "(Any) -> ffi.Object", "garden.Rose._bloom": "(garden.Rose, Any) -> None"},
			map[string]hints.Item{
				"garden.Rose.__ffi_init__": {Params: []string{"color"}, Types: map[string]string{"color": "ffi.String"}},
				"garden.Rose._bloom":       {Params: []string{"days"}, Types: map[string]string{"days": "int"}},
			},
		},
		"global functions": {
			"import tvm_ffi\n\n_grow = tvm_ffi.get_global_func(\"garden.grow\")\n\ndef grow(rate):\n    _grow(rate)\n\ndef other(session, seed):\n    f = session._get_cached_method(\"garden.sow\")\n    tvm_ffi.get_global_func(\"garden.dig\")(seed)\n    return f(seed, 2)\n",
			map[string]string{"garden.grow": "(int) -> None", "garden.sow": "(Any, int) -> None", "garden.dig": "(Any) -> None"},
			map[string]hints.Item{
				"garden.grow": {Params: []string{"rate"}}, "garden.sow": {Params: []string{"seed", ""}}, "garden.dig": {Params: []string{"seed"}},
			},
		},
		"dynamic names": {
			"from . import _ffi_api\n\nclass Maker:\n    def __init__(self, name):\n        self.name = name\n    def __call__(self, size):\n        return getattr(_ffi_api, self.name)(size)\n\npot = Maker(\"Pot\")\ntub = Maker(\"Tub\")\n",
			map[string]string{"garden.Pot": "(int) -> None", "garden.Tub": "(int) -> None", "garden.Bed": "(int) -> None"},
			map[string]hints.Item{"garden.Pot": {Params: []string{"size"}}, "garden.Tub": {Params: []string{"size"}}},
		},
		"aliases": {
			"from . import _ffi_api\n_make = _ffi_api\n\ndef f(a, flag):\n    func = _make.one if flag else _make.two\n    return func(a)\n",
			map[string]string{"garden.one": "(int) -> None", "garden.two": "(int) -> None"},
			map[string]hints.Item{"garden.one": {Params: []string{"a"}}, "garden.two": {Params: []string{"a"}}},
		},
		"the def of the name wins": {
			"from . import _ffi_api\n\ndef dig(spade, depth):\n    \"\"\"Dig.\"\"\"\n    _ffi_api.Dig(spade, depth)\n\ndef one(x, y):\n    \"\"\"One.\"\"\"\n    _ffi_api.Dig(x, y)\n\ndef two(x, y):\n    \"\"\"Two.\"\"\"\n    _ffi_api.Dig(x, y)\n",
			map[string]string{"garden.Dig": "(Any, int) -> None"},
			map[string]hints.Item{"garden.Dig": {Params: []string{"spade", "depth"}, Doc: "Dig."}},
		},
		"the method of a flat name": {
			"from . import _ffi_api\n\nclass Tool:\n    def swing(self, far):\n        _ffi_api.ToolSwing(self, far)\n\ndef one(x, y):\n    _ffi_api.ToolSwing(x, y)\n\ndef two(x, y):\n    _ffi_api.ToolSwing(x, y)\n\nclass Mixin:\n    def cut(self):\n        _ffi_api.cut(self)\n        _ffi_api.see(self)\n",
			map[string]string{"garden.ToolSwing": "(Any, int) -> None", "garden.cut": "(garden.Rose) -> None", "garden.see": "(Any) -> None"},
			map[string]hints.Item{
				"garden.ToolSwing": {Params: []string{"tool", "far"}}, "garden.cut": {Params: []string{"rose"}}, "garden.see": {Params: []string{"mixin"}},
			},
		},
		"then the majority": {
			"from . import _ffi_api\n\ndef one(x, y):\n    _ffi_api.Dig(x, y)\n\ndef two(x, z):\n    \"\"\"Two.\"\"\"\n    _ffi_api.Dig(x, z)\n\ndef three(w, u):\n    _ffi_api.Dig(w, u)\n    _ffi_api.Dig(w)\n",
			map[string]string{"garden.Dig": "(Any, int) -> None"},
			map[string]hints.Item{"garden.Dig": {Params: []string{"x", ""}}},
		},
		"not by position": {
			"from . import _ffi_api\n\ndef f(*args, **kwargs):\n    \"\"\"F.\"\"\"\n    return _ffi_api.f(*args)\n\ndef h(a):\n    return _ffi_api.g(x=a)\n",
			map[string]string{"garden.f": "(int, int) -> None", "garden.g": "(int) -> None"},
			map[string]hints.Item{"garden.f": {Doc: "F."}},
		},
		"declarations": {
			"from typing import TYPE_CHECKING\nimport tvm_ffi\n\n@tvm_ffi.register_object(\"garden.Plant\")\nclass Plant(tvm_ffi.Object):\n    \"\"\"FFI binding for `garden.Plant`.\"\"\"\n    if TYPE_CHECKING:\n        def feed(self, food: int) -> \"Plant\": ...\n        def cut(self, _1: int, /) -> None: ...\n",
			map[string]string{"garden.Plant.feed": "(garden.Plant, int) -> ffi.Object", "garden.Plant.cut": "(garden.Plant, int) -> None"},
			map[string]hints.Item{"garden.Plant.feed": {Params: []string{"food"}, Returns: "garden.Plant"}},
		},
		"a def of the name": {
			"from . import _ffi_api\n\ndef near(a):\n    return _ffi_api.near(a)\n\ndef far(plant, metres):\n    \"\"\"Far.\"\"\"\n    return plant.move(metres)\n",
			map[string]string{"garden.near": "(Any) -> None", "garden.far": "(Any, int) -> None"},
			map[string]hints.Item{"garden.near": {Params: []string{"a"}}, "garden.far": {Params: []string{"plant", "metres"}, Doc: "Far."}},
		},
		"a step of another def": {
			"from . import _ffi_api\n\ndef f(a):\n    \"\"\"F.\"\"\"\n    a = \"x\" + _ffi_api.suffix(a)\n    return [b for b in _ffi_api.all(a)]\n",
			map[string]string{"garden.suffix": "(Any) -> Any", "garden.all": "(Any) -> Any"},
			map[string]hints.Item{"garden.suffix": {Params: []string{"a"}}, "garden.all": {Params: []string{"a"}, Doc: "F."}},
		},
		"underscores and keywords": {
			"from . import _ffi_api\n\ndef f(_type, visit_, visit, func):\n    _ffi_api.f(_type, visit_, visit, func)\n",
			map[string]string{"garden.f": "(Any, Any, Any, Any) -> None"},
			map[string]hints.Item{"garden.f": {Params: []string{"type", "visit_", "visit", "func"}}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := tree(t, map[string]string{"garden/__init__.py": "", "garden/_ffi_api.py": api, "garden/plants.py": test.source})
			f, _ := read(t, dir, library(t, keys, test.signatures))
			if !reflect.DeepEqual(f.Items, test.want) {
				t.Errorf("%+v\nwant %+v", f.Items, test.want)
			}
		})
	}
}

// handles is a library of which Python wraps the objects.
var handles = map[string]string{
	"garden/__init__.py": "",
	"garden/binding.py":  "from tvm_ffi import Object, register_object as _reg\n\n@_reg(\"garden.Plant\")\nclass Plant(Object):\n    pass\n\n@_reg(\"garden.Rose\")\nclass Rose(Object):\n    pass\n",
	"garden/_tools.py":   "from tvm_ffi import init_ffi_api as _init\n_init(\"garden.tools\", __name__)\n",
	"garden/base.py":     "from . import binding as _core\nfrom . import _tools\n_core.tools = _tools\n",
	"garden/tools.py":    "\"\"\"Tools for beds.\"\"\"\nfrom .base import _core\nfrom .plants import Plant\n\ndef rake(plant: Plant, teeth: int = 3):\n    \"\"\"Rake.\"\"\"\n    _core.tools.rake(plant._handle, teeth)\n",
	"garden/plants.py": `from typing import List, Optional, Union
from .base import _core


class Wrapper:
    def _init_handle(self, handle):
        self._handle = handle


class Plant(Wrapper):
    """A plant."""

    def __init__(self, name: str, height: Optional[float] = None, *, soil: Union[int, str] = 0):
        """Plant it here."""
        self._init_handle(_core.Plant(name, height, soil))

    @staticmethod
    def from_seed(seed: bytes) -> "Plant":
        """Sow it."""
        return Plant._create_from_handle(_core.Plant.from_seed(seed))

    def graft(self, other: "Plant", more: List["Plant"], last: "Plant" = None) -> "Plant":
        """Graft it."""
        handles = [m._handle for m in more]
        last_handle = None if last is None else last._handle
        return Plant._create_from_handle(self._handle.graft(other._handle, handles, last_handle))

    def __str__(self):
        """Describe it."""
        return str(self._handle.to_string())

    @property
    def age(self) -> int:
        """The age in days."""
        return -1
`,
}

// TestRead_handles reads Python classes that wrap native objects.
func TestRead_handles(t *testing.T) {
	s := library(t, []string{"garden.Plant", "garden.Rose"}, map[string]string{
		"garden.Plant.__ffi_init__": "(Any, Any, Any) -> ffi.Object",
		"garden.Plant.from_seed":    "(Any) -> ffi.Object",
		"garden.Plant.graft":        "(garden.Plant, ffi.Object, ffi.Array<ffi.Object>, Any) -> ffi.Object",
		"garden.Plant.to_string":    "(garden.Plant) -> ffi.String",
		"garden.Plant.age":          "(garden.Plant) -> int",
		"garden.tools.rake":         "(ffi.Object, int) -> None",
	})
	f, r := read(t, tree(t, handles), s)
	want := map[string]hints.Item{
		"garden.Plant": {Doc: "A plant."},
		"garden.Plant.__ffi_init__": {
			Params: []string{"name", "height", "soil"}, Types: map[string]string{"name": "ffi.String", "height": "Optional<float>"}, Doc: "Plant it here.",
			Default: map[string]hints.Constant{"height": {Value: nil}, "soil": {Value: int64(0)}},
		},
		"garden.Plant.from_seed": {
			Params: []string{"seed"}, Types: map[string]string{"seed": "ffi.Bytes"}, Returns: "garden.Plant", Doc: "Sow it.",
		},
		"garden.Plant.graft": {
			Params:  []string{"other", "more", "last"},
			Types:   map[string]string{"other": "garden.Plant", "more": "ffi.Array<garden.Plant>", "last": "Optional<garden.Plant>"},
			Returns: "garden.Plant", Doc: "Graft it.", Default: map[string]hints.Constant{"last": {Value: nil}},
		},
		"garden.Plant.to_string": {Doc: "Describe it."},
		"garden.Plant.age":       {Doc: "The age in days."},
		"garden.tools.rake":      {Params: []string{"plant", "teeth"}, Types: map[string]string{"plant": "garden.Plant"}, Default: map[string]hints.Constant{"teeth": {Value: int64(3)}}, Doc: "Rake."},
	}
	if !reflect.DeepEqual(f.Items, want) {
		t.Errorf("%+v\nwant %+v", f.Items, want)
	}
	if want := map[string]string{"garden.tools": "Tools for beds."}; !reflect.DeepEqual(f.Namespaces, want) {
		t.Errorf("namespaces %v, want %v", f.Namespaces, want)
	}
	if want := (Count{Named: 9, All: 9}); r.Params != want || r.Functions.Named != 1 || r.Methods.Named != 2 || r.Constructors.Named != 1 || r.Docs != 7 {
		t.Errorf("report %+v", r)
	}
}

// TestRead_misfits: what the libraries do not have is left out and reported; without libraries all is kept.
func TestRead_misfits(t *testing.T) {
	dir := tree(t, map[string]string{
		"garden/__init__.py": "", "garden/_ffi_api.py": api,
		"garden/a.py": "import tvm_ffi\nfrom . import _ffi_api\n\ndef f(a, b):\n    _ffi_api.f(a, b)\n    tvm_ffi.get_global_func(\"garden.gone\")(a)\n\n@tvm_ffi.register_object(\"garden.Pot\")\nclass Pot(tvm_ffi.Object):\n    def __init__(self, size):\n        self.__ffi_init__(size)\n",
	})
	s := library(t, []string{"garden.Pot"}, map[string]string{"garden.f": "(int) -> None"})
	s.Types[0].Attributes = []string{constructor}
	f, r := read(t, dir, s)
	if len(f.Items) != 0 {
		t.Errorf("items %v, want none", f.Items)
	}
	want := []Note{
		{"garden.f", "it has 1 parameter, and no call in the sources has as many arguments"},
		{"garden.gone", "the libraries have no such function"},
	}
	if !reflect.DeepEqual(r.LeftOut, want) {
		t.Errorf("left out %v, want %v", r.LeftOut, want)
	}
	f, _ = read(t, dir, nil)
	if all := map[string]hints.Item{"garden.f": {Params: []string{"a", "b"}}, "garden.gone": {Params: []string{"a"}}, "garden.Pot.__ffi_init__": {Params: []string{"size"}}}; !reflect.DeepEqual(f.Items, all) {
		t.Errorf("without libraries %v, want %v", f.Items, all)
	}
}

// TestRead_same: the same sources give the same bytes.
func TestRead_same(t *testing.T) {
	dir := tree(t, handles)
	var first string
	for range 5 {
		f, _ := read(t, dir, nil)
		data, err := f.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if first == "" {
			first = string(data)
		}
		if string(data) != first {
			t.Fatalf("%s\nwant %s", data, first)
		}
	}
}
