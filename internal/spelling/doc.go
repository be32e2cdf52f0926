// Package spelling finds the word that was most likely meant by another one, for
// messages and for searching.
//
// Concurrency: it keeps no state; any goroutine may call it.
//
// It refuses to guess where two words have little in common.
package spelling
