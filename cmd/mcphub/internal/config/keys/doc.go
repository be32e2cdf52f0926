// Package keys has the table of the keys of hub.json: what each is called, what its value must be, its default, and what it
// means. The reader, the reference in docs/config.md and the JSON Schema are all made from the one [Table].
//
// # Concurrency
//
// The table is never changed; any goroutine may read it. The functions are pure.
//
// # What it refuses to do
//
// It reads no text: package config does, along the table. What a function here says is wrong with a text never repeats the
// text, which may be a secret.
package keys
