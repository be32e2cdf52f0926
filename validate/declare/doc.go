// Package declare holds what is declared about the arguments of tools: by the operator in hub.json, and by the built-in
// profiles of well-known servers (profiles/*.json). It says which argument is a path in which role, which is none, and how
// a server needs its paths written. The operator's word wins over a profile's, argument by argument.
//
// [Rules] and [Profile] are immutable once they are made. What nothing but a server's own name speaks for may make an
// argument a path, and exempts none. A declaration that cannot be read is an error, never taken for one that says nothing.
package declare
