// Package logins keeps logins and gives their tokens to the requests of the hub.
//
// A [Store] keeps one [Login] for each server and principal, in the store of secrets.
// Its TokenSet is bound to one issuer and one resource. A [Source] is the login of one
// server and principal as a connection uses it: it gives the token, renews it before it
// ends and when the server refuses it, and reports what helps if there is none.
//
// The tokens of a client itself, and the tokens that are had in exchange for a caller's own, are not kept: the Store holds them for all Sources of
// their name. One that was had in exchange counts no longer than a session holds the caller's token
// that it was had for.
//
// A refresh token may be good for one use only, and several hubs may share a login. So
// the one who renews holds a lock among processes, reads the login again, and uses what
// another has written meanwhile. Within the process one renewal serves all who wait; it
// goes on if they give up. That a renewal has begun is written before it is sent, and
// what comes back is written before it is used. A process that is killed in between may
// lose the login. Then the mark stays: the next renewal tries the token that is there,
// and if the server does not take it any more, the login is marked as lost.
//
// Concurrency: a Store and a Source may be used by any goroutine; one mutex guards what
// is under way. [Store.Wait] returns when no renewal is. New starts nothing.
//
// The package shows no one a token but the request that it is for, and gives no
// principal the login of another.
package logins
