package kernelrt

// Check is what the tests of the bounds call.
var Check = (*Kernel).check
