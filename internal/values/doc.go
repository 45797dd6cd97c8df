// Package values holds values of the ABI outside of a call: a view with what keeps it alive,
// conversions between the kinds of numbers, new strings, bytes, large ints and tensors, and the
// arithmetic of shapes. It stands on package failure.
package values
