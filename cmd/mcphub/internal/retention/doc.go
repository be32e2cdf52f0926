// Package retention removes the old files of a record of decisions, as audit.keep of hub.json says: those whose lines are
// older than an age, and the oldest ones while all together take more than a size.
//
// A file is removed only if it is whole and chain.jsonl knows its last line. A statement in chain.jsonl, with the
// first and the last hash of what goes, comes before the removal, so that `mcphub audit verify` proves the rest
// (docs/audit-format.md).
//
// # Who owns its state
//
// A [Keeper] has none but what it was made of. Run starts nothing and returns when its context ends. Several hubs may
// keep one folder: each removal happens under the lock of the chain.
//
// # What it refuses to do
//
// It removes nothing from a log that was changed, and nothing at all if chain.jsonl was: that is for a person to look at.
// It never removes the file that a process writes to, nor the one before.
package retention
