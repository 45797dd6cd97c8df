package main

import (
	"go/parser"
	"go/token"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/tvm/vm"
)

// TestGenerate writes functions and parameters whose names Go does not allow.
func TestGenerate(t *testing.T) {
	tensor := `R.Tensor((n, 4), dtype="float32")`
	code, err := generate("model", "a\nb.so", []vm.Signature{
		{Name: "main", Params: []vm.Param{
			{Name: "x", Type: tensor}, {Name: "m"}, {Name: "func", Type: "R.Shape"}, {Name: "x", Type: tensor}, {Name: "é"}, {Name: "2", Type: "`\n*/"},
		}, Result: tensor},
		{Name: "get_logits2"},
		{Name: "2nd"},
		{Name: "–"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parser.ParseFile(token.NewFileSet(), "model.go", code, parser.AllErrors); err != nil {
		t.Errorf("%v\n%s", err, code)
	}
	for _, want := range []string{
		"package model", "the model a b.so.",
		"func (m *Model) Main(x *tvmffi.Tensor, m_ any, func_ any, x_ *tvmffi.Tensor, p4 any, p5 any) (*tvmffi.Tensor, error) {",
		"return m.fMain.CallTensor(x, m_, func_, x_, p4, p5)",
		"func (m *Model) GetLogits2() (tvmffi.Any, error) {", "func (m *Model) F2nd()", "func (m *Model) F()",
		"//\tx " + tensor + "\n", "//\treturns " + tensor + "\n",
	} {
		if !strings.Contains(string(code), want) {
			t.Errorf("the code lacks %q:\n%s", want, code)
		}
	}
	for name, bad := range map[string][]vm.Signature{"a-b": nil, "a": {{Name: "x_y"}, {Name: "xY"}}} {
		if code, err := generate(name, "m.so", bad); err == nil {
			t.Errorf("there is no error for %s:\n%s", name, code)
		}
	}
}
