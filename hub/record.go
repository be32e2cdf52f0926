package hub

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"mcphub/children"
	"mcphub/internal/audit"
	"mcphub/internal/jsonrpc"
	"mcphub/rootsmgr"
	"mcphub/validate"
)

// This file writes the record of every decision (P5): a line before anything
// goes to a child, another one when its answer has come. What is recorded are
// requests that a child would serve: calls of tools, prompts, resources and
// completions. Lists, and what only the hub itself answers, are not; where such
// a request is refused, that is.

// An Audit says how decisions are recorded.
type Audit struct {
	To        *audit.Recorder // nil: they are not
	Required  bool            // what cannot be recorded is denied
	Arguments bool            // arguments are recorded, and not only the paths in them
}

// AuditStatus is how the record of decisions stands.
type AuditStatus struct {
	audit.State
	Required  bool `json:"required"`  // what cannot be recorded is denied
	Arguments bool `json:"arguments"` // arguments are recorded too
}

func (a *Audit) status() AuditStatus {
	st := AuditStatus{Required: a.Required, Arguments: a.Arguments}
	if a.To != nil {
		st.State = a.To.State()
	}
	return st
}

// Decisions as the record spells them, beside those of validate.
const decisionRefuse = "refuse" // it could not be judged, or not be made

// Codes of refusals, beside those of package validate.
const (
	codeArguments   = "arguments"   // they have two readings, or none
	codeSchema      = "schema"      // they do not fit the tool's own schema
	codeDefinition  = "definition"  // the tool is defined otherwise by now, or gone
	codeUnavailable = "unavailable" // the server is not there
	codeCancelled   = "cancelled"   // before it could be judged
	codeRoots       = "roots"       // the session ended while its roots were waited for
	codeRequest     = "request"     // it names nothing that there is, or is malformed
	codeUnjudged    = "not judged"  // another failure before the judgement
	codeNotServed   = "not served"  // by the server that it names
	codeApproval    = "approval"    // it does not hold for this call
)

// request is what the record tells of one request of the client.
type request struct {
	m     *jsonrpc.Message
	began time.Time
	told  bool // a line is written
}

type requestKey struct{}

// recorded serves a request, and records it where that was refused before
// anybody judged it.
func (s *Session) recorded(ctx context.Context, m *jsonrpc.Message, serve serveFunc) jsonrpc.Answer {
	if s.hub.now().cfg.Audit.To == nil {
		return serve(s, ctx, m)
	}
	r := &request{m: m, began: time.Now()}
	ctx = context.WithValue(ctx, requestKey{}, r)
	a := serve(s, ctx, m)
	if r.told {
		return a
	}
	switch resultOf(a.Result, a.Error) {
	case audit.ResultError:
		s.refused(ctx, subject{method: m.Method}, codeRequest)
	case audit.ResultToolError:
		s.refused(ctx, subject{method: m.Method}, codeNotServed)
	}
	return a
}

// subject is what a request is about.
type subject struct {
	method      string // where it is no tool
	child, tool string
	args        []byte // raw, of a tool
	at          string // where args stand in the arguments that the client sent
}

// record writes the line of a request that was judged. The error is not nil
// where it cannot be written and must be: then nothing may be sent.
func (s *Session) record(ctx context.Context, what subject, j *judgement) (audit.Ticket, error) {
	cfg := &s.hub.now().cfg.Audit
	v := j.verdict
	if cfg.To == nil {
		if !j.allowed() {
			return audit.Ticket{}, nil
		}
		return audit.Ticket{}, cfg.forbids(errNoLog)
	}
	rec := s.newRecord(ctx, cfg, what)
	rec.Decision, rec.Rule, rec.Rewritten = v.Decision.String(), v.Rule, len(v.Rewrites)
	rec.Boundary = boundaryOf(v, &j.view)
	rec.Findings, rec.Unnamed = findingsOf(v, what.at)
	switch {
	case j.allowed():
		rec.Took, rec.By = 0, j.approver()
	case v.Decision == validate.Allow:
		rec.Decision, rec.Code = validate.Deny.String(), codeApproval
	default:
		if rec.Code = v.Rule; v.First != nil && v.First.Code != "" {
			rec.Code = v.First.Code
		}
	}
	t, err := cfg.To.Append(ctx, &rec)
	if err != nil && ctx.Err() != nil {
		t.Outcome(audit.ResultCancelled) // nobody waits for it any more, so it is not sent
		return t, context.Cause(ctx)
	}
	if err = cfg.forbids(err); err != nil {
		t.Outcome(audit.ResultNotSent)
	}
	return t, err
}

// allowed reports whether a request may be sent.
func (j *judgement) allowed() bool { return j.verdict.Decision == validate.Allow && j.refusal == "" }

// approver says what person's approval lets a call through: of this call, by
// whoever was asked, or an earlier one that is still open.
func (j *judgement) approver() string {
	if j.approval != nil {
		return j.approval.By()
	}
	for i := range j.verdict.Findings {
		if j.verdict.Findings[i].Code == validate.CodeGranted {
			return byGrant
		}
	}
	return ""
}

// byGrant: a question line further up tells who gave it.
const byGrant = "grant"

// refused writes the line of a request that did not come to a judgement.
func (s *Session) refused(ctx context.Context, what subject, code string) {
	cfg := &s.hub.now().cfg.Audit
	if cfg.To == nil {
		return
	}
	rec := s.newRecord(ctx, cfg, what)
	rec.Decision, rec.Code = decisionRefuse, code
	// Whether it can be written or not, nothing is sent.
	_, _ = cfg.To.Append(context.WithoutCancel(ctx), &rec)
}

// refusedFor is refused with the reason that an error gives.
func (s *Session) refusedFor(ctx context.Context, what subject, err error) {
	if errors.Is(err, errRootsFirst) { // no refusal: it comes again with them, and is recorded then
		if r, _ := ctx.Value(requestKey{}).(*request); r != nil {
			r.told = true
		}
		return
	}
	s.refused(ctx, what, refusalCode(ctx, err))
}

// newRecord says who asks for what. It is for goroutines that serve a request.
func (s *Session) newRecord(ctx context.Context, cfg *Audit, what subject) audit.Record {
	rec := audit.Record{Session: s.id, Method: what.method, Child: what.child, Tool: what.tool}
	r, _ := ctx.Value(requestKey{}).(*request)
	if r == nil { // the hub asks by itself
		return rec
	}
	r.told = true
	rec.Request, rec.Took = r.m.ID, time.Since(r.began)
	if what.method == methodCall {
		rec.Method = ""
	}
	if what.tool == "" && rec.Method != "resources/read" {
		// A name, which is no argument; and of a call that came to no tool, one
		// that the client made up.
		name, _ := jsonrpc.String(r.m.Param("name"))
		rec.Tool = audit.Redact(shown(name, 200))
	}
	if cfg.Arguments {
		if rec.Arguments = what.args; what.method != "" {
			rec.Arguments = r.m.Params
		}
	}
	return rec
}

const methodCall = "tools/call"

// boundaryOf tells what a verdict was reached by. A call without a path needs
// no roots.
func boundaryOf(v *validate.Verdict, view *rootsmgr.View) audit.Boundary {
	if view.Snapshot == nil {
		return audit.Boundary{}
	}
	return audit.Boundary{Origin: view.Snapshot.Origin().String(), Generation: v.Generation, Stale: v.Stale}
}

// mostRecorded is how many findings of a call are recorded by name.
const mostRecorded = 64

// findingsOf lists what was judged, the one that decided among them.
func findingsOf(v *validate.Verdict, at string) (list []audit.Finding, unnamed int) {
	if len(v.Findings) == 0 {
		return nil, 0
	}
	add := func(f *validate.Judged) {
		path := f.Leads
		if path == "" && len(f.Readings) > 0 {
			path = f.Readings[0].Path // it could not be found out where that leads
		}
		list = append(list, audit.Finding{Pointer: at + f.Pointer, Role: f.Role.String(), Path: path, Inside: !f.Outside && path != "", Ways: waysOf(f, path)})
	}
	if v.First != nil {
		add(v.First)
	}
	for i := range v.Findings {
		f := &v.Findings[i]
		switch {
		case v.First != nil && f.Pointer == v.First.Pointer && f.Value == v.First.Value:
		case len(list) == mostRecorded:
			unnamed++
		default:
			add(f)
		}
	}
	return list, unnamed
}

// waysOf counts the places that a path may stand for, where it is not plain that
// there is but one: rules look at each, and the record names one.
func waysOf(f *validate.Judged, path string) int {
	plain, linked := true, false
	for i := range f.Readings {
		r := &f.Readings[i]
		plain = plain && r.Path == path && (r.Leads == path || r.Leads == "")
		linked = linked || r.Linked
	}
	if plain && !linked {
		return 0
	}
	places := []string{path}
	for i := range f.Readings {
		for _, p := range []string{filepath.Clean(f.Readings[i].Path), f.Readings[i].Leads} {
			if p != "" && p != "." && !slices.Contains(places, p) {
				places = append(places, p)
			}
		}
	}
	if linked {
		return max(len(places), 2) // of the reading that decided, the one that led out is named alone
	}
	return len(places)
}

// errNoLog: a reload asks for a record where the hub was started without one.
var errNoLog = errors.New("no audit log is kept, and audit.dir takes effect after a restart")

// An unrecordedError is a call that was not made because it cannot be recorded.
type unrecordedError struct{ err error }

func (e *unrecordedError) Error() string {
	return fmt.Sprintf("the call was not made: it cannot be recorded, and hub.json requires that (audit.required): %s; make room or let the hub write to its folder, and call again (mcphub status shows how it stands)", e.err)
}

func (e *unrecordedError) Unwrap() error { return e.err }

// refusalCode is the record's word for an error of consider.
func refusalCode(ctx context.Context, err error) string {
	var args *validate.ArgumentsError
	var schema *validate.SchemaError
	var down *children.UnavailableError
	var missing *missingToolError
	var changed *changedToolError
	switch {
	case errors.As(err, &args):
		return codeArguments
	case errors.As(err, &schema):
		return codeSchema
	case errors.As(err, &missing), errors.As(err, &changed):
		return codeDefinition
	case ctx.Err() != nil:
		return codeCancelled
	case errors.Is(err, rootsmgr.ErrClosed):
		return codeRoots
	case errors.As(err, &down):
		return codeUnavailable
	}
	return codeUnjudged
}

// failureOf is the record's word for a request that no answer came to.
func failureOf(err error) string {
	var silent *children.TimeoutError
	var gone *jsonrpc.CancelledError
	var down *children.UnavailableError
	switch {
	case errors.As(err, &silent):
		return audit.ResultTimeout
	case errors.As(err, &down):
		return audit.ResultUnavailable
	case errors.As(err, &gone), errors.Is(err, context.Canceled), errors.Is(err, jsonrpc.ErrClosed):
		return audit.ResultCancelled
	}
	return audit.ResultError
}

// mostLooked is the longest result that is searched for isError.
const mostLooked = 64 << 10

var isError = []byte(`"isError"`)

// resultOf is the record's word for an answer.
func resultOf(result, fault []byte) string {
	switch {
	case fault != nil || result == nil:
		return audit.ResultError
	case len(result) > mostLooked:
		return audit.ResultAnswered
	case bytes.Contains(result, isError) && string(jsonrpc.Get(result, "isError")) == "true":
		return audit.ResultToolError
	}
	return audit.ResultOK
}
