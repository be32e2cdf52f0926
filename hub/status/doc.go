// Package status has what the hub says about itself, and makes it of what the hub's parts know: [Hub] for
// `mcphub status` and the admin socket, [Roots] for the tool get-roots, [Servers] for the tool list-tools,
// [Explanation] for `mcphub explain`.
//
// Every type is a copy for its reader, and JSON. Members are added, never changed. Texts that came from
// children and clients are made printable here. A new member of a session's status is a field of [Session];
// package hub fills it in (hub/report.go).
//
// The package has no state, and its functions may be called by any goroutine. It refuses to look for
// anything itself: it knows no session, asks no child, and names a variable of a child's environment
// without its value.
package status
