// A module of its own: the benchmark's peers in Go, as users of cgo and of purego write them.
module byhand

go 1.26.0

require github.com/ebitengine/purego v0.11.3
