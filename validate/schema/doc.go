// Package schema holds the arguments of a call against the tool's own inputSchema, and tells what the schema says of a
// string: that it is a path, a URI, one of a list, a date.
//
// [Read] decodes what a child sent, [Compile] makes a [Schema] of it: nothing is loaded, from the network or from files,
// and patterns are those of ECMA. [Sound] knows without compiling that an everyday schema compiles, so that thousands of
// tools that nobody calls cost nothing.
//
// A call first asks [Schema.Plainly], which reads the tree without a copy and can only say yes. Whatever it is not sure
// of [Schema.Validate] decides, at the expense of the call's budget: schema and arguments are both untrusted, and
// together they can be made to cost anything.
//
// What a schema says of a value is conservative: where alternatives disagree, the one that leaves it a path counts.
//
// A Schema is immutable and safe for concurrent use. It refuses what it cannot check: past a limit the call is denied.
package schema
