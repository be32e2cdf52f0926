// Package jsonschema is a copy of github.com/santhosh-tekuri/jsonschema/v6 with one change: a draft's meta-schemas are compiled when a
// schema of that draft is first compiled. The library compiles those of all drafts before main, in every command: 1.7 MB and 21,000
// allocations, a third of the time that a command takes to reach main. It has no other way to be told.
//
// The files are those of the library, under its license (LICENSE). A test holds them to the release in go.mod, and counts the lines
// that differ. For a newer release: copy its files, then change draft.go again where "mcphub" stands.
package jsonschema
