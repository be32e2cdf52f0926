// Package telemetry counts and times what a hub does, for the one who watches it.
//
// A [Telemetry] belongs to one hub, a [Session] to one client of it, a [RequestTiming] to one request.
// Package record holds the seam: where a decision is written down it is counted, and where
// its outcome is, it is timed. A nil *Telemetry, a nil *Session and a zero RequestTiming are for a hub
// that no one watches: they do nothing.
//
// # Names
//
// What the protocol knows is named by OpenTelemetry's conventions for MCP
// (semantic-conventions-genai, docs/gen-ai/mcp.md), translated as Prometheus does. What the
// hub alone knows begins with mcphub_. docs/metrics.md has all of them.
//
// # Labels
//
// Values come from hub.json, from tools that are listed, and from lists in this package.
// Whatever else there is becomes [exposition.Other], or _OTHER if the conventions say so. A
// server has at most maxTools names of tools; the names of later ones are counted together.
// So neither a client nor a server decides how many series there are.
//
// # Concurrency
//
// All values are atomic. What finds them by name is guarded by leaf mutexes, and bounded. A
// Call belongs to the one who has the request.
//
// # What it refuses to do
//
// It keeps no argument, no result, no path, and no one's name unless hub.json asks for that
// (metrics.principals). It walks no session and no child to write the page: what is counted
// there is counted when it changes.
package telemetry
