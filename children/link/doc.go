// Package link describes what a connection to a child is, whatever the transport:
// a [ChildConnection] carries requests and notifications as raw bytes, serves what the child
// sends, and reports how it ended.
//
// It holds what the packages below children have in common: the interfaces of
// a connection, the ways in which one fails, and the types of results. A transport
// (children/process, children/remote) implements ChildConnection; a protocol on top of one
// (children/modernlink) is a ChildConnection itself.
//
// The package has no state and starts nothing. It knows neither Specs nor
// instances, and decodes nothing that passes.
package link
