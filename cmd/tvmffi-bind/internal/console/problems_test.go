package console

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
)

func TestProblems(t *testing.T) {
	one := errors.New(`rename: "garden.watr": it matches no bound item; remove the line or correct the name; did you mean garden.water?`)
	two := fmt.Errorf(`tvmffi.yaml:12:3: prefix: "garden." must not end with a dot: %w`, fs.ErrInvalid)
	three := errors.New(`rename of function:garden.dig: the name Load is taken; choose another: rename: {"garden.dig": "Load2"}`)
	for _, alone := range []error{one, fmt.Errorf("plan: %w", errors.Join(one))} {
		if got := Problems(alone); got != alone {
			t.Errorf("a single problem became %q", got)
		}
	}
	got := Problems(fmt.Errorf("plan: %w", errors.Join(one, errors.Join(two, three))))
	want := strings.Join([]string{
		`3 problems:`,
		`                    rename: "garden.watr"          it matches no bound item`,
		`                                                   -> remove the line or correct the name; did you mean garden.water?`,
		`  tvmffi.yaml:12:3: prefix                         "garden." must not end with a dot: invalid argument`,
		`                    rename of function:garden.dig  the name Load is taken`,
		`                                                   -> choose another: rename: {"garden.dig": "Load2"}`,
	}, "\n")
	if got.Error() != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if !errors.Is(got, fs.ErrInvalid) {
		t.Error("the errors are lost")
	}
	if got := Problems(errors.Join(one, one)).Error(); !strings.HasPrefix(got, "2 problems:\n  rename: \"garden.watr\"  it matches") {
		t.Errorf("without a place: %s", got)
	}
	many := Problems(errors.Join(slices.Repeat([]error{one}, 23)...)).Error()
	if strings.Count(many, "it matches") != 20 || !strings.HasSuffix(many, "\nand 3 more problems") {
		t.Errorf("23 problems: %s", many)
	}
}
