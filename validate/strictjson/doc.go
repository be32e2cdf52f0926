// Package strictjson reads the arguments of a call as every parser reads them, or not at all.
//
// [Tree.Parse] walks them once as I-JSON: unique names, valid Unicode, one object, bounded depth, size and number of
// values. Without it two programs could read two different calls from the same bytes, and the one that was judged would
// not be the one that runs. The [Tree] that the walk leaves aliases the bytes and decodes nothing until it is asked.
//
// [Tree.ParseNested] reads JSON inside a string and hangs it below, so that a single pointer runs through both. There
// every reading of a lenient parser counts: names may occur twice, and comments, single quotes and trailing commas are
// made standard first, by code that does not recurse and counts how deep it goes.
//
// A Tree belongs to one goroutine. It refuses to repair: what is malformed is an [Error], never a guess.
package strictjson
