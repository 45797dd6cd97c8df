package ccall

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The numbers that assembly may contain.
var (
	asmComment = regexp.MustCompile(`//.*`)
	asmString  = regexp.MustCompile(`"[^"]*"`)
	asmAllowed = []*regexp.Regexp{
		// The frame and the parameters of a Go function, which go vet compares with its declaration.
		regexp.MustCompile(`^TEXT ·\w+\(SB\), NOSPLIT, \$0-\d+$`),
		regexp.MustCompile(`\w+\+\d+\(FP\)`),
		// The scale of an index register, which is the size of what the instruction reads.
		regexp.MustCompile(`\([A-Z0-9]+\*[1248]\)`),
		// An element of an array of words or of values.
		regexp.MustCompile(`\+\d+\*(const_word|abiAny__size)\)`),
		// The entries of setters and creators, which are numbered.
		regexp.MustCompile(`\b(SETTER|CREATOR)\d+\(\w+(\+\d+)?\)`),
	}
	asmNumber = regexp.MustCompile(`\b(0x[0-9a-fA-F]+|\d+)\b`)
)

// TestNumbers keeps bare numbers out of the assembly: every offset, index and size is a
// name of go_asm.h. Only 0, 1 and the entries of asmAllowed may remain.
func TestNumbers(t *testing.T) {
	files, err := filepath.Glob("*.[sh]")
	if err != nil || len(files) == 0 {
		t.Fatalf("assembly files: %v, %v", files, err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(string(text), "\n") {
			if number := bareNumber(line); number != "" {
				t.Errorf("%s:%d: the number %s has no name:%s", name, i+1, number, line)
			}
		}
	}
}

// bareNumber returns the first number of a line of assembly that should have a name.
func bareNumber(line string) string {
	line = asmString.ReplaceAllString(asmComment.ReplaceAllString(line, ""), "")
	if line = strings.TrimSpace(line); strings.HasPrefix(line, "#include") {
		return ""
	}
	for _, allowed := range asmAllowed {
		line = allowed.ReplaceAllString(line, "")
	}
	for _, number := range asmNumber.FindAllString(line, -1) {
		if number != "0" && number != "1" {
			return number
		}
	}
	return ""
}

func TestBareNumber(t *testing.T) {
	for line, want := range map[string]string{
		"	MOVQ 24(DI), SI":                              "24",
		"	CMPL CX, $65 // 65: a String":                 "65",
		"	MOVQ -64(BP), CX":                             "64",
		"	STP.W (R29, R30), -48(RSP)":                   "48",
		"	TBZ $3, R3, number":                           "3",
		"	MOVD R2<<4, R3":                               "4",
		"	ANDQ $~15, CX":                                "15",
		"	MOVQ $0x100000001, CX":                        "0x100000001",
		"TEXT tvmffi_callBlock(SB), NOSPLIT, $112":      "112",
		"	MOVQ (Head_Res+8)(BX), DI":                    "8",
		"TEXT ·bindVariables(SB), NOSPLIT, $0-16":       "",
		"	MOVQ AX, created+8(FP)":                       "",
		"	MOVQ (R10)(AX*8), R10":                        "",
		"	MOVQ (Within_Args+6*const_word)(BX), AX // 6": "",
		"	SUB $1, R2, R12":                              "",
		"	MOVQ $0, abiAny_Bits(SP)":                     "",
		"	STRING(tvmffi_textInt, \"int\\x00\")":         "",
	} {
		if got := bareNumber(line); got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}
