// Package seal makes tokens that whoever carries them can neither read nor
// alter: the state of a request that is answered with a question (2026-07-28,
// basic/patterns/mrtr) goes through the client, who may be anybody.
//
// # What a token holds to
//
// A token opens for the purpose that it was sealed for, with the binding it was
// sealed with (who may bring it, with which request), by a hub that has the
// same key, and until it expires. Purpose and binding are not in it: who opens it says what
// they have to be. Of what is wrong with a token nothing is told but whether it
// has expired, which only its maker can have written.
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
// It does not make a token single-use: who needs that keeps count of what was
// opened. It keeps no clock, no list of tokens, and no key but its own; it
// never logs. The zero Sealer opens nothing.
//
// # Concurrency
//
// A Sealer is immutable and may be used by any number of goroutines.
package seal
