//go:build !unix

package sites

import "io/fs"

func othersMayWrite(fs.FileInfo, bool) (why, remedy string) { return "", "" }
