package main

//go:generate go tool tvmffi-bind gen --from native/kernels.json --package cutekernels --out ./cutekernels
