package xgrammar

import (
	"runtime"
	"sync"

	"github.com/tvmffi-go/tvmffi/generated/xgrammar/config"
)

// XGrammar recurses into what is nested, and returns an error at a depth that is its own to set. Its default needs a stack of
// about 5 MB. Threads of Go have 2 MB on Windows: under wine, JSON of 4000 levels was refused, and 5000 ended the process.
const (
	depthByDefault = 10_000
	depthOnWindows = 2_000
)

// fitStack lowers the limit of XGrammar to what the stacks of this system hold, unless the program has set another one.
var fitStack = sync.OnceValue(func() error {
	if runtime.GOOS != "windows" {
		return nil
	}
	depth, err := config.GetMaxRecursionDepth()
	if err != nil || depth != depthByDefault {
		return err
	}
	return config.SetMaxRecursionDepth(depthOnWindows)
})
