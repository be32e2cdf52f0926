package tracing

import "time"

// A Tracer makes spans.
type Tracer interface {
	// Begin begins a span.
	Begin(Start) Span
}

// A Span is one that was begun, and is to be ended once.
type Span interface {
	// Context returns what a child of the span is told.
	Context() Context
	// End ends the span, with more attributes. failed: it is one of an error.
	End(at time.Time, failed bool, more ...Attribute)
}

// A Start is what a span begins with.
type Start struct {
	Name       string
	Client     bool    // the span is of a request that is made; else of one that is served
	Parent     Context // what was carried; its Baggage is passed on
	Within     Span    // of the same Tracer, which stands instead of Parent; nil: none
	At         time.Time
	Attributes []Attribute
}

// An Attribute is a name of the conventions, or of the hub's own, and its value; one whose value is "" is none.
type Attribute struct{ Name, Value string }
