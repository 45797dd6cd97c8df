//go:build race

package kernelrt_test

// raceEnabled says that the race detector is on, with which pools lose things at
// random.
const raceEnabled = true
