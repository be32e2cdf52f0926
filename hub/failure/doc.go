// Package failure knows what it means that a request comes to nothing: what its client is
// told, and what the record says.
//
//   - An error that ends a request has one [Kind], from which all else follows.
//   - A call that the policy denies, or that nobody approved, has a text that a model and
//     its user read: what happened, where, and what to do next.
//   - An answer of a confined child may tell what the kernel has refused it. The client is
//     told so.
//
// There is no state. All functions may be called by any goroutine.
//
// It decides nothing: a verdict or an error is there already. It sends nothing. Of
// hub.json a text names servers, the rule that decided and what that rule is about, and lines to
// change; nothing else.
package failure
