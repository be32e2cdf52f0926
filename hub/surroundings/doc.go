// Package surroundings keeps the sessions whose environment or working directory differs from the hub's: which
// configuration each of them goes by, and that children are run as all of those say.
//
// An [Attachment] is prepared, which reads hub.json in its surroundings, and entered. A reload reads it again for all who
// are there ([Table.Follow]).
//
// # Who owns the state
//
// A [Table] has one mutex, held while what is in force is replaced. What a session goes by is its
// [configuration.Current]. All methods may be called by any goroutine.
//
// # What it refuses to do
//
// It reads no disk with its mutex held, and waits for one no longer than a bound: a mount that hangs holds up its own session,
// and neither another one nor a reload. It serves no session, and makes no configuration of settings that it could not serve
// to others as well.
package surroundings
