package failure

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"mcphub/children/run"
	"mcphub/hub/audit"
	"mcphub/hub/catalog"
	"mcphub/hub/record"
	"mcphub/hub/texts"
	"mcphub/internal/jsonrpc"
	"mcphub/rootsmgr"
	"mcphub/validate/schema"
	"mcphub/validate/strictjson"
)

// What an error means does not depend on what it is wrapped in. The record has a word for
// it if nothing was judged, and another one where the request was sent.
func TestKinds(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		err           error
		want          Kind
		code, outcome string
	}{
		{errors.New("odd"), Other, record.CodeUnjudged, audit.ResultError},
		{&strictjson.Error{}, Arguments, record.CodeArguments, audit.ResultError},
		{&schema.Error{}, Schema, record.CodeSchema, audit.ResultError},
		{&MissingToolError{}, Missing, record.CodeDefinition, audit.ResultError},
		{&ChangedToolError{}, Redefined, record.CodeDefinition, audit.ResultError},
		{&record.UnrecordedError{}, NotRecorded, record.CodeUnjudged, audit.ResultError},
		{&jsonrpc.BrokenError{}, BadAnswer, record.CodeUnjudged, audit.ResultError},
		{rootsmgr.ErrClosed, SessionEnded, record.CodeRoots, audit.ResultError},
		{&run.UnavailableError{Err: context.Canceled}, NotAvailable, record.CodeUnavailable, audit.ResultUnavailable},
		{&run.TimeoutError{}, TimedOut, record.CodeUnjudged, audit.ResultTimeout},
		{&jsonrpc.CancelledError{}, Cancelled, record.CodeUnjudged, audit.ResultCancelled},
		{&jsonrpc.ClosedError{}, Cancelled, record.CodeUnjudged, audit.ResultCancelled},
		{context.Canceled, Cancelled, record.CodeUnjudged, audit.ResultCancelled},
	} {
		for _, err := range []error{tc.err, fmt.Errorf("wrapped: %w", tc.err)} {
			kind := KindOf(t.Context(), err)
			if kind != tc.want || kind.Code() != tc.code || Outcome(err) != tc.outcome {
				t.Errorf("%T: kind %d, code %q, outcome %q", tc.err, kind, kind.Code(), Outcome(err))
			}
		}
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if kind := KindOf(gone, &run.UnavailableError{}); kind != Abandoned || kind.Code() != record.CodeCancelled {
		t.Errorf("nobody waits for it: kind %d, code %q", kind, kind.Code())
	}
}

// The answer to a call that ended early tells whether the call may have run.
func TestGoneTellsWhetherItMayHaveRun(t *testing.T) {
	t.Parallel()
	stopping := &jsonrpc.ClosedError{Reason: errors.New("this hub is stopping")}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(stopping)
	signalled, end := context.WithCancelCause(t.Context())
	end(errors.New("terminated signal received"))
	for name, tc := range map[string]struct {
		ctx  context.Context
		err  error
		want string
	}{
		"waited":           {ctx, rootsmgr.ErrClosed, "this hub is stopping. The call was not sent, so nothing was done."},
		"was sent":         {ctx, &SentError{context.Canceled}, "this hub is stopping. It was sent to its server and may have run."},
		"sent, no context": {t.Context(), &SentError{stopping}, "this hub is stopping. It was sent to its server and may have run."},
		"by the client":    {t.Context(), &SentError{&jsonrpc.CancelledError{}}, "cancelled by the peer. It was sent to its server and may have run."},
		"by a signal":      {signalled, &SentError{context.Canceled}, "terminated signal received. It was sent to its server and may have run."},
	} {
		if got := jsonrpc.ParseError(AnswerEnded(tc.ctx, tc.err).Error).Message; got != tc.want {
			t.Errorf("%s: %q", name, got)
		}
	}
	ended := &run.UnavailableError{Child: "kid", Reason: "exited with status 1"}
	for name, tc := range map[string]struct {
		err  error
		told bool
	}{
		"its server ended":           {&SentError{ended}, true},
		"its server was silent":      {&SentError{&run.TimeoutError{Child: "kid"}}, true},
		"it was gone by then":        {&SentError{&run.UnavailableError{Child: "kid", Reason: "exited with status 1", Unsent: true}}, false},
		"there was no server":        {ended, false},
		"its answer is of no use":    {&SentError{&jsonrpc.BrokenError{}}, false},
		"it was refused unlooked at": {&SentError{errors.New("401")}, false},
	} {
		for _, a := range []jsonrpc.Answer{AnswerTool(t.Context(), &catalog.Tool{Child: "kid", OwnName: "echo"}, tc.err), AnswerRequest(t.Context(), "kid", "prompts/get", tc.err)} {
			if told := strings.Contains(string(a.Result)+string(a.Error), texts.MayHaveRun); told != tc.told {
				t.Errorf("%s: %s%s", name, a.Result, a.Error)
			}
		}
	}
}

// A call whose server is silent is answered once with what happened.
func TestATimeoutIsToldOnce(t *testing.T) {
	t.Parallel()
	err := &SentError{&run.TimeoutError{Child: "d", Method: "tools/call", After: 2 * time.Second}}
	for what, a := range map[string]jsonrpc.Answer{"slow": AnswerTool(t.Context(), &catalog.Tool{Child: "d", OwnName: "slow"}, err), "prompts/get": AnswerRequest(t.Context(), "d", "prompts/get", err)} {
		got, want := string(a.Result)+string(a.Error), `The server \"d\" did not answer \"`+what+`\" within 2s, nor report progress.`
		if !strings.Contains(got, want) || strings.Count(got, "answer") != 1 {
			t.Errorf("%s, want once: %s", got, want)
		}
	}
}

// Who can log in by a page of the hub is told that, and neither what an operator does nor that the request may have run.
func TestALoginIsNamed(t *testing.T) {
	t.Parallel()
	down := &run.UnavailableError{Child: "kid", Reason: "run: mcphub auth login kid"}
	for _, err := range []error{down, errors.New("status 401; run: mcphub auth login kid")} {
		login := &LoginError{Server: "kid", Address: "https://hub.example/login/A", Err: err}
		for _, err := range []error{login, &SentError{Err: login}} {
			for _, a := range []jsonrpc.Answer{
				AnswerTool(t.Context(), &catalog.Tool{Child: "kid"}, err), AnswerRequest(t.Context(), "kid", "prompts/get", err),
			} {
				text := string(a.Result) + string(a.Error)
				if !strings.Contains(text, "Open https://hub.example/login/A in a browser") || strings.Contains(text, "auth login") || strings.Contains(text, texts.MayHaveRun) {
					t.Errorf("%T: %s", err, text)
				}
			}
		}
	}
}
