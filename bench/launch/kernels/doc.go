// Package kernels has the kernels whose launches bench measures, and a typed func for
// one of them.
package kernels

import _ "embed" // of the image

// Image is PTX with the kernels empty, saxpy and busy, which launch.cu shows.
//
//go:embed launch.ptx
var Image []byte

//go:generate go tool tvmffi-bind gen
