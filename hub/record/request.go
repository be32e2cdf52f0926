package record

import (
	"context"
	"time"

	"mcphub/internal/audit"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/methods"
	"mcphub/internal/printable"
	"mcphub/internal/redact"
)

// A Subject is what a request is about.
type Subject struct {
	Method      string // where it is no tool
	Child, Tool string
	Arguments   []byte // raw, of a tool
	At          string // where they stand in the arguments that the client sent
}

// request is what the record tells of one request of the client. It belongs to the
// goroutine that serves it.
type request struct {
	m       *jsonrpc.Message
	started time.Time
	told    bool // a line is written, or none is due
}

type requestKey struct{}

// Start marks the context of a request of the client, whose answer Served is given.
func (r *Writer) Start(ctx context.Context, m *jsonrpc.Message) context.Context {
	if !r.Kept() {
		return ctx
	}
	return context.WithValue(ctx, requestKey{}, &request{m: m, started: time.Now()})
}

// Served records a request that was refused before anybody judged it.
func (r *Writer) Served(ctx context.Context, a jsonrpc.Answer) {
	of, _ := ctx.Value(requestKey{}).(*request)
	if of == nil || of.told {
		return
	}
	switch Result(a.Result, a.Error) {
	case audit.ResultError:
		r.Refused(ctx, Subject{Method: of.m.Method}, codeRequest)
	case audit.ResultToolError:
		r.Refused(ctx, Subject{Method: of.m.Method}, codeNotServed)
	}
}

// line begins a line: who asks for what. It is for the goroutine that serves the
// request.
func (r *Writer) line(ctx context.Context, set *Settings, what Subject) audit.Record {
	rec := audit.Record{Session: r.session, Principal: r.principal, Method: what.Method, Decided: audit.Decided{Child: what.Child, Tool: what.Tool}}
	of, _ := ctx.Value(requestKey{}).(*request)
	if of == nil { // the hub asks by itself
		return rec
	}
	of.told = true
	rec.Request, rec.US = of.m.ID, max(time.Since(of.started).Microseconds(), 1)
	if what.Method == methods.CallTool {
		rec.Method = ""
	}
	if what.Tool == "" && rec.Method != methods.ReadResource {
		// A name, which is no argument; and of a call that came to no tool, one
		// that the client made up.
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
