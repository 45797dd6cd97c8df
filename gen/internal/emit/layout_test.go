package emit

import (
	"bytes"
	"go/format"
	"testing"
)

// TestLayout compares layout with go/format, for declarations in the form of jennifer that it
// formats itself and for those that it must give to go/format.
func TestLayout(t *testing.T) {
	for text, own := range map[string]bool{
		"package p": true,
		"import (\n\"errors\"\n\ntvmffi \"example.test/runtime\"\n)":             true,
		"type Rose struct{\n_ [0] * Rose\nplantBase\n}":                          true,
		"type RoseRef interface{\ntvmffi.ObjectRef\nAsRose () * Rose\n}":         true,
		"var field = bindrt.Field {Owner : & typeRose,Name : \"a : b {\\\" (\"}": true,
		"var x [] string": true,
		"// Water calls it:\n//\n//\t(int) -> None\n//\n// It may fail, as [Rake]\n// does.\nfunc Water (x,y int64,items [] string,more map [string] * Rose,args ... any) (* tvmffi.Array [* Rose],error) {\n" +
			"var c bindrt.Call2\nif x != nil && y == 0 {\nreturn nil,f ([] T {a},args ...)\n}\nfor i , v := range xs {\nc . Put (i,- 1,& v)\n}\nreturn bindrt.Do [* tvmffi.Map [string,any]] (& c . Call)\n}": true,
		"func (x * Rose) AsPlant () * Plant { return bindrt.Up [Plant] (x) }":                                                      true,
		"func F (f func (int) (bool,error),g func () error) [] func (x int) error {\nreturn nil\n}":                                true,
		"func (x * RoseWithAVeryLongNameIndeed) AsPlantWithAVeryLongNameIndeed () * PlantWithAVeryLongNameIndeed { return x . y }": true,
		"func F () {}": true,

		"// Package p is one.\npackage p":                                           false,
		"type bed struct{\na int\nlonger string\n}":                                 false,
		"var library = bindrt.Library {Files:[] bindrt.File {\n{Name : \"a\"},\n}}": false,
		"var a , bcd = 1.50,0X1F":                                                   false,
		"const _ = bindrt.Generation1":                                              false,
		"func F (a [n] int) (error) {\nreturn a+b*c\n}":                             false,
		"func F (a int) (error) {\nreturn nil\n}":                                   false,
		"func F () {\nx := func (a int) {\na = a * 2\n}\n}":                         false,
		"func F () {\nf (a,\nb)\n}":                                                 false,
		"func F () {\nf (a,)\n}":                                                    false,
		"func F () {\nx = a [1 : 2]\n}":                                             false,
		"func F () {\nx = - & y\n}":                                                 false,
		"func F () {\n\n\na ()\n\n}":                                                false,
		"func F () {\nvar a int // one\nvar bc int // two\n}":                       false,
		"func F () {\nif x {\na ()\n} else {\nreturn\n}\n}":                         false,
		"func (x * RoseWithAVeryLongName) AsPlantWithAVeryLongName () * PlantWithAVeryLongNameIndeed { return x }": false,
		"// F does:\n//\n// - this\n// - that\nfunc F () {}":                                                       false,
		"// F does.\n//\n// A heading\n//\n// It does.\nfunc F () {}":                                              false,
		"// F is ``quoted''.\nfunc F () {}":                                                                        false,
		"// F has\n//\tcode.\nfunc F () {}":                                                                        false,
		"//\tcode\n//\n// F has it.\nfunc F () {}":                                                                 false,
		"//go:noinline\nfunc F () {}":                                                                              false,
		"// F links to [x].\n//\n// [x]: http://example.test\nfunc F () {}":                                        false,
		"// F does.\n//\n//\n// It does.\nfunc F () {}":                                                            false,
		"func F () {\nx = [] * T {a}\n}":                                                                           false,
		"func F () {\na ()\n}\nfunc G () {\nb ()\n}":                                                               false,
	} {
		file := text
		if text[:3] != "pac" && !bytes.Contains([]byte(text), []byte("\npackage")) {
			file = "package p\n\n\n" + text
		}
		file = markerStart + "\n// source\n\n" + file
		want, err := format.Source([]byte(file))
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		got, err := layout([]byte(file))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%q becomes, with error %v,\n%s\nwant\n%s", text, err, got, want)
		}
		if l := (layouter{}); l.decl(text) != own {
			t.Errorf("%q is formatted without go/format: %v, want %v", text, !own, own)
		}
	}
}
