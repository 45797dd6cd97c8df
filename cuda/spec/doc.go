// Package spec describes the arguments that a kernel takes, and lists what has to
// be checked before it may be called: data types, devices, shapes with symbolic
// sizes that are shared between arguments, strides, alignment.
//
// A description is written in Go,
//
//	n := spec.Sym("n")
//	f := spec.New("add",
//		spec.Tensor{Name: "a", DType: spec.Float32, Shape: []spec.Dim{n}},
//		spec.Tensor{Name: "b", DType: spec.Float32, Shape: []spec.Dim{n}},
//		spec.Var{Name: "k", DType: spec.Int32},
//		spec.Stream{Name: "stream"})
//
// as text in the notation of kernels compiled by the CuTe DSL and by TVM, which
// print it in their messages,
//
//	f, err := spec.Parse("add(a: Tensor([n], float32), b: Tensor([n], float32), k: int32, stream: Stream)")
//
// in which "tvm:" before the name chooses the [Dialect] of TVM, or as JSON. docs/KERNELS.md in
// the repository defines the notation.
//
// [Func.Plan] turns a description into an ordered list of elementary checks with
// their messages, which are those of the CuTe DSL, or of TVM 0.27 where [Func.Dialect] says
// so; docs/KERNELS.md says what of this is compared with real kernels. Package check runs it; the
// generator writes it as Go code and as a table. This package is plain data: it needs
// neither CUDA nor libtvm_ffi.
package spec
