package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestEngineData: the peers get a vocabulary without doubles, and the document in its tokens.
func TestEngineData(t *testing.T) {
	all := vocabulary()
	if len(all) != vocabularySize || !slices.Equal(all, vocabulary()) {
		t.Fatalf("%d tokens, want the same %d each time", len(all), vocabularySize)
	}
	if n := len(slices.Compact(slices.Sorted(slices.Values(all)))); n != vocabularySize {
		t.Errorf("%d different tokens, want %d", n, vocabularySize)
	}
	var text strings.Builder
	tokens := tokenize(engineDocument, all)
	for _, number := range tokens {
		text.WriteString(all[number])
	}
	if text.String() != engineDocument || len(tokens) > len(engineDocument)/2 {
		t.Errorf("%d tokens are %s", len(tokens), text.String())
	}
	dir := t.TempDir()
	if n, err := engineData(dir); err != nil || n != len(tokens) {
		t.Fatalf("engineData returned %d, %v, want %d", n, err, len(tokens))
	}
	for name, lines := range map[string]int{"vocabulary.hex": vocabularySize, "document.txt": len(tokens)} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || strings.Count(string(b), "\n") != lines {
			t.Errorf("%s: %d lines, %v, want %d", name, strings.Count(string(b), "\n"), err, lines)
		}
	}
}

// TestEngineVerdicts: a ratio comes from the undisturbed runs, and overhead is beyond the C API.
func TestEngineVerdicts(t *testing.T) {
	rows, err := chosenEngines("vm_int,xg_mask,disco_tensor", 7)
	if err != nil || len(rows) != 3 || rows[0].title != "XGrammar: masks for 7 tokens" {
		t.Fatalf("chosenEngines returned %v, %v", rows, err)
	}
	if _, err := chosenEngines("vm_int,vm_float", 7); err == nil || !strings.Contains(err.Error(), `"vm_float"`) {
		t.Errorf("a row that is not there: %v", err)
	}
	m := measurements{
		{"vm_int", "cpp", "vm_int"}:               undisturbed(50, 50, 50),
		{"vm_int", "ours", "vm_int"}:              undisturbed(80, 90, 99),
		{"vm_int", "python", "vm_int"}:            undisturbed(150, 150, 150),
		{"xg_mask", "cpp", "xg_mask"}:             undisturbed(100, 100, 100),
		{"xg_mask", "ours", "xg_mask"}:            undisturbed(101, 104, 300),
		{"xg_mask", "python", "xg_mask"}:          undisturbed(200, 200, 200),
		{"disco_tensor", "ours", "disco_tensor"}:  undisturbed(10, 10, 10),
		{"disco_tensor", "python", "disco_bytes"}: undisturbed(20, 20, 20),
		{"rpc_int", "ours", "rpc_int"}:            undisturbed(10, 10, 10), // is not among the rows
		{"rpc_int", "python", "rpc_int"}:          undisturbed(1, 1, 1),
	}
	m[key{"xg_mask", "ours", "xg_mask"}].quiet[2] = false
	table, missed := m.engineVerdicts(rows)
	for _, want := range []string{
		"| Relax VM: int -> int | overhead, times that of Python | 0.333 | 0.400 | 0.300 | 0.490 | **missed** |",
		"| XGrammar: masks for 7 tokens | times the C API | 1.05 | 1.025 | 1.010 | 1.040 | met |",
		"| times Python | 0.5 | 0.512 | 0.505 | 0.520 | **missed** |",
		"| times Python with bytes | 1.1 | 0.500 | 0.500 | 0.500 | met |",
	} {
		if !strings.Contains(table, want) {
			t.Errorf("no %q in\n%s", want, table)
		}
	}
	if len(missed) != 2 || !strings.Contains(missed[1], "Relax VM: int -> int, 0.400 overhead, times that of Python, at most 0.333") {
		t.Errorf("missed: %q", missed)
	}
}
