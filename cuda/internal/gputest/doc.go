// Package gputest holds the tests of package cuda that run on any driver: on the GPU of
// this machine, as bench/gpu does, or on that of testdata/fakecuda.
package gputest
