// Package audit writes the record of every decision: lines of JSON, each bound to the one
// before it by a hash. The line of a decision is written before the call is sent. Package
// trail reads the record. What both know of its format is here: [Record], [ReadLine],
// [LogFiles].
//
// # The folder
//
// An editor starts one hub for each window, so each process writes a log of its own:
// LOG.jsonl, and LOG-TIME-size.jsonl for what was rotated out of it. Short processes may go
// on with a log that has ended (Options.Continue). chain.jsonl is common to all logs. It has
// a line for each log that was opened, for its checkpoints and for its end, chained in the
// same way. So a log that is missing or cut short is noticed. docs/audit-format.md has the
// format, and how to check it with another program.
//
// # What is promised
//
// [Recorder.Append] returns when the line is with the operating system, so the line outlives the
// process. Checkpoints are also synced to the disk, each minute with news. A line that a
// crash cut off is recognised, and the next process to open the log adds a line that says so.
//
// [Log.Put] and [Log.Commit] are its two steps, for several decisions with one write.
// Nothing may be done upon a decision before Commit has returned. [Log.PutCalls] puts several
// calls into one line. A [GroupCommit] gathers decisions, writes them, and then lets each take
// effect. Outcomes are written within 200 ms, several in one line.
//
// Lines that cannot be written keep their places in the chain and are tried again. If too
// many wait, further ones are counted, and the count becomes a line. [Recorder] keeps a Log
// open, and opens another if its file was taken away. Nothing is deleted but by [RemoveFile], after a statement in
// chain.jsonl.
//
// # Who owns its state
//
// [Open] starts nothing. [Log.Run] writes checkpoints and outcomes, and returns when the log is
// closed or its file is gone. [Recorder.Run] runs one Log after the other. Append may be called
// from any goroutine: the one who comes first writes for all who wait. Under the mutexes of Log
// and Recorder only the file is written, and nothing is called. The one who has the lock of
// chain.jsonl may take and remove the locks of logs.
//
// # What it refuses to do
//
// It decides nothing and hides no failure: if a line cannot be written, each caller is told and
// decides for itself. It proves nothing against someone who can rewrite the whole folder, unless
// a hash was kept elsewhere. Package redact leaves secrets out by name and form, which is no
// promise.
package audit
