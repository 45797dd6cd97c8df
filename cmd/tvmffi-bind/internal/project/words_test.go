package project

import (
	"math"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/schema/hints"
)

// TestReadConfig_words: a text of a configuration has the characters that the user wrote, whatever they mean elsewhere in YAML.
func TestReadConfig_words(t *testing.T) {
	for _, word := range []string{
		"0.10", "010", "0o10", "0x10", "0b11", "1_000", "1e3", "1234e5", ".5", "1.", "+1", "-0", "-0.0", ".inf", "-.inf", ".nan", "inf", "nan",
		"yes", "no", "on", "y", "True", "true", "FALSE", "2020-01-01", "1:30", "18446744073709551616", "0_1", "1__0", "12345678901234567890",
		"!!str 010", "!!str true", "&a 0.10", "010 # the tenth", `"0.10"`, "'0.10'", "*version", "3.10.1",
	} {
		text := "package: garden\nout: ./garden\ndeps: [{package: a, version: &version 0.10, path: a.so}]\n" +
			"libraries:\n- package: b\n  path: b.so\n  version: " + word + "\nprefixes: [" + strings.TrimSuffix(word, " # the tenth") + "]\nrename:\n  " + key(word) + ": " + word + "\n" +
			"kernels:\n"
		c, err := parseConfig(ConfigName, []byte(text))
		if err != nil {
			t.Errorf("%s: %v", word, err)
			continue
		}
		want := strings.NewReplacer("!!str ", "", "&a ", "", " # the tenth", "", `"`, "", "'", "", "*version", "0.10").Replace(word)
		if got := []string{c.Libraries[0].Version, c.Prefixes[0], c.Rename[want]}; !reflect.DeepEqual(got, []string{want, want, want}) {
			t.Errorf("%s: the version, the prefix and the new name are %q", word, got)
		}
	}
	kernel, err := parseConfig(ConfigName, []byte("package: k\nout: .\nkernels: [{spec: 'f()', arch: 90, block: 010, grid: [0x10, 1], cluster: 1.0}]\n"))
	if err != nil || !reflect.DeepEqual([]OneOrMore{kernel.Kernels[0].Block, kernel.Kernels[0].Grid, kernel.Kernels[0].Cluster}, []OneOrMore{{"010"}, {"0x10", "1"}, {"1.0"}}) || kernel.Kernels[0].Arch != "90" {
		t.Errorf("%+v, %v", kernel, err)
	}
	for text, want := range map[string]string{
		"version: null":   `:6:12: null is nothing in YAML, expected a text: write "null" in quotes, or remove the entry`,
		"version: ~":      `:6:12: ~ is nothing in YAML`,
		"version: ":       "",
		"version: 'null'": "",
		"version: \"~\"":  "",
		"version: [1]":    ":6:12: found a list or a mapping",
		"verzion: 1":      `:6:3: unknown field "verzion"`,
	} {
		_, err := parseConfig(ConfigName, []byte("package: garden\nout: ./garden\nlibraries:\n- package: b\n  path: b.so\n  "+text+"\n"))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	if _, err := parseConfig(ConfigName, []byte("package: garden\nout: .\nfrom: x\n---\nskip: [a]\n")); err == nil || !strings.Contains(err.Error(), ConfigName+":5:1: a second document begins here") {
		t.Errorf("two documents: %v", err)
	}
}

// key returns a word that can be a key of YAML.
func key(word string) string {
	word, _, _ = strings.Cut(word, " # ")
	if i := strings.LastIndexByte(word, ' '); i >= 0 {
		word = word[i+1:]
	}
	if word == "*version" {
		return "0.10"
	}
	return word
}

// TestReadConfig_constants: a word that stands for a constant is what YAML 1.2 says, or an error.
func TestReadConfig_constants(t *testing.T) {
	read := func(word string) (any, error) {
		c, err := parseConfig(filepath.Join("a", ConfigName), []byte("package: garden\nout: .\nfrom: x\nfunctions: {f: {default: {x: "+word+"}}}\nenums: {E: {values: {A: "+word+"}}}\n"))
		if err != nil {
			return nil, err
		}
		if a, b := c.Functions["f"].Default["x"], c.Enums["E"].Values["A"]; a != b && a == a {
			t.Errorf("%s is %v as a default and %v as a member", word, a, b)
		}
		return c.Functions["f"].Default["x"].Value, nil
	}
	for word, want := range map[string]any{
		"1e3": 1000.0, "1234e5": 1234e5, ".5": 0.5, "1.": 1.0, "+1": int64(1), "0x10": int64(16), "0o10": int64(8), "-0.0": math.Copysign(0, -1), "-1E-3": -0.001, "+.5": 0.5,
		"00.5": 0.5, "null": nil, "~": nil, "": nil, "true": true, "False": false, "yes": "yes", `"1e3"`: "1e3", "'010'": "010", "!!str 010": "010", "3.10.1": "3.10.1", "2020-01-01": "2020-01-01",
		"9223372036854775807": int64(math.MaxInt64), "-9223372036854775808": int64(math.MinInt64), "0.1": 0.1, "float32": "float32",
	} {
		got, err := read(word)
		f, isFloat := got.(float64)
		if w, ok := want.(float64); err != nil || got != want || isFloat != ok || isFloat && math.Signbit(f) != math.Signbit(w) {
			t.Errorf("%s: %T %v, %v, want %T %v", word, got, got, err, want, want)
		}
	}
	for word, want := range map[string]string{
		"010": "010 is a number for some readers of YAML", "1_000": `"1_000" in quotes`, "0b11": "some readers", "-0x10": "some readers", "inf": "some readers", "NaN": "some readers", "08": "some readers",
		"Infinity": "some readers", "._5": "some readers", ".inf": ".inf is not finite", "-.INF": "is not finite", ".nan": "is not finite", "1e400": "outside the range of float64",
		"9223372036854775808": "outside the range of int64", "18446744073709551616": "outside the range of int64", "0xFFFFFFFFFFFFFFFFF": "outside the range of int64", "[1]": "found a list or a mapping", "!!float 1": "the tag !!float is not known here",
	} {
		if got, err := read(word); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), ConfigName+":4:") {
			t.Errorf("%s: %v, %v, want an error with %q", word, got, err, want)
		}
	}
	if c, err := hints.ParseWord("1__0"); err == nil {
		t.Errorf("1__0 is %v", c)
	}
}
