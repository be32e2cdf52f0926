// Package client describes what the hub needs of the one who made a request: how it is told and asked, and how its roots stand.
//
// A [Client] is one of either era, on either front; packages handshake and modern are the two. The context of the work on a
// request has one value of the hub, its [RequestContext].
//
// # Who owns the state
//
// The package has none. A Client guards itself, and a RequestContext does not change.
//
// # What it refuses to do
//
// No one below asks of which era a client is, or by which transport it came: what differs is a method of the Client. Its word for
// the era is for reports.
package client
