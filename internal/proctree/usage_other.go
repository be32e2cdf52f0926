//go:build !linux

package proctree

// Written returns 0: it is not known here.
func Written(int) int64 { return 0 }
