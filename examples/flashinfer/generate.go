package main

//go:generate go tool tvmffi-bind gen --config norm/tvmffi.yaml
//go:generate go tool tvmffi-bind gen --config page/tvmffi.yaml
//go:generate go tool tvmffi-bind gen --config rope/tvmffi.yaml
//go:generate go tool tvmffi-bind gen --config attention/tvmffi.yaml
