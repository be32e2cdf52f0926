// Package broken reports what a line may have been that cannot be read as a JSON-RPC message: cut off, glued to another one,
// with a log in front, or over the limit. A [Scanner] looks for ids of requests and of answers, so that the call that such a
// line answered ends with an error and need not wait for ever.
//
// It may be wrong about hopeless lines. All that follows from a find is that a single call ends with an error, or that a
// single request is refused.
//
// # Concurrency
//
// A Scanner belongs to one goroutine and to one line. Scan is pure.
//
// # What it refuses to do
//
// It repairs nothing and returns no values but ids. It keeps no more of a line than a few ids and its last bytes, however
// long the line is.
package broken
