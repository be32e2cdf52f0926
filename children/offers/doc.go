// Package offers knows what child servers offer: it reads their lists, remembers what was offered last, and
// notices tools that are defined again.
//
// A [RawOffer] is immutable and holds the bytes that the child sent. [Read] asks for the lists of a child over its
// [link.ChildConnection], all pages, within bounds; an odd entry is for who uses it. A list that fails, or is not answered,
// spoils no other and holds none up for long: the offer reports which they are, and who asked asks again.
//
// A [Memory] holds the last offers by name and digest, in memory and in one file for
// each. It is a hint: what comes from it may be shown, and nothing is called by it
// alone. A file that is damaged, of another format, or open to others counts as
// absent. [Definitions] remember how the tools of each entry were defined, beyond the
// life of the hub, and tell when that has changed. Both are guarded by a mutex of
// their own, and any number of hubs may use the folder at a time.
//
// The package decides nothing: which digest stands for a child, who is told about a change, and when to list again
// are package children's. Values of variables are in no file.
package offers
