package kernelrt

// Best is what the tests of the choice call.
var Best = best

// Check is what the tests of the bounds call.
var Check = (*Kernel).check
