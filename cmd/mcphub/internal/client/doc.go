// Package client is a client of a Hub in the same process, for the commands that make one
// call or judge it. Their requests go the way that they go in serve.
//
// Concurrency: [With] runs the Hub, its front and the connection on goroutines
// of its own, and returns when all have ended. A Session may be used by several
// goroutines at a time.
//
// It decodes the list of tools and no other result: those are shown as they came.
package client
