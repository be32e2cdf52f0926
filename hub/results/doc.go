// Package results shortens text results of tools that are too large for a client, and keeps
// the whole of each for as long as it may be read.
//
// [Store.Cut] makes of such a result its head and tail, reports how much lies between, and names a resource, mcphub://results/ID. [Store.Read]
// is what resources/read of that gives: one page of the whole. What is not too large passes as the bytes that it came in.
//
// # What counts
//
// The text of a result is what all its text blocks and embedded text resources hold, one after the other, with a line break between two of them.
// structuredContent is all or nothing: a part of it would not fit the schema that a client holds it to. So it is left out if the text is cut, or
// if it is itself too large, and has a resource of its own. (Package catalog leaves the schema out of the definition of such a tool: a client
// that knows one insists on structuredContent.) Images, audio and blobs stay.
//
// # Who owns the state
//
// A [Shelf] belongs to a hub, a [Store] to one session of it. The mutex of the Shelf guards both;
// it is a leaf, and nothing is read or cut while it is held. All methods may be called by any goroutine.
//
// # What it refuses to do
//
// It gives nothing to any other session: each has a Store of its own, and ids that no one can guess. It writes nothing to a disk, and holds no
// more of a session, nor of all together, than the constants of store.go say. What has no room at all is not cut. It judges nothing, but asks
// each time a result is read whether that is withheld by now ([Origin]). It records nothing: what it gives was answered to the same client
// before.
package results
