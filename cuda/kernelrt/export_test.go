package kernelrt

// Best is what the tests of the choice call.
var Best = best
