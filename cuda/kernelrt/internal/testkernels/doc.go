// Package testkernels are typed kernels for the tests of kernelrt. The kernels do
// nothing.
package testkernels

//go:generate go tool tvmffi-bind gen
