package failure

import "strings"

// PathOf returns the places that err names, as a path such as ["x"][2], and the error there.
func PathOf(err error) (path string, leaf error) {
	var steps strings.Builder
	for {
		f := FailureOf(err)
		if f == nil || f.Cause == nil || f.Step == "" && f.Message != Message(f.Cause) {
			return shorten(steps.String()), err
		}
		steps.WriteString(f.Step)
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
