// Package record writes what was decided of the requests of a session: a line
// before anything goes to a child, another one when its answer has come. Recorded
// are requests that a child would serve: calls of tools, prompts, resources and
// completions. Lists, and what only the hub itself answers, are not. Where such a
// request is refused, that is.
//
// A [Recorder] belongs to one session. Each decision takes one of two ways into
// the same log. A call in which there is nothing to judge waits for no goroutine:
// calls that come together share a line and a write ([Recorder.Plain]). Any other
// decision has a line of its own, and its goroutine waits until that is written
// ([Recorder.Decide]). What was not recorded may not be sent where the record is
// required: [Recorder.May] alone says so, for both.
//
// A Recorder may be used by any goroutine and starts none, but that a group of
// calls that goes on is written by one.
//
// It decides nothing and sends nothing. Arguments are not recorded unless that is
// asked for, and package audit redacts what is.
package record
