// Package edit changes single entries in configuration files of other programs
// and leaves every other byte as it is: comments, order, line ends, byte order
// mark, trailing commas and the like.
//
// A file is JSON with comments, TOML or YAML. A parser reports where things are;
// the edit itself is made on the text, as a few [Splice]s. Every edit is checked
// before it is returned: the result is parsed again and must differ from the
// original by exactly what was asked for. What cannot be edited in this way is
// an error, and nothing is changed.
//
// An edit can be taken back by its record, also after others edited the file:
// [Undo] finds the text that was put in by what stands around it, and if that
// has changed too, it takes back what the text means.
//
// Functions take the text of a file and return another. None of them touches a
// disk, starts anything or keeps state, so all may be called at the same time.
package edit
