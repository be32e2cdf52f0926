// Package hints is about what the kernel has refused a confined child, and who is told
// about it in which words.
//
// The kernel tells no one but the child. So a [Reader] reads what the child says: errors,
// results, its standard error. It takes a text for a refusal if it speaks of one, and names
// a path that the child's profile closes and that its user could open, or if the child's
// entry or the call does. A text that names nothing of that kind counts for nothing. But an
// answer that holds no more than the status of a failed program is reported once, as
// unexplained.
//
// There are two listeners. [Text] is for the client, and so for a model: it names the path,
// and no command but one that only looks. [RemedyFor] is for a person at a terminal: the
// command that opens the path, or why there is none.
//
// A Reader belongs to one run of a child. Its methods may be called from any goroutine.
//
// The package opens nothing and decides nothing. What a child says may be made up: it is
// never a reason to open something, only to say so.
package hints
