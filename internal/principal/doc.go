// Package principal says whom a session belongs to: the user of this machine, the client of
// a configured token, or someone for whom an issuer vouches.
//
// A [Principal] is made where someone is admitted, and read where calls are judged, recorded
// and shown. It is an immutable value, safe for any number of goroutines.
//
// # What it refuses to do
//
// It authenticates no one and decides nothing. The zero value is no one: the one who has
// reached an address that asks for no token.
package principal
