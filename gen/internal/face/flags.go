package face

import (
	"slices"
	"strconv"

	"github.com/tvmffi-go/tvmffi/internal/crossing"
)

// Flags reports whether the values of e are bits, as those of 1 << iota are: each bit from 1 on has a
// constant, up to the last one, and all other constants are 0 or made of these bits. Constants that count
// up, such as 1, 2, 3 and 4, are those of an ordinary enum.
func (e *Enum) Flags() bool {
	if e.Kind != crossing.KindInt {
		return false
	}
	var values []uint64
	single := uint64(0)
	for _, m := range e.Members {
		v, err := strconv.ParseUint(m.Value.Text, 10, 64)
		if err != nil {
			return false // a negative number
		}
		if v&(v-1) == 0 {
			single |= v
		}
		values = append(values, v)
	}
	slices.Sort(values)
	values = slices.Compact(values)
	n := len(values)
	return single != 0 && single&(single+1) == 0 && values[n-1] <= single && values[n-1]-values[0] >= uint64(n)
}
