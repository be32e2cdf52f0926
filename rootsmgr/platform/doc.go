// Package platform holds the rules by which Linux, macOS and Windows read paths and
// file URIs.
//
// A [Platform] is one family of such rules, [Host] this process's. What a path is made
// of, which paths and names no filesystem can mean ([Platform.CheckPath]), and which
// links each process sees differently ([Platform.IsMagic]) are pure functions of it, so
// the rules of Windows are tested anywhere.
//
// A file URI is read in three ways. [Platform.ParseRootURI] is for what clients send as
// a root, and tolerates what they get wrong. [Platform.ReadURI] is for an argument of a
// call, and returns every path that some program takes it for. [Platform.ParseURI]
// takes only what has one reading. [Platform.FormatURI] writes the canonical form.
//
// The package has no state and asks no filesystem: it follows no links, and compares no
// letter case. It cuts nothing off and repairs nothing silently; what it cannot read
// for certain is an error.
package platform
