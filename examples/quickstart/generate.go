package main

//go:generate go tool tvmffi-bind build -o libsynth.so native/synth.cc
//go:generate go tool tvmffi-bind gen
