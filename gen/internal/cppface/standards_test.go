//go:build e2e

package cppface

func init() { standards = append(standards, "c++20") }
