// Package pipe has named pipes of Windows for one user alone. They stand in for unix sockets: the kernel states which process has opened
// one.
//
// [Listen] makes a pipe that only this user may open, from this machine. [Dial] opens one, and refuses it if it is another user's.
// [Conn.Client] returns the process at the other end. A [Conn] has deadlines, as net.Conn says.
//
// Concurrency: everything may be called from any goroutine, and Close ends an Accept. The package judges no caller.
package pipe
