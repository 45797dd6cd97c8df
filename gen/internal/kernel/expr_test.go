package kernel

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// sizes are the names that the expressions of these tests may use.
var sizes = []string{"n", "m", "n.rows$0", "range"}

func lookup(name string) (int, error) {
	for i, s := range sizes {
		if s == name {
			return i, nil
		}
	}
	return 0, fmt.Errorf("unknown name %s", name)
}

// text writes an expression with all parentheses.
func (e *Expr) text() string {
	switch {
	case e.Func == "CeilDiv" || e.Func == "Min" || e.Func == "Max":
		return fmt.Sprintf("%s(%s, %s)", strings.ToLower(e.Func), e.A.text(), e.B.text())
	case e.Func != "":
		operator := map[string]string{"Add": "+", "Sub": "-", "Mul": "*", "Div": "/", "Mod": "%"}[e.Func]
		return fmt.Sprintf("(%s %s %s)", e.A.text(), operator, e.B.text())
	case e.Var >= 0:
		return sizes[e.Var]
	case e.Value < 0:
		return fmt.Sprintf("(0 - %d - 1)", -(e.Value + 1))
	}
	return fmt.Sprint(e.Value)
}

func TestExpr(t *testing.T) {
	for text, want := range map[string]string{
		"n":                          "n",
		" ( n )\n":                   "n",
		"n\n+ m":                     "(n + m)",
		"n - m - 2":                  "((n - m) - 2)",
		"n + m * 2 % n":              "(n + ((m * 2) % n))",
		"(n + m) / 2":                "((n + m) / 2)",
		"n.rows$0*range":             "(n.rows$0 * range)",
		"max(n, min(m, 3))":          "max(n, min(m, 3))",
		"ceildiv(n + 1, 256)":        "ceildiv((n + 1), 256)",
		"08":                         "8",
		"1 + 2 * 3":                  "7",
		"ceildiv(7, 2) + 7 / 2":      "7",
		"(0 - 7) / 2":                "(0 - 3 - 1)",
		"(0 - 7) % 4 + min(1, 2)":    "2",
		"0 - 9223372036854775807":    "(0 - 9223372036854775806 - 1)",
		"ceildiv(0-7,2) + max(1, 3)": "0",
	} {
		e, err := parseExpr(text, lookup)
		if err != nil || e.text() != want {
			t.Errorf("%q: %v, %v, want %s", text, e, err, want)
		}
	}
}

func TestExprErrors(t *testing.T) {
	const operand = `expected a number, the name of a size, ceildiv(), min(), max() or "(", `
	for text, want := range map[string]string{
		"":                        `byte 0: ` + operand + `found the end`,
		"n +":                     `byte 3: ` + operand + `found the end`,
		"-n":                      `byte 0: ` + operand + `found '-'`,
		"n * *m":                  `byte 4: ` + operand + `found '*'`,
		"n // 256":                `byte 3: ` + operand + `found '/'`,
		"n /* 2 */":               `byte 3: ` + operand + `found '*'`,
		"()":                      `byte 1: ` + operand + `found ')'`,
		"min(n, m,)":              `byte 9: ` + operand + `found ')'`,
		"(n":                      `byte 2: expected an operator or ")", found the end`,
		"(n m)":                   `byte 3: expected an operator or ")", found 'm'`,
		"n m":                     `byte 2: expected an operator or the end, found 'm'`,
		"n)":                      `byte 1: expected an operator or the end, found ')'`,
		"n;":                      `byte 1: expected an operator or the end, found ';'`,
		"n[0]":                    `byte 1: expected an operator or the end, found '['`,
		"n << 2":                  `byte 2: expected an operator or the end, found '<'`,
		"n .m":                    `byte 2: expected an operator or the end, found '.'`,
		`n "m"`:                   `byte 2: expected an operator or the end, found '"'`,
		"1.5":                     `byte 0: 1.5 is not a whole number of 64 bits`,
		"n + 0x10":                `byte 4: 0x10 is not a whole number of 64 bits`,
		"99999999999999999999":    `byte 0: 99999999999999999999 is not a whole number of 64 bits`,
		"n + k":                   `byte 4: unknown name k`,
		"2 * ceil(n)":             `byte 4: there is no function ceil: use ceildiv, min or max`,
		"(min)(n, m)":             `byte 0: there is no function (min): use ceildiv, min or max`,
		"ceildiv(n)":              `byte 0: ceildiv takes two arguments, found 1`,
		"max(1, 2, 3)":            `byte 0: max takes two arguments, found 3`,
		"n / (4 - 4)":             `byte 2: a division by 0`,
		"n % 0":                   `byte 2: a division by 0`,
		"ceildiv(n, 0)":           `byte 0: a division by 0`,
		"9223372036854775807 + 1": `byte 20: 9223372036854775808 does not fit 64 bits`,
	} {
		want = strings.Replace(want, ":", fmt.Sprintf(" of %q:", text), 1)
		if e, err := parseExpr(text, lookup); err == nil || err.Error() != want {
			t.Errorf("%q: %v, %v\nwant %s", text, e, err, want)
		}
	}
}

// FuzzExpr reads texts. An expression that is accepted is written with all parentheses and
// reads as itself again; an error has an offset in the text.
func FuzzExpr(f *testing.F) {
	for _, text := range []string{"n", "ceildiv(n.rows$0, 256)", "(0 - 7) % 4", "n // 2", "min(n, m,)", "1.5", "range\n+1", "é", "n;", "(((", "\xff"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		e, err := parseExpr(text, lookup)
		if err != nil {
			var at int
			if _, scan := fmt.Sscanf(err.Error(), "byte %d of ", &at); scan != nil || at < 0 || at > len(text) {
				t.Errorf("%q: the error has no place: %v", text, err)
			}
			return
		}
		if again, err := parseExpr(e.text(), lookup); err != nil || !reflect.DeepEqual(again, e) {
			t.Errorf("%q reads as %s, which reads as %v, %v", text, e.text(), again, err)
		}
	})
}
