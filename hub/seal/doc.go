// Package seal makes tokens that their carrier can neither read nor alter. They are
// for what goes through the client, who may be anybody: the state of a request that is
// answered with a question (2026-07-28, basic/patterns/mrtr), and the id of a session
// where several hubs share a key.
//
// # What a token holds to
//
// A token opens only for the purpose and the binding that it was sealed with, by a hub
// with the same key, and until it expires. The binding says who may bring the token,
// with which request. Purpose and binding are not in the token: the one who opens it
// reports what they must be. The error says only whether a token has expired, or is
// wrong in another way, so that it helps no one to forge one.
//
// # How
//
// Each token has a key of its own, derived by HKDF-SHA-256 (RFC 5869) from the
// Sealer's key and 24 random bytes at its head, and is encrypted by AES-256-GCM
// (NIST SP 800-38D) under it. So no nonce is ever used twice, however many
// tokens there are. Purpose and binding are authenticated with it.
//
// # What it refuses to do
//
// It does not make a token single-use: callers that need that must remember what was
// opened. It keeps no clock, no list of tokens, and no key but its own; it
// never logs. The zero Sealer opens nothing.
//
// # Concurrency
//
// A Sealer may be used by any number of goroutines, also while its secrets are replaced.
package seal
