// Package metricsfront serves what is counted of a hub over HTTP, as a page that Prometheus reads.
//
// # Who owns the state
//
// What is counted belongs to package telemetry. A listener owns its connections
// ([admission.Connections]); nothing is left of it when [Serve] returns.
//
// # What it refuses to do
//
// It tells nothing to web pages, nor by a name that is not the hub's, nor without the token if there is one. It
// has one page, which is only read, and keeps few connections open of those who have shown no token.
package metricsfront
