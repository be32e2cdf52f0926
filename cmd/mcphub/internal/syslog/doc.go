// Package syslog sends the record of decisions to a collector: each line of each log of a folder as a message of RFC 5424, over TCP or TLS,
// with the length before it (RFC 6587).
//
// # What is promised
//
// Each line is delivered at least once, and the lines of one log in their order. A message has the line as it is in the file, so the hashes of the
// chain hold at the collector too, and names its log and number, by which doubled lines are told. A connection that breaks is made again, and
// what may not have arrived is sent again. A file keeps how far each log was delivered, for the next hub.
//
// TCP does not report what the other program has read. So a line counts as delivered if the connection has lasted for a while after it, or if the
// collector has closed it after a message that no more comes.
//
// # Who owns the state
//
// The goroutine of [Sender.Run]. Of the hubs that share a folder one sends, the one that has the lock.
//
// # What it refuses to do
//
// It holds up no call: it reads the files. It changes no log, and sends no line whose own hash is wrong: verify names those.
package syslog
