package record

import (
	"context"
	"time"

	"mcphub/hub/telemetry"
	"mcphub/internal/audit"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/methods"
	"mcphub/internal/printable"
	"mcphub/internal/redact"
	"mcphub/internal/tracing"
)

// A Subject is what a request is about.
type Subject struct {
	Method      string // where it is no tool
	Child, Tool string // Tool "": the server lists none that is called so
	Arguments   []byte // raw, of a tool
	At          string // where they stand in the arguments that the client sent
	Prompt      string // that a server lists
}

// request is what the record tells of one request of the client. It belongs to the
// goroutine that serves it.
type request struct {
	m        *jsonrpc.Message
	started  time.Time
	recorded bool            // a line is written, or none is due
	in       tracing.Context // that it came with
	timing   telemetry.Call
}

type requestKey struct{}

// Start marks the context of a request of the client, whose answer Finish is given.
// timing is that of the request.
func (w *Writer) Start(ctx context.Context, m *jsonrpc.Message, timing telemetry.Call) context.Context {
	if !w.Enabled() && w.metrics == nil {
		return ctx
	}
	return context.WithValue(ctx, requestKey{}, &request{m: m, started: time.Now(), in: tracing.ParseMeta(m.Param("_meta")).Context, timing: timing})
}

// Telemetry times the requests of the session; nil: nobody watches.
func (w *Writer) Telemetry() *telemetry.Session { return w.metrics }

// requestOf returns the request of ctx, nil where the hub asks by itself, or nobody wants to
// know.
func requestOf(ctx context.Context) *request {
	of, _ := ctx.Value(requestKey{}).(*request)
	return of
}

// beginSpan begins the span of the request, and returns the context within the hub: see
// telemetry.Call.
func (of *request) beginSpan() tracing.Context {
	return of.timing.BeginServerSpan(of.in, of.m.Method, of.m.ID)
}

// OwnTool says that a request of a client is of a tool of the hub's own.
func (w *Writer) OwnTool(ctx context.Context, tool string) {
	if of := requestOf(ctx); of != nil {
		of.timing.SetOperation(of.m.Method, "", tool)
	}
}

// Finish takes the answer of a request. One that was refused before anybody judged it is
// recorded.
func (w *Writer) Finish(ctx context.Context, a jsonrpc.Answer) {
	of := requestOf(ctx)
	if of == nil {
		return
	}
	word := Result(a.Result, a.Error)
	if !of.recorded {
		w.unjudged(ctx, of, word)
	}
	if ctx.Err() != nil {
		word = audit.ResultCancelled
	}
	of.beginSpan()
	of.timing.Answered(of.m.Method, word, a.Error)
}

func (w *Writer) unjudged(ctx context.Context, of *request, word string) {
	switch word {
	case audit.ResultError:
		w.WriteRefusal(ctx, Subject{Method: of.m.Method}, codeRequest)
	case audit.ResultToolError:
		w.WriteRefusal(ctx, Subject{Method: of.m.Method}, codeNotServed)
	}
}

// line begins a line: who asks for what. It is for the goroutine that serves the
// request.
func (w *Writer) line(ctx context.Context, set *Settings, what Subject) audit.Record {
	rec := audit.Record{Session: w.session, Principal: w.principal, Method: what.Method, DecisionFields: audit.DecisionFields{Child: what.Child, Tool: what.Tool}}
	of := requestOf(ctx)
	if of == nil { // the hub asks by itself
		return rec
	}
	of.recorded = true
	rec.Request, rec.Micros = of.m.ID, max(time.Since(of.started).Microseconds(), 1)
	rec.Trace = audit.Trace(of.beginSpan())
	if what.Method == methods.CallTool {
		rec.Method = ""
	}
	if what.Tool == "" && rec.Method != methods.ReadResource {
		// A name, which is no argument, as the URI of a resource is; and of a call
		// that came to no tool, one that the client made up.
		name, _ := jsonrpc.String(of.m.Param("name"))
		rec.Tool = redact.Text(printable.Escape(name, 200))
	}
	if set.Arguments {
		if rec.Arguments = what.Arguments; what.Method != "" {
			rec.Arguments = of.m.Params
		}
	}
	return rec
}
