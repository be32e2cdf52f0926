// Package callertoken holds the tokens by which callers of an issuer were admitted, as long as their sessions last, so that a
// token for a server can be had in exchange for one.
//
// A [Table] has a [Holder] for each session. The session shows its Holder the token of each request, and the Holder keeps the one that
// lasts longest. [Table.NewestToken] returns the newest token of a principal, among all of its sessions.
//
// Concurrency: a Table and a Holder may be used by any goroutine; the leaf mutex of the Table guards both. The package starts nothing.
//
// # What it refuses to do
//
// A Table holds no token before [Table.SetWanted], and none after the end of the session that showed it. It holds no token of anyone but an issuer. It gives no
// principal the token of another, and none that has expired. A [Token] shows its text to [Token.Reveal] alone: not as it is printed,
// and not as JSON.
package callertoken
