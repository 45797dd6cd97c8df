package main

//go:generate go tool tvmffi-bind gen --config norm/tvmffi.yaml
