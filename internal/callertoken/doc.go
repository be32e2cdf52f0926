// Package callertoken holds the tokens by which callers of an issuer were admitted, as long as their sessions last, so that a
// token for a server can be had in exchange for one.
//
// A [Table] has a [Holder] for each session, which keeps the tokens that requests of the session show. The context of the work on a request has the token of
// that request ([OfContext]), so a call goes by the token that it came with. For what the hub asks a server by itself [Table.NewestToken] returns a
// token of the sessions of one owner. Sessions of one principal that may do different things, such as sessions of different groups, have different owners.
//
// Concurrency: a Table and a Holder may be used by any goroutine; the leaf mutex of the Table guards both. The package starts nothing.
//
// # What it refuses to do
//
// A Table holds no token before [Table.SetWanted], and none after the end of the session that showed it. It holds no token of anyone but an issuer. It gives no
// owner the token of another, and none that has expired. A [Token] shows its text to [Token.Reveal] alone: not as it is printed,
// and not as JSON.
package callertoken
