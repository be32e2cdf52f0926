// Package hub joins the parts of mcphub: clients above, child servers below, the
// roots and the judging between them. It decides nothing itself.
//
// # What is where
//
// A front (stdio.go, http.go and package httpfront) reads a frame. Package methods reports what
// each method is, and methods.go what serves it, in which era. A request that a child has to answer
// is looked up and taken through the steps of a call (package call). Lists and what the hub says
// about itself come from the session's catalogue (lists.go, modern_session.go, report.go and package
// status). The hub answers its own tools (tools.go).
//
// # Two eras
//
// A client of the handshake says once what it can do (package handshake). One of
// 2026-07-28 says it with each request, and is asked by the answer (package modern). A call
// sees either as a client.Client. Package modern (hub/modern/child.go) decides what a child of the
// handshake's era sees of a client before that client's first request.
//
// # Both directions
//
// Beside the calls flow progress, cancellation and list_changed (child_callbacks.go), and the hub's
// own question to the client, roots/list. What a child asks its client goes to the session whose
// own child it is, on the request that it belongs to, if the client declared that it can be asked
// so. Requests of a shared child are refused, and its notifications are dropped, unless it serves
// one session alone. Log messages are held to the session's level. Notifications of the client go
// to children by way of the outbox. Tasks go to the one who made them (package tasks).
//
// What the protocol does not know passes too, if it belongs to an extension: a request or
// notification of the client is a Call of the child that has the extension, judged like any other.
// From a child passes what the client declared, and notifications of what the child itself offers.
//
// # Surroundings
//
// A client may bring its own environment, working directory and roots (package surroundings). Its
// session goes by a configuration that was read in them, and its children start in them. A child is
// the same for several sessions if it means the same, which the Variant of its Spec says. Only what
// each session may have otherwise is taken from there: its children, and the roots of a client that
// gives none. Where anything else would differ the session is refused.
//
// # Concurrency
//
// [New] starts nothing. [Hub.Run] runs the supervisor of the children. [Hub.ServeStdio]
// serves one client until its input ends, and returns when every goroutine of that
// session has ended and its children have been told to stop. What a Session holds itself is guarded
// by one leaf mutex. What it is offered (package offering), who serves it (package
// assignment) and its calls have their own. [Hub.Apply] replaces the configuration, one
// immutable value of all that hub.json decides: a tool carries the one that it is judged
// and run by. The functions that the supervisor calls (child_callbacks.go) do not block.
//
// # What it refuses to do
//
// It asks no client of 2026-07-28 for what that request did not declare, and goes on with
// no request but the very one that was asked. It never decodes what passes through into
// typed values, never lets a request of a child reach a client it does not belong to, and
// never forwards a call that was not allowed. It writes to a client's stream nothing but
// protocol.
package hub
