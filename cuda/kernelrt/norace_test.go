//go:build !race

package kernelrt_test

const raceEnabled = false
