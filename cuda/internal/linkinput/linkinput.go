// Package linkinput checks the inputs of a linker for package cuda, which has the linker of the
// driver, and for package nvjitlink, in the same words.
package linkinput

import (
	"fmt"
	"strings"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

const forms = "PTX, a cubin, a fatbin, an object file, a library or LTO IR"

// Complete returns the name and the form of the input with number i. kind is the form that
// the caller gave, whose zero value stands for none, and found is that of the data.
func Complete[Kind interface {
	comparable
	fmt.Stringer
}](i int, name string, data []byte, kind, found Kind) (string, Kind, error) {
	if name == "" {
		name = fmt.Sprintf("input %d", i)
	}
	var unknown Kind
	if kind == unknown {
		kind = found
	}
	switch {
	case strings.IndexByte(name, 0) >= 0:
		return name, kind, refused("the name %q of an input has a NUL byte: remove it", name)
	case len(data) == 0:
		return name, kind, refused("%s is empty: pass the bytes of "+forms, name)
	case kind == unknown:
		return name, kind, refused("%s is %s: pass "+forms, name, found)
	case kind != found:
		return name, kind, refused("%s is %s, and its bytes are %s: pass "+forms, name, kind, found)
	}
	return name, kind, nil
}

func refused(format string, args ...any) error {
	return tvmffi.NewError("ValueError", "link: "+fmt.Sprintf(format, args...))
}
