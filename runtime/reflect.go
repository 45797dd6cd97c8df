package tvmffi

import (
	"iter"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/core"
)

// Package reflection asks for the public types through these functions.
func init() {
	core.Dynamic.StateOf = stateOf
	core.Dynamic.Wrap = wrap[*Object]
	core.Dynamic.TakeAny = takeDynamic
	core.Dynamic.LendAny = anyOf
	core.Dynamic.Missing = missing
	core.Dynamic.Entries = eachEntry
}

// takeDynamic is takeAny, first for what is most frequent.
func takeDynamic(v abi.Any) Any {
	if v.TypeIndex <= abi.TypeDevice {
		return Any{index: v.TypeIndex, bits: v.Bits}
	}
	return takeAny(v)
}

// eachEntry calls each with the entries of a Map or Dict and the handles of those
// that are objects, borrowed, until it returns false.
func eachEntry(o *core.Object, each func(key, value Any, keyHandle, valueHandle uintptr) bool) (err error) {
	defer catch(&err)
	var all iter.Seq2[Any, Any]
	if o.TypeIndex() == abi.TypeDict {
		all = wrap[*Dict[Any, Any]](o).All()
	} else {
		all = wrap[*Map[Any, Any]](o).All()
	}
	for key, value := range all {
		if !each(key, value, key.object.Handle(), value.object.Handle()) {
			break
		}
	}
	return nil
}
