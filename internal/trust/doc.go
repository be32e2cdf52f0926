// Package trust secures the connections to one server beyond what the system does: by an authority of its own, by the
// server's key, and by a certificate that this program shows.
//
// [Settings] are what hub.json says. [Settings.Server] makes of them what connections to the server itself need, and
// [Settings.Authority] what those to other hosts need that belong to it, such as its authorization server: the authority
// alone, no pin and no certificate.
//
// Each handshake reads the files that have changed since the one before, so that a certificate that is renewed in its
// place counts for the next connection. What cannot be used is an error, which names the file and its line of hub.json,
// and there is no connection.
//
// Concurrency: Settings are a value. What is made of them may be used by any goroutine; one mutex for each file guards what
// was read of it.
//
// It refuses to weaken anything: an authority is added to the ones of the system, a pin is asked for beside a chain that
// was verified, and a host must be the one that the certificate names. No error holds a private key.
package trust
