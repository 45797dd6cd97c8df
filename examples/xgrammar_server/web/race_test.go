//go:build race

package web_test

// The race detector keeps notes about memory that was used once.
func init() { slack = 160 << 20 }
