package main

//go:generate go tool tvmffi-bind gen --config gemm/tvmffi.yaml
