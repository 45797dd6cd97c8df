package check

// Fast reports whether the fast way accepts the arguments.
func Fast(c *Checker, args ...any) bool {
	var nums [few]int64
	return c.fast.accept(args, &nums)
}

// Slowly does all checks in order.
func Slowly(c *Checker, args ...any) error { return c.closer(args) }
