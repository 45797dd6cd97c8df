package core

import "syscall"

func threadID() int { return syscall.Gettid() }
