package failure

import "strings"

// PathOf returns the places that err names, as a path such as ["x"][2], and the error there.
func PathOf(err error) (path string, leaf error) {
	for {
		f := FailureOf(err)
		switch {
		case f == nil || f.Cause == nil:
			return path, err
		case f.Step != "":
			path += f.Step
		case f.Message != Message(f.Cause):
			return path, err
		}
		err = f.Cause
	}
}

// stepOf returns the place that an error names as a step of a path.
func stepOf(place string) string {
	for _, form := range [][3]string{{"field ", ".", ""}, {"element ", "[", "]"}, {"tuple element ", "[", "]"}, {"value of key ", "[", "]"}} {
		if rest, ok := strings.CutPrefix(place, form[0]); ok {
			return form[1] + rest + form[2]
		}
	}
	return ""
}
