//go:build darwin || windows

package caller

import "errors"

var (
	errUntold     = errors.New("it cannot be told whether the process that asks is a hub's server")
	errNoTerminal = errors.New("only the client can be asked on this system: the hub cannot tell who is at a terminal")
)
