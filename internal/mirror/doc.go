// Package mirror is about the HTTP headers that repeat parts of a request
// (2026-07-28, basic/transports/streamable-http, Request Metadata): which
// parameters of a tool its inputSchema marks for that (x-mcp-header), how a
// value is spelled in a header, and whether a header and a body say the same.
// Who sends requests and who takes them in read a schema with the same eyes, so
// that neither expects what the other does not send.
//
// # How a schema is read
//
// A mark counts where properties alone lead to it from the root, on a parameter
// of one type: string, integer or boolean. Anywhere else, on several types at
// once (null is one), with a name that no header may have or that another mark
// has, it makes the definition invalid. What stands in const, enum, default and
// examples is data. A schema may have any number of marks; one that goes deeper
// than 100 and may have marks there is invalid.
//
// # What it refuses to do
//
// It knows no connection, no tool by name and no error code of the protocol: it
// reports what is wrong, and others decide what follows. It gives a value that
// two readers could take for different ones no text.
//
// # Concurrency
//
// All of it is pure.
package mirror
