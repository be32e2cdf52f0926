// Package hub joins the rooms of mcphub: clients above, child servers below,
// the roots and the judgement between them. It decides nothing itself.
//
// # The life of a call
//
// Whatever a client asks of a child is a [Call]: a tool, a prompt, a resource, a
// completion, a subscription, something of an extension. What differs is its target
// (target_tool.go, target_request.go).
//
//  1. The front (stdio.go, [httpfront]) reads a frame; methods.go says for each method
//     what it is and who serves it, in which era.
//  2. Lookup, in the session's catalogue (package catalog): an immutable value
//     behind an atomic pointer, which may hold what children offered in an earlier
//     run (remember.go). A name that may belong to a child which has not listed its
//     tools yet waits for that child. A hub tool goes its own way (tools.go).
//  3. Scan: the raw argument bytes as strict JSON, the tool's own schema, which
//     strings are paths. Where nothing is found no roots are needed.
//  4. Roots: the boundary of this session, no older than the last change that the
//     client announced before this call (roots.go).
//  5. Lease: the right to call the instance, started if need be, with these roots
//     served and applied, which may take a while (starting.go). One that does not run
//     is judged by how it would be started first (foretell.go). Should the child
//     define the target otherwise than the catalogue, again from step 3.
//  6. Judge, with the instance's own working directory. A denial becomes the text of
//     refuse.go and never reaches the child.
//  7. Approve: a call that a rule escalates is put to a person (approve.go and package approval);
//     what they allow is granted and served to the child, and the call judged again
//     with the bytes it had.
//  8. Record: the decision, whatever it is, is with the operating system before
//     anything is sent; what cannot be recorded is denied where hub.json says so
//     (package record).
//  9. Send: the judged bytes go out with only the name and the progress token
//     replaced; the child's answer comes back as it was sent.
//
// What a reload overtakes before it is sent begins anew with the lookup. A call
// of a tool is tried without waiting first: see call_nowait.go.
//
// # Two eras
//
// The life above is that of a handshake client's call. One of a client of 2026-07-28
// (no handshake, no request to the client) lives it too: package inline is its
// adapter, and inline.go what the two need of each other. A Call knows its client
// by the interface client alone. A child of the handshake's era that asks for roots
// in the middle of a call whose client has brought none waits while that client is
// asked; what names may be links is judged once more before the child is given them
// (fetch_roots.go).
//
// What a child is told of a client that it meets before any request, and what a
// client is told beside its answers, see bridgedCaps and package subscribe.
//
// # Sharing
//
// share.go assigns a session to one instance of each child: its own, the one of
// its root set, or everybody's. The root set is a digest of URIs, paths and
// names in their order, so the roots of such an instance never change; other
// roots move the session to another instance. It joins the new one, then looks
// for it in every new call, then leaves the old one, where calls under way end.
// Because the roots choose the process, every call to such a child waits for the
// roots that the client announced before it, with or without a path in it, and
// the tool is judged as the instance has it that serves the session then.
// A child that serves everybody is served the configured roots, read once.
// Status, tools and list_changed come from the instance that serves the session
// now; what is still told of a former one is dropped.
//
// # Both directions
//
// Beside the calls flow progress, cancellation and list_changed (relay.go) and
// the hub's own question to the client, roots/list (ask.go). What a child asks
// its client goes to the session whose own child it is, on the way of the request
// that it belongs to (ask_child.go, package inflight), where the client declared that it
// can be asked so (caps.go); what a shared child asks is refused, and what it
// says beside is nobody's, unless it serves one session alone. Log messages are
// held to the session's level (logging.go), tasks go to whoever made them
// (package tasks).
//
// What the protocol does not know passes too, where it belongs to an extension
// (extensions.go): a request or notification of the client is a Call of the
// child that has the extension, judged like any other; from a child passes what the
// client declared, and notifications of what the child itself offers.
//
// # Concurrency
//
// [New] starts nothing. [Hub.Run] runs the supervisor of the children;
// [Hub.ServeStdio] serves one client until its input ends and returns when every
// goroutine of that session has ended and its children have been told to stop. A Session's
// tables are guarded by one leaf mutex, and what it is offered (offering.go) by another; its catalogue is replaced, never changed,
// and so are its assignments (package assignment), under Hub.mu.
// [Hub.Apply] replaces the generation, one immutable value of all that hub.json
// decides; a tool carries the one that it is judged and run by.
// The observer methods that the supervisor calls do not block.
// Calls that wait for nothing but their line are in the session's audit group
// (record.Recorder): whoever finds nobody at it writes the line of all and sends
// them.
//
// # What it refuses to do
//
// It asks no modern client for what that request did not declare, and goes on
// with no request but the very one that was asked.
// It never decodes what passes through into typed values, never lets a request
// of a child reach a client it does not belong to, and never forwards a call that
// was not allowed. It writes to a client's stream nothing but protocol.
package hub
