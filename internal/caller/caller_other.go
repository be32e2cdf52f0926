//go:build !linux && !windows && !darwin

package caller

import "net"

// Peer refuses no one: this system does not say who descends from whom.
func Peer(*net.UnixConn, Want) error { return nil }

// Self refuses no one.
func Self(Want) error { return nil }

// Started returns the time when a process has started: it is not told.
func Started(int) uint64 { return 0 }
