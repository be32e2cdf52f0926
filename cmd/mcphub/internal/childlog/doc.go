// Package childlog keeps what child servers write to stderr in files, one for
// each child.
//
// A [Book] is one hub's. Its files are DIR/CHILD.log, mode 0600, in a folder
// of mode 0700: each line is
//
//	2026-11-21T13:20:00.123Z git[4242] 1f0c2d3e: the text of the child
//
// with the time in UTC, the child's name and process, and the first eight
// characters of the session that the process serves ("-" where several share
// it). A file that has reached 2 MB is set aside under a name with the time;
// three of those are kept.
//
// Several hubs of one user, as editors start one for each window, do not write
// to the same file, since each would set the file aside under the others' feet.
// Each takes a place when it opens its Book, by a lock on DIR/.place-N that ends
// with its process: the first writes CHILD.log, the second CHILD@2.log, and so
// on. A place that is free again is taken by the next hub, which goes on in its
// files, so there are never more of them than hubs that ran at the same time.
//
// # Concurrency
//
// [Open] starts nothing. [Book.Run] is the only writer of files and returns
// when all that was said before its context ended has been written and the
// place is free. [Book.Say] may be called by any goroutine at any time and
// never waits for the disk.
//
// # What it refuses to do
//
// It takes no more than 100 lines a second of one child, 500 at once, and holds
// 2048 lines that have not been written; what is beyond is dropped and the
// number noted in the file. It does not follow a symlink out of its folder and
// does not use a folder that others can write to. It does not clean text: the
// one who calls Say hands it lines without control characters.
package childlog
