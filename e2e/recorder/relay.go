package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"strings"
)

// relay lends its standard streams to a server that a test has in its own process: at is HOST:PORT/NAME, and the server is told the
// name in the first line. It ends with the server.
func relay(at string) int {
	address, name, _ := strings.Cut(at, "/")
	conn, err := net.Dial("tcp", address)
	if err != nil {
		fmt.Fprintln(os.Stderr, "recorder:", err)
		return 2
	}
	go func() {
		_, _ = io.Copy(conn, io.MultiReader(strings.NewReader(name+"\n"), os.Stdin))
		_ = conn.(*net.TCPConn).CloseWrite()
	}()
	if _, err := io.Copy(os.Stdout, conn); err != nil {
		return 1
	}
	return 0
}
