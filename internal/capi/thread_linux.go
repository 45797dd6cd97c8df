package capi

import "syscall"

func threadID() int { return syscall.Gettid() }
