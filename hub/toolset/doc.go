// Package toolset decides what of the servers a session sees.
//
// A [Set] names servers, tools and exceptions, as hub.json does under toolsets. A [Table] holds all Sets, and which of them
// clients and projects choose. [Table.ViewOf] makes the [View] of one session of what is known of that session, its [Claim]:
//
//  1. The token bounds it, and so does --toolset: only what both name is left.
//  2. A URL chooses within the bound. Without one and without --toolset the name of the client and its project choose there.
//  3. A file in the project narrows that: of the toolsets that it names, those count that are selectable and that the session would have
//     without the file.
//  4. If nothing chooses, the session has the bound. If nothing bounds it either, it sees everything: its View is nil.
//
// A View of several Sets shows what one of them shows. A name that no Set has shows nothing, so that a Set which a reload has
// taken away leaves less and never more.
//
// # Who owns the state
//
// There is none: all values are immutable.
//
// # What it refuses to do
//
// It believes no client: what a client says about itself only narrows. It judges no call and hides nothing by itself:
// hub/configuration makes the configuration of a session with a View, and everything that is listed, found or called there comes
// from that configuration.
package toolset
