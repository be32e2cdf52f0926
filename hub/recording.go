package hub

import (
	"context"
	"errors"

	"mcphub/children"
	"mcphub/hub/inline"
	"mcphub/hub/record"
	"mcphub/internal/jsonrpc"
	"mcphub/rootsmgr"
	"mcphub/validate"
)

// This file gives package record what it tells of requests.

// Audit says how decisions are recorded, and AuditStatus how that stands.
type (
	Audit       = record.Settings
	AuditStatus = record.Status
)

// recorded serves a request, and records it where that was refused before
// anybody judged it.
func (s *Session) recorded(ctx context.Context, m *jsonrpc.Message, serve serveFunc) jsonrpc.Answer {
	ctx = s.records.Start(ctx, m)
	a := serve(s, ctx, m)
	s.records.Served(ctx, a)
	return a
}

// allowed reports whether a request may be sent.
func (j *judgement) allowed() bool { return j.verdict.Decision == validate.Allow && j.refusal == "" }

// decision is a judgement as it is recorded.
func (j *judgement) decision() record.Decision {
	d := record.Decision{Verdict: j.verdict, View: &j.view, Declined: j.refusal != "", Kernel: kernelWord(j.lease)}
	if j.approval != nil {
		d.By = j.approval.By()
	}
	return d
}

// refusedFor records a request that did not come to a judgement, with the reason
// that an error gives.
func (s *Session) refusedFor(ctx context.Context, what record.Subject, err error) {
	if errors.Is(err, inline.ErrRootsFirst) { // no refusal: it comes again with them
		record.Later(ctx)
		return
	}
	s.records.Refused(ctx, what, refusalCode(ctx, err))
}

// refusalCode is the record's word for an error of consider.
func refusalCode(ctx context.Context, err error) string {
	var args *validate.ArgumentsError
	var schema *validate.SchemaError
	var down *children.UnavailableError
	var missing *missingToolError
	var changed *changedToolError
	switch {
	case errors.As(err, &args):
		return record.CodeArguments
	case errors.As(err, &schema):
		return record.CodeSchema
	case errors.As(err, &missing), errors.As(err, &changed):
		return record.CodeDefinition
	case ctx.Err() != nil:
		return record.CodeCancelled
	case errors.Is(err, rootsmgr.ErrClosed):
		return record.CodeRoots
	case errors.As(err, &down):
		return record.CodeUnavailable
	}
	return record.CodeUnjudged
}

const methodCall = "tools/call"
