// Package record writes what was decided about the requests of a session: a line before
// anything goes to a child, and another one when its answer has come. It records requests
// that a child would serve: calls of tools, prompts, resources and completions, and what
// extensions add, their notifications too. It does not record lists, nor what only the hub
// answers, unless such a request is refused.
//
// A [Writer] belongs to one session. There are two ways into the log:
//
//   - [Writer.Enqueue] is for a call that waits for nothing but its line. Calls that
//     come together share a write, of whatever session they are, and a session's
//     share a line. The [Group] of all sessions is where they wait.
//   - [Writer.WriteDecision] is for every other decision. It writes a line for the decision,
//     and returns when that is written.
//
// If the record is required, a request that was not recorded must not be sent.
// [Writer.MaySend] alone says so, for both ways.
//
// A Writer and a Group may be used by any goroutine. A goroutine is started only while calls keep
// coming.
//
// It decides nothing and sends nothing. Arguments are recorded only if that was asked for,
// and package audit redacts them.
package record
