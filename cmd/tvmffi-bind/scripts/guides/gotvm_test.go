package guides

import (
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/nativetest"
)

// deploy is a library with the kernel of docs/GOTVM.md, which has the interface of a compiled one.
const deploy = `
#include <tvm/ffi/tvm_ffi.h>
namespace ffi = tvm::ffi;
void MyAdd(ffi::TensorView x, ffi::TensorView y, ffi::TensorView sum) {
  for (int64_t i = 0; i < sum.size(0); ++i)
    static_cast<float*>(sum.data_ptr())[i] =
        static_cast<const float*>(x.data_ptr())[i] + static_cast<const float*>(y.data_ptr())[i];
}
TVM_FFI_DLL_EXPORT_TYPED_FUNC(myadd, MyAdd);
`

// TestGotvm runs the program that docs/GOTVM.md has moved over.
func TestGotvm(t *testing.T) {
	library := nativetest.BuildText(t, "deploy", deploy)
	g := guide{
		dir: t.TempDir(), text: section(t, document(t, "docs/GOTVM.md"), "A program moved over"),
		replace: []string{"PATH-OF-THE-CLONE", root(t)}, before: []string{"cp " + library + " deploy.so"},
	}
	if commands, outputs := g.follow(t); commands != 5 || outputs != 1 {
		t.Errorf("the guide has %d commands and %d outputs", commands, outputs)
	}
}
