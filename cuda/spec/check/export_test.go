package check

import "github.com/tvmffi-go/tvmffi/internal/abi"

// Fast reports whether the fast way knows all checks, and whether it accepts the arguments.
func Fast(c *Checker, args ...any) (knows, accepts bool) {
	var nums [few]int64
	return c.fast.ok, c.fast.accept(args, &nums)
}

// Slowly does all checks in order, like BindPacked.
func Slowly(c *Checker, v *Values, args []abi.Any) error {
	v.reset(c)
	return c.slowly(v, source{packed: args, n: len(args)})
}
