//go:build !linux

package sandbox

// isForeign returns false: no kernel but Linux asks about files.
func (f *File) isForeign(string) bool { return false }
