//go:build generate

package main

//go:generate go tool tvmffi-bind gen
