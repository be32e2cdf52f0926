// Package record writes what was decided about the requests of a session: a line before
// anything goes to a child, and another one when its answer has come. It records requests
// that a child would serve: calls of tools, prompts, resources and completions. It does
// not record lists, nor what only the hub answers, unless such a request is refused.
//
// A [Recorder] belongs to one session. There are two ways into the log:
//
//   - [Recorder.Plain] is for a call without anything to judge. It does not wait. Calls
//     that come together share a line and a write.
//   - [Recorder.Decide] is for every other decision. It writes a line for the decision,
//     and returns when that is written.
//
// If the record is required, a request that was not recorded must not be sent.
// [Recorder.May] alone says so, for both ways.
//
// A Recorder may be used by any goroutine. It starts one only to write for a group of
// calls that goes on.
//
// It decides nothing and sends nothing. Arguments are recorded only if that was asked for,
// and package audit redacts them.
package record
