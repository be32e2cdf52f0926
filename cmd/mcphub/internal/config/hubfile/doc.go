// Package hubfile knows hub.json as a file: where it is ([Find]), how a path leads to it ([Follow]), what it reads, and when
// it becomes another ([Watcher]), by content or by the way that leads to it.
//
// # Concurrency
//
// The functions may be called from any goroutine. Watcher.Run starts no goroutine but fsnotify's, which ends with it;
// Changes may be read by any goroutine.
//
// # What it refuses to do
//
// It does not look into the file: package config does. It reads the file that is named and no other, never one of the
// working directory that no one named, and never decides whether a change is to be used.
package hubfile
