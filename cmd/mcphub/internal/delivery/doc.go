// Package delivery sends the record of decisions to collectors: each line of each log of a folder. A [Syslog] sends it as messages of RFC 5424, over TCP
// or TLS, with the length before each (RFC 6587). Package otlp has the other [Collector].
//
// # What is promised
//
// Each line is delivered at least once, and the lines of one log in their order. A collector gets the line as it is in the file, so the hashes of the
// chain hold there too, with its log and number, by which doubled lines are told. A connection that breaks is made again, and
// what may not have arrived is sent again. A file for each collector keeps how far each log was delivered, for the next hub.
//
// What a collector refuses for good, and what was removed from the folder before it was sent, is counted.
//
// TCP does not report what the other program has read. So a line that goes by syslog counts as delivered if the connection has lasted for a while after it, or
// if the collector has closed it after a message that no more comes. A collector that answers confirms what it has.
//
// # Who owns the state
//
// The goroutine of [Sender.Run]. Of the hubs that share a folder one sends, the one that has the lock.
//
// # What it refuses to do
//
// It holds up no call: it reads the files. It holds no more of them than one batch. It changes no log, and sends no line whose own hash is wrong: verify names
// those.
package delivery
