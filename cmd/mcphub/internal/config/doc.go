// Package config reads hub.json, the one file in which an operator states which child
// servers exist and what they may do.
//
// The file is JSON with comments and trailing commas (package jsonc). One table (package
// keys) names every key with its type, its default and its meaning; the reader goes along
// it. An entry copied out of a client's own configuration works unchanged: alias.go
// turns the spellings of the common clients into ours.
//
// # What fails, and how far
//
// Reading never stops at the first problem. A problem inside an entry of mcpServers fails
// that server alone: it is returned with Err set, must not be started, and the others
// load. A problem anywhere else makes the file unusable, because a boundary, a policy or
// a token that could not be read must not be taken for one that was never written.
// Unknown keys are warnings, except where dropping the key would open something: below
// policy, roots.when, http.tokens, and the entry's paths and tools, and when the key looks
// like a misspelling of one that guards.
//
// # Concurrency
//
// Load, Parse and Default may be called from any goroutine and
// start none. A *File is never changed after it was returned; share it freely,
// and do not write to it.
//
// # What it refuses to do
//
// It runs no command, opens no file but the one named, follows no include and
// never looks for hub.json in the working directory: editors start the hub in
// the project, and a cloned repository must not start programs. It touches no
// path that the file names: whether it exists, where it leads and what "~"
// means is for those to judge who use it. It does not expand ${root} and
// ${roots}, which are known only when a child starts.
package config
