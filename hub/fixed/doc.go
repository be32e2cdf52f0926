// Package fixed is about arguments of tools to which hub.json gives a value ("tools": {"set": ...} of an entry).
//
// [Hide] takes such an [Argument] out of the schema that clients see, and [Apply] puts its value into the arguments of a
// call. What Apply returns is what is judged, recorded and sent.
//
// # What it refuses to do
//
// Apply takes no value of a client for such an argument: not the same value, not null, not in an object that occurs twice, and not
// under a name that a lenient server could take for it, which has the same letters and digits in another case or width, with other
// signs between them, or joins names of the path ("repo.owner"). If the place of the argument is not in an object, the call is
// refused: a server may read JSON in a text. Hide leaves no tool on offer whose schema does not declare the argument, or refers to
// itself so often that the search has no end in reasonable time.
//
// There is no state. All functions may be called by any goroutine.
package fixed
