package xgrammar_test

import (
	"encoding/json"
	"log/slog"
	"math/big"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/tvmffi-go/tvmffi/xgrammar"
)

func TestSchemaOf(t *testing.T) {
	_, c := compilerOf(t, xgrammar.CompilerOptions{})
	type person struct {
		Name string   `json:"name" jsonschema:"as written in a passport"`
		Tags []string `json:"tags,omitempty"`
		Age  int      `json:"age"`
	}
	s := must(xgrammar.SchemaOf[person]())(t)
	if !strings.Contains(s.Text, `"description":"as written in a passport"`) {
		t.Error(s.Text)
	}
	for text, want := range map[string]bool{`{"name": "A", "age": 3}`: true, `{"name": "A", "tags": ["b"], "age": 3}`: true, `{"age": 3, "name": "A"}`: false, `{"name": "A", "age": 3, "x": 1}`: false} {
		m := matcherOf(t, c, s)
		if ok := must(m.AcceptText(text))(t) && must(m.Complete())(t); ok != want {
			t.Errorf("%s: %s is allowed: %v", s.Text, text, ok)
		}
		m.Release()
	}
	if _, err := xgrammar.SchemaOf[chan int](); err == nil || !strings.Contains(err.Error(), "xgrammar: the schema of chan int: ") {
		t.Errorf("got %v", err)
	}
}

type color int

func (c color) MarshalText() ([]byte, error) { return []byte("red"), nil }

type coded struct{}

func (coded) MarshalJSON() ([]byte, error) { return []byte("1"), nil }

type list struct{ Next *list }

type inner struct {
	Zone string
	Area int
}

type forms struct {
	inner
	Bytes   []byte
	None    []byte
	Array   [2]byte
	Raw     json.RawMessage
	Number  json.Number
	Big     *big.Int
	Level   slog.Level
	Time    time.Time
	Addr    netip.Addr
	Color   color
	Colors  map[color]int
	Missing map[string]inner
	Map     map[string]inner
	Any     any
	Skipped chan int `json:"-"`
	hidden  chan int
}

// TestSchemaOf_forms: the schema allows the JSON that encoding/json writes, and not that of other forms.
func TestSchemaOf_forms(t *testing.T) {
	_, c := compilerOf(t, xgrammar.CompilerOptions{})
	value := forms{Bytes: []byte("abcd"), Raw: json.RawMessage(`{"a":[1]}`), Number: "1.5", Big: big.NewInt(-12345678901234567), Addr: netip.MustParseAddr("::1"),
		Colors: map[color]int{1: 2}, Map: map[string]inner{"x": {"z", 1}}, Any: []any{1, nil}, hidden: nil}
	text := string(must(json.Marshal(&value))(t))
	s := must(xgrammar.SchemaOf[forms]())(t)
	for change, want := range map[string]bool{
		"": true, `"YWJjZA=="→null`: true, `"YWJjZA=="→[97]`: false, `"YWJjZA=="→"YWJ"`: false, `1.5→"1.5"`: false, `-12345678901234567→null`: true,
		`-12345678901234567→"1"`: false, `"::1"→1`: false, `"Color":"red"→"Color":1`: false, `"Missing":null→"Missing":{}`: true,
		`{"Zone":"z","Area":1}→{"Area":1,"Zone":"z"}`: false, `[0,0]→""`: false,
	} {
		from, to, _ := strings.Cut(change, "→")
		changed := strings.Replace(text, from, to, 1)
		m := matcherOf(t, c, s)
		if ok := must(m.AcceptText(changed))(t) && must(m.Complete())(t); ok != want || change != "" && changed == text {
			t.Errorf("%s: %s is allowed: %v\n%s", change, changed, ok, s.Text)
		}
		m.Release()
	}
	for want, of := range map[string]func() (xgrammar.JSONSchema, error){
		"T.A.B[] has the type xgrammar_test.coded: its MarshalJSON may": xgrammar.SchemaOf[struct{ A struct{ B []coded } }],
		"T.A of the type int has the option string in its tag": xgrammar.SchemaOf[struct {
			A int `json:"a,string"`
		}],
		"T.A has the type map[int]bool: its keys must be strings":      xgrammar.SchemaOf[struct{ A map[int]bool }],
		"T.A[] has the type complex128: encoding/json cannot write it": xgrammar.SchemaOf[struct{ A map[string]complex128 }],
		"T.Next has the type xgrammar_test.list: it contains itself":   xgrammar.SchemaOf[list],
		"T.A has the type json.RawMessage: use it without the pointer": xgrammar.SchemaOf[struct{ A *json.RawMessage }],
		"T.Reader is embedded with a name in JSON, or is not a struct": xgrammar.SchemaOf[struct{ Reader }],
		`T.A has the name "a€" in its tag, and encoding/json writes A: its names have letters`: xgrammar.SchemaOf[struct {
			A int `json:"a€"`
		}],
		`T.A.Ident has the name "id" in JSON, as ID has: encoding/json writes none of them`: xgrammar.SchemaOf[struct {
			A struct {
				*base
				*other
			}
		}],
		"T.A: tag must not begin with 'WORD='": xgrammar.SchemaOf[struct {
			A struct {
				B int `jsonschema:"minimum=1"`
			}
		}],
		"T.inner is embedded with a name in JSON, or is not a struct": xgrammar.SchemaOf[struct {
			inner `json:"i"`
		}],
	} {
		if s, err := of(); s.Text != "" || err == nil || !strings.Contains(err.Error(), ": "+want) {
			t.Errorf("%q %v, want %s", s.Text, err, want)
		}
	}
}

type (
	base struct {
		ID   int `json:"id"`
		Size int
		Open int `json:"open,string"`
	}
	other struct {
		Ident string `json:"id"`
		Size  string
		Open  chan int `json:"-"`
	}
	within struct {
		*within
		*base
		Open bool `json:"open,omitempty" jsonschema:"say \"yes\""`
	}
	named  struct{ Name string }
	deeper struct {
		*named
		Area int
	}
)

// TestSchemaOf_embedded: the schema has the fields that encoding/json writes, which are not those that Go hides.
func TestSchemaOf_embedded(t *testing.T) {
	_, c := compilerOf(t, xgrammar.CompilerOptions{})
	allows := func(text string, s xgrammar.JSONSchema) bool {
		m := matcherOf(t, c, s)
		defer m.Release()
		return must(m.AcceptText(text))(t) && must(m.Complete())(t)
	}
	test := func(want string, value any, s xgrammar.JSONSchema, err error) {
		var b strings.Builder
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false) // a schema allows names as they are
		if err := e.Encode(value); err != nil {
			t.Fatal(err)
		}
		text := strings.TrimSpace(b.String())
		if err != nil || text != want {
			t.Errorf("%s: %v, want %s", text, err, want)
			return
		}
		if !allows(text, s) {
			t.Errorf("%s is not allowed:\n%s", text, s.Text)
		}
	}
	type shallow struct {
		Ident string `json:"id"`
		Go    bool   `json:"open"`
		base
	}
	s, err := xgrammar.SchemaOf[shallow]()
	test(`{"id":"x","open":false,"Size":0}`, shallow{Ident: "x"}, s, err)
	type tagged struct {
		A int `json:"B"`
		B string
		C struct {
			inner
			Y int `json:"Zone"`
		}
	}
	s, err = xgrammar.SchemaOf[tagged]()
	test(`{"B":0,"C":{"Area":0,"Zone":0}}`, tagged{}, s, err)
	type hidden struct { // Go hides base.ID and within.Open
		within
		ID   string `json:"name"`
		Open string `json:"opened"`
	}
	s, err = xgrammar.SchemaOf[hidden]()
	test(`{"id":1,"Size":2,"open":true,"name":"","opened":""}`, hidden{within: within{within: nil, base: &base{ID: 1, Size: 2}, Open: true}}, s, err)
	if want := `"description":"say \"yes\""`; !strings.Contains(s.Text, want) {
		t.Errorf("%s lacks %s", s.Text, want)
	}
	type neither struct { // has two fields Size
		Ident bool `json:"id"`
		Open  bool `json:"open"`
		*base
		*other
	}
	s, err = xgrammar.SchemaOf[neither]()
	test(`{"id":false,"open":false}`, neither{base: &base{}, other: &other{}}, s, err)
	// The fields of a nil pointer are not there.
	s, err = xgrammar.SchemaOf[hidden]()
	test(`{"open":true,"name":"","opened":""}`, hidden{within: within{Open: true}}, s, err)
	type parts struct {
		*deeper
		Last map[string]*deeper
	}
	s, err = xgrammar.SchemaOf[parts]()
	test(`{"Last":null}`, parts{}, s, err)
	test(`{"Area":0,"Last":{"a":null}}`, parts{deeper: &deeper{}, Last: map[string]*deeper{"a": nil}}, s, err)
	test(`{"Name":"","Area":0,"Last":{"a":{"Area":2}}}`, parts{&deeper{&named{}, 0}, map[string]*deeper{"a": {Area: 2}}}, s, err)
	if missing := `{"Area":0}`; allows(missing, s) {
		t.Errorf("%s is allowed:\n%s", missing, s.Text)
	}
	type options struct {
		named
		Empty  [1]int    `json:",omitempty"` // which omitempty never leaves out
		Zero   time.Time `json:",omitzero"`
		Signs  int       `json:"a<b&c>"`
		Dash   *int      `json:"-1"`
		Letter bool      `json:"naïve猫 1.5/x"`
	}
	s, err = xgrammar.SchemaOf[options]()
	test(`{"Name":"","Empty":[0],"a<b&c>":0,"-1":null,"naïve猫 1.5/x":false}`, options{}, s, err)
	test(`{"Name":"","Empty":[0],"Zero":"2026-01-02T00:00:00Z","a<b&c>":0,"-1":null,"naïve猫 1.5/x":false}`, options{Zero: time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)}, s, err)
	if missing := `{"Empty":[0],"a<b&c>":0,"-1":null,"naïve猫 1.5/x":false}`; allows(missing, s) {
		t.Errorf("%s is allowed:\n%s", missing, s.Text)
	}
}

type Reader interface{ Read() }
