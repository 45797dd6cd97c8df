//go:build vendored

package vendored

import (
	_ "github.com/tvmffi-go/tvmffi/cuda"
	_ "github.com/tvmffi-go/tvmffi/cuda/kernelrt"
	_ "github.com/tvmffi-go/tvmffi/cuda/spec"
	_ "github.com/tvmffi-go/tvmffi/runtime"
	_ "github.com/tvmffi-go/tvmffi/runtime/bindrt"
	_ "github.com/tvmffi-go/tvmffi/runtime/define"
	_ "github.com/tvmffi-go/tvmffi/runtime/exportrt"
	_ "github.com/tvmffi-go/tvmffi/runtime/exportrt/faults"
	_ "github.com/tvmffi-go/tvmffi/runtime/exportrt/python"
	_ "github.com/tvmffi-go/tvmffi/runtime/exportrt/typed"
	_ "github.com/tvmffi-go/tvmffi/runtime/structural"
)
