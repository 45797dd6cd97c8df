package tvm

//go:generate go run github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind gen
