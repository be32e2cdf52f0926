// Package declare holds what is declared about the arguments of tools: by the operator in hub.json, and by the built-in
// profiles of well-known servers (internal/wellknown). A declaration reports which argument is a path in which role, which
// is none, and how a server needs its paths written. For each argument the operator's declaration wins over a
// profile's.
//
// [Rules] and [Profile] are immutable. If only the name of a server states which profile it has, that profile may make
// an argument a path, but exempts none. A declaration that cannot be read is an error, never an empty one.
package declare
