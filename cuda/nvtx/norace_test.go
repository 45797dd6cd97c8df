//go:build !race

package nvtx_test

// raceEnabled says that the race detector is on, with which pools lose things at
// random.
const raceEnabled = false
