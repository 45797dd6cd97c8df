package calls

// Lose does what two goroutines do that count at the same time.
func (v *Batch) Lose(what string) {
	switch what {
	case "an argument":
		v.start--
		v.used--
	case "a call":
		v.serial--
	case "the limit":
		for v.serial <= v.limit {
			v.serial++
			v.used++
		}
		v.start = v.used - v.width
	}
}
