// Package atomicfile writes files in one step: who reads one sees what it held before
// or what it holds now, never a part, also after a crash.
//
// Concurrency: it keeps nothing. Of two that write one file at a time the later wins.
// It makes no folder, and the caller says whether a link or what it leads to is meant.
package atomicfile
