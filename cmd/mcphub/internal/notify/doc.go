// Package notify tells the service manager how the hub stands: that it is ready, reads
// its configuration again, or stops (sd_notify(3): a datagram of lines NAME=VALUE to the
// socket that NOTIFY_SOCKET names).
//
// systemd takes such a message from the main process of a unit alone, unless the unit says
// otherwise. That process is the guardian, so the hub's messages go through it: [Relay] in
// the guardian, which gives the hub one end of a pair of sockets. So no process of a server
// can speak for the hub.
//
// Concurrency: [Relay] starts one goroutine, which ends with the hub. All else may be called
// by any goroutine.
//
// It refuses to pass anything on to the hub, or to who the hub starts: the variable is taken
// out of the environment. If no one listens, nothing is said.
package notify
