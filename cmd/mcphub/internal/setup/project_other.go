//go:build !linux

package setup

// programFolder returns "": programs lie in folders of the system, or of applications.
func programFolder(int) string { return "" }
