// Package configuration holds what a hub goes by: everything that hub.json decides, as
// one immutable value.
//
// [Settings] are what a hub is given. A [Configuration] is made of them: its children have a name
// and a revision, and what they offer is read by it. A reload makes another one. [Current]
// reports which one is in force.
//
// [Configuration.For] is the one place that decides what a session may see: by the rules for its principal, and by its
// toolsets. A child that no toolset shows is not in what it returns.
//
// In other [Surroundings] than the hub's own the settings may be others. The Configuration
// that [Configuration.ForClient] makes of those has the same Number. What serves everybody
// is served by both as by the hub's own.
//
// # Who owns the state
//
// A Configuration is not changed, but for two channels and for what it has read of the offers of
// children, which one leaf mutex guards. So one load of Current gives parts that belong together.
// The one who waits is told by [Configuration.Replaced] that another one has taken its place.
//
// # What it refuses to do
//
// It starts no child, tells no session, and reads no file of the configuration. No
// Configuration is made without a Checker.
package configuration
