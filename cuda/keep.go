package cuda

import (
	"slices"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// Keep keeps values alive until the stream has done the work that is queued on it so
// far. The driver works with addresses: without Keep, the collector may end a tensor
// whose memory a kernel still uses. A *tvmffi.Tensor may also be released by its
// owner at once, because Keep holds a reference of its own. [Memory.Free] waits for the
// device by itself, and Keep does not delay it.
//
// Keep records an event and costs nothing where it is not called. The stream drops the values
// after the work is done, at the next Keep for this stream or the next Synchronize of the device
// or of one of its streams. Everything that a graph uses must outlive the graph, so Keep
// for a stream that is captured is an error.
func (st *Stream) Keep(values ...any) (err error) {
	if st == nil {
		return aStream.none()
	}
	h, err := st.get()
	if err != nil {
		return err
	}
	if err := keepable(values); err != nil {
		return err
	}
	return st.s.with(func(g *guard) error {
		k := &st.s.keeper
		event, err := k.record(g, &st.s.gate, h)
		if err != nil {
			return err
		}
		k.hold(h, event, references(values))
		k.look(g, h)
		return nil
	})
}

// keepable refuses values that have ended already.
func keepable(values []any) error {
	for i, v := range values {
		var err error
		switch v := v.(type) {
		case *tvmffi.Tensor:
			_, err = cell(v)
		case *Memory:
			_, err = v.at(nil)
		}
		if e, ok := err.(*tvmffi.Error); ok {
			return valueError("value %d to keep: %s", i, e.Message)
		}
	}
	return nil
}

// references returns what to hold for values: themselves, and references to their tensors.
func references(values []any) []any {
	held := slices.Clone(values)
	for _, v := range values {
		switch v := v.(type) {
		case *tvmffi.Tensor:
			held = append(held, reference(v))
		case *Memory:
			for ; v != nil; v = v.parent {
				if v.tensor != nil {
					held = append(held, reference(v.tensor))
				}
			}
		}
	}
	return held
}
