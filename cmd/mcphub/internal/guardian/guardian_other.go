//go:build !linux

package guardian

import "os"

// IsRunning reports whether this process has a guardian.
func IsRunning() bool { return false }

// AloneReason says nothing: no hub is shared on this system.
func AloneReason() string { return "" }

// ClientPID returns the process that has started this hub.
func ClientPID() int { return os.Getppid() }

// GiveBack does nothing.
func GiveBack() {}
