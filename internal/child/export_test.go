package child

import "time"

func SetStartTime(d time.Duration) (restore func()) {
	old := startTime
	startTime = d
	return func() { startTime = old }
}
