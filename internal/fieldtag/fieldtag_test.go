package fieldtag

import (
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/tvmffi-go/tvmffi/schema"
)

func TestLookup(t *testing.T) {
	for _, c := range []struct {
		tag, text string
		ok, bad   bool
	}{
		{tag: ``},
		{tag: `json:"a"`},
		{tag: `ffi:"x"`, text: "x", ok: true},
		{tag: `json:"a" ffi:"x,optional" doc:"d"`, text: "x,optional", ok: true},
		{tag: `doc:"the tag ffi:x"`},
		{tag: `cffi:"x" json:"ffi:"`},
		{tag: `ffi:x`, bad: true},
		{tag: `ffi: "x"`, bad: true},
		{tag: `ffi:'x'`, bad: true},
		{tag: `ffi:"x`, bad: true},
		{tag: `ffi:"\q"`, bad: true},
		{tag: `json:"a",ffi:"x"`, bad: true},
		{tag: "json:\"a\"\tffi:\"x\"", bad: true},
		{tag: `json ffi:"x"`, bad: true},
	} {
		text, ok, err := Lookup(reflect.StructTag(c.tag))
		if text != c.text || ok != c.ok || (err != nil) != c.bad {
			t.Errorf("%s: %q, %t, %v", c.tag, text, ok, err)
		}
		if c.bad && !strings.Contains(err.Error(), "malformed: write `ffi:\"name\"`") {
			t.Error(err)
		}
	}
}

func TestParse(t *testing.T) {
	for text, want := range map[string]Tag{
		"-":                      {},
		"-,what":                 {},
		"x":                      {Name: "x", Flags: schema.FlagWritable},
		"x,":                     {Name: "x", Flags: schema.FlagWritable},
		"x,optional,readonly":    {Name: "x", Optional: true},
		"x,kwonly,default=":      {Name: "x", Flags: schema.FlagWritable | schema.FlagKwOnly, HasDefault: true},
		"x,default=a,kwonly":     {Name: "x", Flags: schema.FlagWritable, Default: "a,kwonly", HasDefault: true},
		"x,noinit,norepr,nohash": {Name: "x", Flags: schema.FlagWritable | schema.FlagInitOff | schema.FlagReprOff | schema.FlagHashOff},
		"x,nocompare,ignore":     {Name: "x", Flags: schema.FlagWritable | schema.FlagCompareOff | schema.FlagSEqHashIgnore},
		"x,def":                  {Name: "x", Flags: schema.FlagWritable | schema.FlagDefPattern},
		"x,simpledef":            {Name: "x", Flags: schema.FlagWritable | schema.FlagDefSimple},
	} {
		if got, err := Parse(text); err != nil || got != want {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
	for text, want := range map[string]string{
		"":              "no name",
		",optional":     "no name",
		"a b":           `"a b"`,
		"a\x00b":        `"a\x00b"`,
		"a\x1bb":        `"a\x1bb"`,
		"x,defualt=3":   `unknown option "defualt=3": there are optional, kwonly`,
		"x,,optional":   `unknown option ""`,
		"x,Optional":    `unknown option "Optional"`,
		"x,optional, y": `unknown option " y"`,
	} {
		if got, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
}

func TestSetDefault(t *testing.T) {
	type celsius float64
	for _, c := range []struct {
		text   string
		target any // a pointer to what the text stands for
		want   string
	}{
		{"true", ptr(true), ""},
		{"-0x10", ptr(int8(-16)), ""},
		{"18446744073709551615", ptr(uint64(1<<64 - 1)), ""},
		{"2.5", ptr(celsius(2.5)), ""},
		{"a,b", ptr("a,b"), ""},
		{"maybe", ptr(false), `the default "maybe" is not a valid bool`},
		{"three", ptr(int64(0)), `the default "three" is not a valid int64`},
		{"128", ptr(int8(0)), `the default "128" does not fit int8`},
		{"-1", ptr(uint(0)), `the default "-1" is not a valid uint`},
		{"1e99", ptr(float32(0)), `the default "1e99" does not fit float32`},
		{"1e-50", ptr(float32(0)), `the default "1e-50" does not fit float32`},
		{"1e-400", ptr(celsius(0)), `the default "1e-400" does not fit float64`},
		{"hot", ptr(celsius(0)), `the default "hot" is not a valid float64`},
		{"010", ptr(int64(0)), `the default "010" has a zero in front, which makes it octal for some readers`},
		{"-0_7", ptr(int8(0)), `the default "-0_7" has a zero in front`},
		{"00", ptr(uint64(0)), `the default "00" has a zero in front`},
		{"010", ptr(time.Duration(0)), `the default "010" has a zero in front, which makes it octal`},
		{"010s", ptr(10 * time.Second), ""},
		{"0", ptr(int64(0)), ""},
		{"0o10", ptr(uint8(8)), ""},
		{"0b11", ptr(int64(3)), ""},
		{"010", ptr(celsius(10)), ""},
		{"3,kwonly", ptr(int64(0)), `so put it last`},
		{"-1h1.5s", ptr(-time.Hour - 1500*time.Millisecond), ""},
		{"0.000001ms.5us", ptr(501 * time.Nanosecond), ""},
		{"1.0ns", ptr(time.Nanosecond), ""},
		{"0", ptr(time.Duration(0)), ""},
		{"1.5ns", ptr(time.Duration(0)), `the default "1.5ns" has a part of a nanosecond`},
		{"1h.0000000001s", ptr(time.Duration(0)), `has a part of a nanosecond`},
		{"1.0000000000001h2s", ptr(time.Duration(0)), `has a part of a nanosecond`},
		{"1.5", ptr(time.Duration(0)), `is not a duration`},
		{"0.00000000000750h", ptr(time.Duration(27)), ""}, // 26 by time.ParseDuration
		{"-2562047h47m16.854775808s", ptr(time.Duration(math.MinInt64)), ""},
		{"float32", ptr(DataType{}), ""},
		{"custom[mine]8", ptr(DataType{}), ""},
		{"floot32", ptr(DataType{}), `the default "floot32": unknown`},
	} {
		target := reflect.New(reflect.TypeOf(c.target).Elem()).Elem()
		ok, err := SetDefault(c.text, target)
		switch {
		case !ok:
			t.Errorf("%s for %s: not handled", c.text, target.Type())
		case c.want == "" && (err != nil || target.Interface() != reflect.ValueOf(c.target).Elem().Interface()):
			t.Errorf("%s: %v, %v", c.text, target, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "strconv")):
			t.Errorf("%s: %v, want %q", c.text, err, c.want)
		}
	}
	if ok, err := SetDefault("1", reflect.ValueOf(new([]int64)).Elem()); ok || err != nil {
		t.Error(ok, err)
	}
}

func ptr[T any](x T) *T { return &x }
