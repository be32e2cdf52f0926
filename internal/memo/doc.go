// Package memo keeps what is made of a key, so that it is made once.
//
// A [Map] may be used by any goroutine: its mutex is held while a value is made. A [Looks] makes values while no mutex is held.
//
// It forgets nothing: it is for keys of which there are few, and ends with what holds it.
package memo
