// Package admission decides who may speak to the Streamable HTTP front: by the name that a
// request was sent to, by the page that it comes from, and by its token. It also bounds
// how many connections stay open that have shown nothing, and how many of each principal.
//
// # Who owns the state
//
// An [Admission] does not change. The connections of a listener are [Connections], which
// have one leaf mutex. What a request was admitted by is kept with its connection. All methods may
// be called by any goroutine.
//
// # What it refuses to do
//
// It admits no one whose host, origin or token it does not know: without a list of hosts only the
// names of the address that a connection came to, and everybody only where Options.Open says so. It
// never asks the system who the caller is. Only what a request shows counts. It reads no body.
package admission
