// Package access names what a tool does with a path: it reads, writes or deletes it, or the argument is no path at all.
//
// A [Role] is a value, safe for concurrent use. [Parse] refuses every word that is none of the four of hub.json.
package access
