// Package failure knows what it means that a request has no result: what its client is
// told, and what the record says.
//
//   - An error that ends a request has one [Kind], from which all else follows.
//   - An answer of a confined child may report what the kernel has refused it. The client is
//     told so.
//
// There is no state. All functions may be called by any goroutine.
//
// It decides nothing: a verdict or an error is there already. It sends nothing. Package texts has what it tells.
package failure
