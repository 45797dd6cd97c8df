package docstring_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tvmffi-go/tvmffi/internal/docstring"
	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
)

// cases are texts and the Go doc comments that they become.
var cases = []struct {
	name, text, want string
	params           []string
}{
	{name: "empty"},
	{name: "one line", text: "  Waters the garden.  ", want: "Waters the garden."},
	{name: "numpydoc", text: `Water a plant.

    The water comes from a :py:class:` + "`garden.Tank`" + `,
    which must not be ` + "``empty``" + `.

    Parameters
    ----------
    plant : garden.Plant
        The plant that
        gets the water.
    litres, extra : Optional[int]
        How much.
    *rest
        More plants.

    Returns
    -------
    ok : bool
        Whether there was enough.

    Raises
    ------
    ValueError
        If the tank is empty.

    Notes
    -----
    Do it in the evening.
    `, want: `Water a plant.

The water comes from a garden.Tank, which must not be empty.

Parameters:
  - thePlant (garden.Plant): The plant that gets the water.
  - litres, extra (Optional[int]): How much.
  - rest: More plants.

Returns:
  - ok (bool): Whether there was enough.

Errors:
  - ValueError: If the tank is empty.

Notes: Do it in the evening.`, params: []string{"plant", "litres", "extra", "rest"}},
	{name: "google", text: `Cut a rose.

Args:
    rose (Rose): The rose.
    length (int, optional): In centimetres,
        from the flower.

Returns:
    The flower.

It hurts.`, want: `Cut a rose.

It hurts.

Parameters:
  - rose (Rose): The rose.
  - length (int, optional): In centimetres, from the flower.

Returns: The flower.`, params: []string{"rose", "length"}},
	{name: "doxygen", text: `\brief Digs a hole.
\param depth The depth
       in metres.
\param[out] hole The hole.
@return true if it worked.
\note Mind the roots.`, want: `Digs a hole.

Parameters:
  - depth: The depth in metres.
  - hole: The hole.

Returns: true if it worked.

Notes: Mind the roots.`, params: []string{"depth", "hole"}},
	{name: "lists and code", text: `Kinds:

- rose, which
  has thorns
- tulip

Use it so:

.. code-block:: python

    plant = Rose()
    plant.water()

.. note:: Roses need sun.

Text again::

    x = 1

>>> 1 + 1
2

End.`, want: `Kinds:
  - rose, which has thorns
  - tulip

Use it so:

	plant = Rose()
	plant.water()

Note: Roses need sun.

Text again:

	x = 1

	>>> 1 + 1
	2

End.`},
	{name: "entries without a colon, and without a space", text: `Args:
    *rest
    more plants
    tank:full

Returns:
    water

Raises:
    *ValueError*
    if empty
    KeyError:closed`, want: `Parameters:
  - rest
  - more plants
  - tank: full

Returns: water

Errors:
  - *ValueError*
  - if empty
  - KeyError: closed`, params: []string{"rest", "", "tank"}},
	{name: "not a section", text: "Returns: the plant and\nnothing else", want: "Returns: the plant and nothing else"},
}

func TestGoDoc(t *testing.T) {
	for _, c := range cases {
		doc := docstring.Parse(c.text)
		if got := strings.Join(doc.GoDoc(map[string]string{"plant": "thePlant"}), "\n"); got != c.want {
			t.Errorf("%s:\n%s\nwant:\n%s", c.name, got, c.want)
		}
		if got := doc.Params(); !slices.Equal(got, c.params) {
			t.Errorf("%s: parameters %q, want %q", c.name, got, c.params)
		}
	}
}

func TestGoDoc_wraps(t *testing.T) {
	text := strings.Repeat("some words and ", 30) + strings.Repeat("x", 200)
	lines := docstring.Parse(text).GoDoc(nil)
	if len(lines) < 5 {
		t.Errorf("%d lines", len(lines))
	}
	for _, line := range lines {
		if len(line) > docstring.Width && strings.Contains(line, " ") {
			t.Errorf("a line has %d characters: %s", len(line), line)
		}
	}
}

// TestParse_large reads long paragraphs of short lines, which took minutes when each line was
// added to a string.
func TestParse_large(t *testing.T) {
	lines := strings.Repeat("    a\n", 100_000)
	for _, head := range []string{"", "\\param x\n", "Args:\n  x: y\n", ">>> x\n", "- x\n"} {
		start := time.Now()
		docstring.Parse(head + lines).GoDoc(nil)
		if took := time.Since(start); took > nativetest.Patience(3*time.Second) {
			t.Errorf("%q and 100,000 lines: %v", head, took)
		}
	}
}

// FuzzParse checks that every text has a form, and that the words of its lines survive.
func FuzzParse(f *testing.F) {
	for _, c := range cases {
		f.Add(c.text)
	}
	f.Add("x\n.. code::\n\n\n  y\n- z\n\\param")
	f.Fuzz(func(t *testing.T, text string) {
		doc := docstring.Parse(text)
		doc.Params()
		for _, line := range doc.GoDoc(nil) {
			if strings.Contains(line, "\n") {
				t.Fatalf("a line contains a line break: %q", line)
			}
		}
	})
}

func TestThirdPerson(t *testing.T) {
	for sentence, want := range map[string]string{
		"Return the plant.": "returns the plant.", "Returns it": "returns it", "Copy a file": "copies a file",
		"Copies it": "copies it", "Push x": "pushes x", "Undo all": "undoes all", "Access it": "accesses it",
		"Accesses it": "accesses it", "Reset.": "resets.", "Apply": "applies", "Display it": "displays it",
		"This is": "", "Class of": "", "Roses need sun": "", "": "", "GET x": "", "set x": "", "Set": "sets",
	} {
		got, ok := docstring.ThirdPerson(sentence)
		if ok != (want != "") || ok && got != want {
			t.Errorf("ThirdPerson(%q) = %q, %v; want %q", sentence, got, ok, want)
		}
	}
}
