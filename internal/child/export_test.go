package child

import "time"

func SetStartTime(d time.Duration) (restore func()) {
	old := startTime
	startTime = d
	return func() { startTime = old }
}

// NoRunning makes this process one of a system that cannot start what runs.
func NoRunning() { running = "/no/proc" }
