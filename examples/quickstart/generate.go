package main

//go:generate ./build
//go:generate go tool tvmffi-bind gen
