package exportrt

import tvmffi "github.com/tvmffi-go/tvmffi/runtime"

// MakeError returns an error of the kind, as another language makes it.
func (l *Exports) MakeError(kind string, fields map[string]tvmffi.Any) (error, error) {
	return l.errorTypes()[kind].make(fields)
}
