// Package atomicfile writes files in one step: who reads one sees what it held before
// or what it holds now, never a part, also after a crash.
//
// Concurrency: it keeps nothing. Of two that write one file at a time the later wins.
// It follows no link and makes no folder: the caller says which file is meant.
package atomicfile
