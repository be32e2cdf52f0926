// Package otlp exports the spans of the hub and the lines of its record by OTLP over HTTP, as the variables OTEL_* of the
// OpenTelemetry specification say. For spans it is the SDK of OpenTelemetry for Go, behind the interface
// of package tracing. For the record it is a Collector of package delivery, which knows how far the record was sent.
//
// The SDK is in a program that was built with the tag "otlp", as the container image is. Any
// other has [Built] false and none of it: it would cost each start of each hub, and a tenth of
// the program, for what few have.
//
// # Concurrency
//
// A [Tracing] is used by any goroutine. Its spans wait in the SDK's queue, and one goroutine of
// the SDK sends them; Close ends it. What there is no room for is dropped, as the SDK does. A Collector belongs to the one
// goroutine that delivers.
//
// # What it refuses to do
//
// It sends nothing unless a variable asks for it, no matter that the specification has an
// address for where none is named. It waits for no collector while the hub serves.
package otlp
