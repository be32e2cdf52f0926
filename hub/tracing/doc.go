// Package tracing knows the context of a trace that a request carries in its _meta: its place there,
// what is passed on of it, and who makes the spans of the hub.
//
// The context is as in W3C Trace Context and Baggage, under the unprefixed names that MCP keeps
// for it (SEP-414). A [Tracer] makes spans; cmd/mcphub/internal/otlp has the one that exports them. A hub
// without a Tracer passes on what came.
//
// # Concurrency
//
// All functions are pure. A Tracer is used by any goroutine, a Span by the one who has the request.
//
// # What it refuses to do
//
// It passes on nothing that is no context: a traceparent that the specification does not allow, and what
// stands beside it, is left out, and so is what is longer than its bounds. It does not read what a
// context means: not the members of baggage, and not the members of tracestate.
package tracing
