package record

import (
	"context"
	"time"

	"mcphub/hub/audit"
	"mcphub/hub/telemetry"
	"mcphub/hub/tracing"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/methods"
	"mcphub/internal/printable"
	"mcphub/internal/redact"
)

// A Subject is what a request is about.
type Subject struct {
	Method      string // if it is no tool
	Child, Tool string // Tool "": the server lists none that is called so
	Unlisted    string // the name of a tool that the server does not list: it is recorded, and not counted by
	Arguments   []byte // raw, of a tool
	At          string // where they stand in the arguments that the client sent
	Prompt      string // that a server lists
}

// A RequestRecord is what the record tells about one request of the client. It belongs to the goroutine that
// serves it. A nil RequestRecord is one that the hub makes by itself, or that no one watches.
type RequestRecord struct {
	m        *jsonrpc.Message
	started  time.Time
	recorded bool            // a line is written, or none is due
	in       tracing.Context // that it came with
	timing   telemetry.RequestTiming
}

// StartRequest begins a request of the client, whose answer FinishRequest is given; nil: no one watches.
// timing is the timing of the request.
func (w *Writer) StartRequest(m *jsonrpc.Message, timing telemetry.RequestTiming) *RequestRecord {
	if !w.IsEnabled() && w.metrics == nil {
		return nil
	}
	return &RequestRecord{m: m, started: time.Now(), in: tracing.ParseMeta(m.Param("_meta")).Context, timing: timing}
}

// Telemetry times the requests of the session; nil: no one watches.
func (w *Writer) Telemetry() *telemetry.SessionMetrics { return w.metrics }

// beginSpan begins the span of the request, and returns the context within the hub: see
// telemetry.RequestTiming.
func (req *RequestRecord) beginSpan() tracing.Context {
	return req.timing.BeginServerSpan(req.in, req.m.Method, req.m.ID)
}

// SetOwnTool reports that the request is of a tool of the hub's own.
func (req *RequestRecord) SetOwnTool(tool string) {
	if req != nil {
		req.timing.SetOperation(req.m.Method, "", tool)
	}
}

// FinishRequest takes the answer of a request. One that was refused before anybody judged it is
// recorded.
func (w *Writer) FinishRequest(ctx context.Context, req *RequestRecord, a jsonrpc.Answer) {
	if req == nil {
		return
	}
	word := ResultWord(a.Result, a.Error)
	if !req.recorded {
		w.recordUnjudged(ctx, req, word)
	}
	if ctx.Err() != nil {
		word = audit.ResultCancelled
	}
	req.beginSpan()
	req.timing.EndRequest(req.m.Method, word, a.Error)
}

func (w *Writer) recordUnjudged(ctx context.Context, req *RequestRecord, word string) {
	switch word {
	case audit.ResultError:
		w.WriteRefusal(ctx, req, Subject{Method: req.m.Method}, codeRequest)
	case audit.ResultToolError:
		w.WriteRefusal(ctx, req, Subject{Method: req.m.Method}, codeNotServed)
	}
}

// recordedName returns how a name is recorded that a client made up.
func recordedName(name string) string { return redact.Text(printable.Escape(name, 200)) }

// beginLine begins a line: who asks for what. It is for the goroutine that serves the
// request.
func (w *Writer) beginLine(req *RequestRecord, settings *Settings, subject Subject) audit.Record {
	rec := audit.Record{Session: w.session, Principal: w.principal, Client: w.clientName(), Method: subject.Method, DecisionFields: audit.DecisionFields{Child: subject.Child, Tool: subject.Tool}}
	if subject.Unlisted != "" {
		rec.Tool = recordedName(subject.Unlisted)
	}
	if req == nil { // the hub asks by itself
		return rec
	}
	req.recorded = true
	rec.Request, rec.Micros = req.m.ID, max(time.Since(req.started).Microseconds(), 1)
	rec.Trace = audit.Trace(req.beginSpan())
	if subject.Method == methods.CallTool {
		rec.Method = ""
	}
	if subject.Tool == "" && subject.Unlisted == "" && rec.Method != methods.ReadResource {
		// A name, which is no argument, as the URI of a resource is; and of a call
		// that came to no tool, one that the client made up.
		name, _ := jsonrpc.String(req.m.Param("name"))
		rec.Tool = recordedName(name)
	}
	if settings.Arguments {
		if rec.Arguments = subject.Arguments; subject.Method != "" {
			rec.Arguments = req.m.Params
		}
	}
	return rec
}
