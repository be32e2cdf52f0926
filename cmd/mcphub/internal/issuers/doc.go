// Package issuers tells whose an access token is that one of the configured issuers
// has signed: a JWT (RFC 9068) whose signature, issuer, audience, times and scopes are
// right. It maps claims to the principal and to the directories that the principal
// never leaves.
//
// A [Verifier] owns the keys of its issuers and the tokens that it has verified
// lately. It fetches an issuer's metadata (RFC 8414, OpenID Connect Discovery) and
// keys when the first token comes, again when they have held for as long as the issuer says, an
// hour at most, and later no more than one time in a few seconds,
// however many tokens with unknown keys come. While the issuer cannot be asked its keys count for a day. All its methods may be called by any number of
// goroutines. It starts none.
//
// It refuses to decide what a principal may do, and to speak HTTP with clients: see
// package hub/httpfront. It accepts no token that is signed with a shared secret or
// not at all.
package issuers
