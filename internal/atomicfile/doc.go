// Package atomicfile writes files in one step: who reads one sees what it held before
// or what it holds now, never a part, also after a crash.
//
// On Windows no one can replace a file while a program reads it, unless the program has opened it for that. Open and Read do, and so the
// hub reads its own files by them. Write tries again for up to a second.
//
// Concurrency: it keeps a lock between Read and Write on Windows, and nothing else. Of two that write one file at a time the later wins.
// It makes no folder, and the caller reports whether a link or what it leads to is meant.
package atomicfile
