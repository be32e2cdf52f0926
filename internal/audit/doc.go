// Package audit is the record of every decision: lines of JSON, each bound to
// the one before it by a hash, written before what they tell of happens.
//
// # The folder
//
// Every process writes a log of its own, LOG.jsonl and what was rotated out of
// it (LOG-TIME-size.jsonl), because an editor starts one hub for each window.
// Short ones go on with the log that another has ended (Options.Continue), so
// that there are no more of those than run at the same time.
// chain.jsonl is common to all: a line for each log that was opened, for each
// checkpoint of it, and for its end, chained in the same way. So a log that is
// missing, or lost its end, is noticed as well as a line that was changed.
// docs/audit-format.md says how to check all that with another program.
//
// # What is promised
//
// [Log.Append] returns when the line is with the operating system, so it
// outlives the process, however that ends; checkpoints are also synced to the
// disk, every minute while there is news. A line that a crash has cut off is
// recognised, and closed by a line that says so when the next log is opened.
// [Log.Put] and [Log.Commit] are Append in two steps, for many decisions with
// one write; what they hold meanwhile must not be acted upon. [Log.PutCalls] is
// Put for many that share a line too. A [Group] gathers those, and lets each be
// acted upon once the line is written, not before. An outcome is written within 200 ms, with
// others in one line.
//
// Lines that cannot be written keep their places and are tried again; where too
// many wait, those that follow are counted and the count is a line of its own.
// What closes a log of somebody else, and lines of chain.jsonl, are written whole
// or not at all. [Recorder] keeps a Log at work, opens another where its file was taken away,
// and tells how that stands. Nothing is ever deleted.
//
// # Concurrency
//
// [Open] starts nothing. [Log.Run] writes checkpoints and what was left to it;
// it returns when the log is closed, or its file is gone. [Recorder.Run] runs one
// Log after the other. Append may be called from any goroutine: whoever comes
// first writes for all who came by then, so that many callers share one write.
// The mutexes of Log and Recorder are leaves but for the file itself. Locks of
// logs are taken and removed by whoever has the lock of chain.jsonl.
//
// # What it refuses to do
//
// It decides nothing and hides no failure: where a line cannot be written the
// caller is told, every time, and decides itself. It proves nothing against
// somebody who can rewrite the whole folder and had no copy of its head taken
// elsewhere; [Verify] takes such a head. What package redact leaves out of
// the lines is a net of names and forms, no promise.
package audit
