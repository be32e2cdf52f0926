// Package catalog knows what is on offer: the tools, prompts, resources, resource
// templates and extensions of all children, under the names that clients use.
//
// A [Builder] holds one configuration. It works in two steps, so that the costly
// one is done once for each child and not once for each session. [Builder.Read]
// makes an [Offer] of what one child listed: it compiles the schemas of tools,
// cleans titles and descriptions, and leaves out what cannot be offered, with the
// reason. [Builder.Catalog] joins the offers of the children of one session into a
// [Catalog], where every [Tool] and [Item] has its name towards the client.
//
// # Names
//
// A tool or a prompt is called by the prefix of its child and its own name. Where two want one name, both get a mark
// that depends on child and name alone, so neither shadows the other. A resource keeps its URI. Where two children
// list one URI, the first child of the configuration keeps it, and the URI of the other one names its child
// (mcphub://CHILD/URI, or ui://CHILD/REST for an app). What a tool, or its result, says about the app that it belongs
// to follows.
//
// Skills are known by URIs, and these are more than names: a person has agreed to one. So what was decided of them
// outlives a catalogue and a configuration ([SkillURIs]). What two children claim is no one's by that URI, and each
// has it below its name, so that a hub that starts again decides the same in whatever order they come. It is one
// decision for all principals: a URI means the same in every session, on record and in what a person has allowed.
//
// # Toolsets
//
// A Builder For a [toolset.View] makes catalogues of the part that this view shows. [Builder.Show] takes that part out of an offer, so
// that a session holds nothing else. What is hidden is answered as what no child has.
//
// # Children that are being replaced
//
// An offer that another Builder read stays on the lists for as long as its child is
// being replaced. It is not found by its name: a call waits for the new child.
//
// # State
//
// Offers, tools, items and catalogues never change once they are made, and may be used by any number of goroutines.
// Pages are made when someone asks for them first, and so is what all calls of a tool without paths have in common
// ([Tool.CommonDecision]). It stands here because it lives as long as the tool. A Builder remembers its last catalogues behind
// a mutex of its own, so that sessions with the same offers share one. [Redefinitions] and [SkillURIs] have mutexes
// of their own as well.
//
// # What it refuses to do
//
// It starts no child, waits for nothing, and tells no one of a change. It judges no call. It never decodes a
// definition and encodes it again: what is not cleaned or renamed goes to the client as the child sent it.
package catalog
