package telemetry

import (
	"time"

	"mcphub/hub/audit"
	"mcphub/hub/tracing"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/methods"
)

// This file makes spans of a Call, if the hub traces: one of the request of the client, and
// within it one of the request to the server.

// maxRequestID bounds the id of a request in a span, in bytes.
const maxRequestID = 64

// spans are the spans of one Call. They are begun late, with the time when it came: then it is
// known what it is of.
type spans struct {
	session                     *SessionMetrics
	version                     string
	method, child, tool, prompt string // "" while it is not known, or of none
	decision, rule              string
	server, client              tracing.Span // nil: not begun, or ended
}

// spansOf returns the spans of a new Call; nil: the hub does not trace.
func (s *SessionMetrics) spansOf(c *clientMetrics) *spans {
	if s.telemetry.tracer == nil {
		return nil
	}
	return &spans{session: s, version: c.version}
}

// IsTracing reports whether requests have spans.
func (s *SessionMetrics) IsTracing() bool { return s != nil && s.telemetry.tracer != nil }

// targetName returns the prompt or tool.
func (sp *spans) targetName() string {
	if sp.tool != "" {
		return sp.tool
	}
	return sp.prompt
}

func (sp *spans) spanName() string {
	if t := sp.targetName(); t != "" {
		return sp.method + " " + t
	}
	return sp.method
}

func attributeOf(name, value string) tracing.Attribute {
	return tracing.Attribute{Name: name, Value: value}
}

// spanAttributes returns the span attributes that both spans have.
func (sp *spans) spanAttributes(version, transport string) []tracing.Attribute {
	operation := ""
	if sp.method == methods.CallTool {
		operation = executeTool
	}
	return append(make([]tracing.Attribute, 0, 10), attributeOf(attrMethod, sp.method), attributeOf(attrServer, sp.child),
		attributeOf(attrTool, sp.tool), attributeOf(attrPrompt, sp.prompt), attributeOf(attrOperation, operation),
		attributeOf(attrVersion, version), attributeOf(attrTransport, transport))
}

// BeginServerSpan begins the span of a request with this id, which came with the context in, if the
// hub traces. It returns the context within the hub: the span's, else in. A span that was begun
// goes on.
func (timing *RequestTiming) BeginServerSpan(in tracing.Context, method string, id []byte) tracing.Context {
	if timing.client == nil || timing.spans == nil {
		return in
	}
	sp := timing.spans
	if sp.server == nil {
		if sp.method == "" {
			if sp.method = method; !isKnownMethod(method) {
				sp.method = otherError
			}
		}
		text, ok := jsonrpc.String(id)
		if !ok {
			text = string(id)
		}
		if len(text) > maxRequestID {
			text = text[:maxRequestID]
		}
		s := sp.session
		sp.server = s.telemetry.tracer.Begin(tracing.Start{
			Name: sp.spanName(), Parent: in, At: s.telemetry.epoch.Add(timing.began),
			Attributes: append(sp.spanAttributes(sp.version, s.transport), attributeOf(attrRequest, text),
				attributeOf(attrSession, s.id), attributeOf(attrPrincipal, s.principal)),
		})
	}
	return sp.server.Context()
}

// BeginClientSpan begins the span of the request to the server, which is spoken to in a version,
// if the hub traces. It returns the context that the server gets: the span's, else in. It comes
// after BeginServerSpan.
func (timing *RequestTiming) BeginClientSpan(in tracing.Context, version string) tracing.Context {
	if timing == nil || timing.client == nil || timing.spans == nil || timing.spans.server == nil {
		return in
	}
	sp := timing.spans
	t := sp.session.telemetry
	sp.client = t.tracer.Begin(tracing.Start{
		Name: sp.spanName(), Client: true, Within: sp.server, At: t.epoch.Add(t.sinceEpoch()), Attributes: sp.spanAttributes(version, t.transport(sp.child)),
	})
	return sp.client.Context()
}

// endClientSpan ends the span of the request to the server.
func (sp *spans) endClientSpan(word string, fault []byte) {
	if sp == nil || sp.client == nil {
		return
	}
	t := sp.session.telemetry
	endSpan(sp.client, t.epoch.Add(t.sinceEpoch()), outcomeOf(word, fault))
	sp.client = nil
}

// endServerSpan ends the span of the request.
func (sp *spans) endServerSpan(word string, fault []byte) {
	sp.endClientSpan(audit.ResultCancelled, nil) // its answer does not count any more
	t := sp.session.telemetry
	endSpan(sp.server, t.epoch.Add(t.sinceEpoch()), outcomeOf(word, fault), attributeOf(attrDecision, sp.decision), attributeOf(attrRule, sp.rule))
	sp.server = nil
}

func endSpan(s tracing.Span, at time.Time, as outcomeClass, more ...tracing.Attribute) {
	fault, code := as.outcomeWords()
	s.End(at, as != succeeded, append(more, attributeOf(attrError, fault), attributeOf(attrCode, code))...)
}
