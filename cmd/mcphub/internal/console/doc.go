// Package console serves a page on which a person sees the hubs of this machine's user: what
// runs, what was decided and why, the record, hub.json, and what waits for an answer.
//
// It is a process of its own, and knows the hubs as `mcphub status` does: through their unix
// sockets and the files that they write. What it shows comes from the functions of a [Config].
// Pages are made here, by html/template; a short script asks for the part of a page that
// changes. Without the script everything can be read, and forms do the same.
//
// # Who may look
//
// A browser lends its user's position to every page that it shows. So nothing is shown, read or
// done for a request that does not carry the session's secret, which stands in a hidden
// field of the pages themselves and nowhere else: in no address, no cookie (cookies go to all
// ports of a machine) and no header that a browser adds. It is given once, for a code that a person
// types. See guard.go, and docs/console.md for the attacks.
//
// All text is foreign: html/template escapes markup, and one writer behind it escapes what
// does not print or changes direction.
//
// # Who owns its state
//
// [New] starts nothing. [Server.Run] serves until its context ends, and returns when all that it
// started has ended. The guard and the traffic each have a mutex; all else belongs to one request.
//
// # What it refuses to do
//
// It decides nothing about calls, opens no path, starts no server and writes no file. It answers questions, restarts
// servers, has hub.json read again, and has it changed by an [Edit], if a person clicks that. The hub reports
// whether an answer counts; who writes hub.json looks whether it is what was shown. It listens on the loopback
// address only, loads nothing from elsewhere, and imports none of hub but the shape of its reports.
package console
