//go:build !linux

package notify

// Tell does nothing: no service manager of this system listens.
func Tell(...string) {}

// Reloading returns what is told at the beginning of a reload.
func Reloading() []string { return nil }
