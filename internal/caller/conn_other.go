//go:build !windows

package caller

import "net"

// Conn is how a caller reaches the socket of a hub.
type Conn = *net.UnixConn
