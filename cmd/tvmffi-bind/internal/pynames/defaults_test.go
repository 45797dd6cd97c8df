package pynames

import (
	"reflect"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/schema/hints"
)

// TestRead_defaults: a default counts if the def passes its parameter on as it is, and if the defs agree.
func TestRead_defaults(t *testing.T) {
	const source = `from enum import Enum, IntEnum
from typing import Optional
from . import _ffi_api

class Kind(Enum):
    """Says what grows."""
    ROSE = 0
    OAK = 1
    TREE = 1

class Season(IntEnum):
    SPRING = 1

class Depth(Enum):
    LOW = object()

def water(plant, litres=1, *, slowly=True, times=-2, can=None, text="x", tool: Optional[str] = None):
    _ffi_api.water(plant, litres, slowly, times, None if can is None else can._handle, text, tool)

def changed(a=1, b=2, c=3, d=None, e=None, f=(1, 2)):
    a += 1
    if b is None:
        b = 4
    if isinstance(d, int):
        d = [d]
    if isinstance(e, int):
        e = [e]
    else:
        e = []
    _ffi_api.changed(a, b, c + 1, d, e, f)

def sow(kind: Kind = Kind.OAK, season: Season = Season.SPRING, plain: Kind = Kind.ROSE, depth: Depth = Depth.LOW):
    return Kind(_ffi_api.sow(kind.value, season, plain, depth.value))

def one(x=1, y=2):
    _ffi_api.dig(x, y)

def two(x=1, y=3):
    _ffi_api.dig(x, y)

def rake(x="one"):
    _ffi_api.rake(x)
`
	signatures := map[string]string{
		"garden.water": "(garden.Plant, float, int, int, Any, Any, Optional<ffi.String>) -> None", "garden.changed": "(int, int, int, Any, Any, Any) -> None",
		"garden.sow": "(int, int, int, int) -> int", "garden.dig": "(int, int) -> None", "garden.rake": "(int) -> None",
	}
	type defaults = map[string]hints.Constant
	want := map[string]hints.Item{
		"garden.water":   {Default: defaults{"litres": {Value: 1.0}, "slowly": {Value: int64(1)}, "times": {Value: int64(-2)}, "can": {Value: nil}, "text": {Value: "x"}, "tool": {Value: nil}}},
		"garden.changed": {Default: defaults{"d": {Value: nil}}},
		"garden.sow":     {Default: defaults{"kind": {Value: int64(1)}, "season": {Value: int64(1)}}, Enum: map[string]string{"kind": "Kind", "season": "Season", hints.Returns: "Kind"}},
		"garden.dig":     {Default: defaults{"x": {Value: int64(1)}}},
		"garden.rake":    {},
	}
	f, r := read(t, tree(t, map[string]string{"garden/__init__.py": source, "garden/_ffi_api.py": api}), library(t, []string{"garden.Plant"}, signatures))
	for name, item := range want {
		got := f.Items[name]
		if !reflect.DeepEqual(got.Default, item.Default) || !reflect.DeepEqual(got.Enum, item.Enum) {
			t.Errorf("%s: defaults %v, enums %v, want %v, %v", name, got.Default, got.Enum, item.Default, item.Enum)
		}
	}
	enums := map[string]hints.Enum{
		"Kind":   {Doc: "Says what grows.", Values: map[string]hints.Constant{"ROSE": {Value: int64(0)}, "OAK": {Value: int64(1)}}},
		"Season": {Values: map[string]hints.Constant{"SPRING": {Value: int64(1)}}},
	}
	if !reflect.DeepEqual(f.Enums, enums) {
		t.Errorf("enums %v, want %v", f.Enums, enums)
	}
	if text := strings.Join(lines(r.LeftOut), "\n"); text != "garden.dig: the defaults of y differ: 2 and 3" {
		t.Errorf("left out:\n%s", text)
	}
}
