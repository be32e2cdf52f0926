// Package definition holds what servers define to what every client accepts. A client reads a list as a whole: one tool that its
// SDK cannot read takes all tools of all servers away.
//
// [Check] compares one tool, prompt, resource or resource template with the protocol's own schema and with what the official
// TypeScript SDK demands beyond it. It returns the definition byte for byte if that is valid. It mends what has one obvious meaning,
// such as null for a member that may be absent, and names each mend. It refuses any other definition.
//
// The shapes are tables (shapes.go) that a single walk reads. Clients of 2026-07-28 accept more schemas than those before: see [Older]. v1 of the SDK
// compiles the schemas of results when it lists tools. Whether it can is no matter of shapes (results.go, pattern.go): the check is stricter than that
// compiler, since what it lets pass in error would cost the client all tools, and what it leaves out only a check of results.
//
// # What it refuses to do
//
// It keeps no state and decides nothing about a call. It does not clean texts, rename, or look into the schemas of arguments: package
// catalog and package validate do.
package definition
