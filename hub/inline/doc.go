// Package inline serves clients of version 2026-07-28: no handshake, no session,
// no request from the server. Each request says in its _meta what its client can
// do, and a client is asked something by the result of its request, which it
// sends again with the answers (multi round trip requests, MRTR).
//
// It reads _meta (meta.go), strips from a request what belongs to this hop alone,
// and gives results the shape of this era (result.go).
package inline
