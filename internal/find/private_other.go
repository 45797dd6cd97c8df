//go:build !unix

package find

import "io/fs"

func othersMayWrite(fs.FileInfo, bool) (why, remedy string) { return "", "" }
