// Package trail reads the record that package audit writes: it hands out its lines, now or
// as they come, matches decisions with their outcomes, and verifies that nothing was removed
// or changed.
//
// [Each] hands out decisions by time, [Newest] and [Last] the newest ones: they keep a block of each log, however long the
// record is. [Decisions] keeps them all. A [Filter] picks. [Read] goes through all lines, [Scan] through their decisions on all processors,
// [Follow] through what is written from now on.
// [ReadClients] tells whose sessions they are of. [Verify] checks the chain of each log, and
// each log by chain.jsonl.
//
// Readers take no locks. The hubs of the folder may write meanwhile: a line that is not
// complete yet is no line, and Verify looks again if a log has changed.
//
// # Who owns its state
//
// There is none beside a call: Follow and Scan return when all that they started has ended.
//
// # What it refuses to do
//
// It writes nothing and repairs nothing. A line whose hash or form is wrong is never read as
// something else. It cannot determine that someone has made the whole folder again, unless a
// hash that was kept elsewhere is given to Verify.
package trail
