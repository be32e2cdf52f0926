// Package schema checks the arguments of a call against the tool's own inputSchema, and reports what the schema says about a string:
// that it is a path, a URI, one of a list, a date.
//
// [Read] decodes what a child sent, and [Compile] makes a [Schema] of it. Nothing is loaded from the network or from files. Patterns
// are the patterns of ECMA. [Sound] knows without compiling that an everyday schema compiles, so that tools that no one calls cost
// little.
//
// A call first asks [Schema.Plainly], which can only say yes. In every other case [Schema.Validate] decides. The call's
// budget pays for that, because schema and arguments are both untrusted and may be expensive together.
//
// [Schema.Read] also finds out whether arguments fit once they are read as many servers read them, and if they are read otherwise. It
// proposes readings if the schema is violated, and the whole schema decides about the result, so no keyword is interpreted twice. The
// readings are lossless: what is written in a string is strict JSON, and fits as it is.
//
// If alternatives of a schema disagree about a string, the one that leaves it a path counts.
//
// A Schema is immutable and safe for concurrent use. A call is denied if checking it exceeds a limit.
package schema
