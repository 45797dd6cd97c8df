// Package environment holds what surrounds a call: the streams and the allocator of a thread,
// signals, and the end of the host. It stands on package callbacks, because the allocator may
// be a Go func.
package environment
