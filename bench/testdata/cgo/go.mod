// A module of its own: the benchmark's cgo peer, as a user of cgo writes it.
module cgo

go 1.26.0
