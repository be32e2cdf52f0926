package failure

import (
	"context"
	"errors"
	"fmt"

	"mcphub/children/run"
	"mcphub/hub/audit"
	"mcphub/hub/catalog"
	"mcphub/hub/fixed"
	"mcphub/hub/record"
	"mcphub/hub/texts"
	"mcphub/hub/turns"
	"mcphub/internal/jsonrpc"
	"mcphub/rootsmgr"
	"mcphub/validate/schema"
	"mcphub/validate/strictjson"
)

// A Kind is what an error means that ends a request.
type Kind int

const (
	Other        Kind = iota // none of the kinds below: the text of the error is the reason
	Arguments                // the arguments cannot be read, or hold what they may not
	Schema                   // the arguments do not fit the schema of the tool
	Missing                  // the child has the tool no more
	Redefined                // the child defines the tool otherwise, again and again
	NotRecorded              // the decision could not be recorded, and hub.json requires the record
	BadAnswer                // the answer of the child could not be read
	Abandoned                // no caller waits for the answer any more
	SessionEnded             // the session ended while the request waited for roots
	NotAvailable             // the child cannot be called, or died before it answered
	TimedOut                 // nothing was heard of the child for too long
	Cancelled                // the request was cancelled while it was with the child
	Limited                  // its server has as many requests as hub.json lets it have
)

// KindOf returns the kind of an error that ends a request of ctx.
func KindOf(ctx context.Context, err error) Kind {
	switch {
	case isError[*record.UnrecordedError](err):
		return NotRecorded
	case isError[*strictjson.Error](err):
		return Arguments
	case isError[*schema.Error](err), isError[*fixed.GivenError](err):
		return Schema
	case isError[*MissingToolError](err):
		return Missing
	case isError[*ChangedToolError](err):
		return Redefined
	case isError[*jsonrpc.BrokenError](err):
		return BadAnswer
	case isError[*turns.ExceededError](err):
		return Limited
	case ctx.Err() != nil:
		return Abandoned
	case errors.Is(err, rootsmgr.ErrClosed):
		return SessionEnded
	case isError[*run.UnavailableError](err):
		return NotAvailable
	case isError[*run.TimeoutError](err):
		return TimedOut
	case isError[*jsonrpc.CancelledError](err), errors.Is(err, context.Canceled), errors.Is(err, jsonrpc.ErrClosed):
		return Cancelled
	}
	return Other
}

func isError[T error](err error) bool {
	_, ok := errors.AsType[T](err)
	return ok
}

// A LoginError reports that a request was not made because its server asks for a login, and on which page of the hub its caller
// logs in.
type LoginError struct {
	Server, Address string
	Err             error
}

func (e *LoginError) Error() string {
	return texts.NeedsLogin(e.Server, e.Address)
}

func (e *LoginError) Unwrap() error { return e.Err }

// UnavailableText returns what is told about a child that is not available.
func UnavailableText(err error) string {
	if login, ok := errors.AsType[*LoginError](err); ok {
		return login.Error()
	}
	down, _ := errors.AsType[*run.UnavailableError](err)
	return down.Error()
}

// codes are the record's words for what ended a request before it was judged.
var codes = map[Kind]string{
	Arguments: record.CodeArguments, Schema: record.CodeSchema, Missing: record.CodeDefinition, Redefined: record.CodeDefinition,
	Abandoned: record.CodeCancelled, SessionEnded: record.CodeRoots, NotAvailable: record.CodeUnavailable,
	Limited: record.CodeLimit,
}

// Code returns the record's word for a request that was not judged.
func (k Kind) Code() string {
	if code, known := codes[k]; known {
		return code
	}
	return record.CodeUnjudged
}

// Outcome returns the record's word for a request that was let through, and that no answer came to.
func Outcome(err error) string {
	switch KindOf(context.Background(), err) {
	case TimedOut:
		return audit.ResultTimeout
	case NotAvailable:
		if isUnsent(err) {
			return audit.ResultNotSent
		}
		return audit.ResultUnavailable
	case Cancelled:
		return audit.ResultCancelled
	}
	return audit.ResultError
}

// A SentError reports why a request that was handed to its server's connection has no answer. It may have run all
// the same, unless that connection had ended before: see isUnsent.
type SentError struct{ Err error }

func (e *SentError) Error() string { return e.Err.Error() }
func (e *SentError) Unwrap() error { return e.Err }

// ToolError returns a result of a tool that reports that the call failed.
func ToolError(text string) jsonrpc.Answer {
	b := jsonrpc.AppendString([]byte(`{"content":[{"type":"text","text":`), text)
	return jsonrpc.ResultAnswer(append(b, `}],"isError":true}`...))
}

// AnswerEnded answers a call whose time is over before it was judged or answered. If the
// client cancelled it, no one reads this.
func AnswerEnded(ctx context.Context, err error) jsonrpc.Answer {
	why := err
	if cause := context.Cause(ctx); cause != nil {
		why = cause
	}
	text := why.Error()
	if closed, ok := errors.AsType[*jsonrpc.ClosedError](why); ok && closed.Reason != nil {
		text = closed.Reason.Error()
	}
	if isError[*SentError](err) {
		text += ". " + texts.MayHaveRun
	} else {
		text += ". " + texts.NotSent
	}
	return jsonrpc.AnswerFailure(text)
}

// AnswerTool answers a call of a tool that was not judged, or that the child did not answer.
func AnswerTool(ctx context.Context, tool *catalog.Tool, err error) jsonrpc.Answer {
	kind := KindOf(ctx, err)
	switch kind {
	case NotRecorded, Missing, Redefined:
		return ToolError(err.Error())
	case Arguments:
		return jsonrpc.RefuseParams("Refused: " + err.Error())
	case Schema:
		return ToolError(texts.BadArguments(tool.Child, tool.Shown(), err))
	case BadAnswer:
		return jsonrpc.AnswerFailure(fmt.Sprintf("%s: %s", tool.Child, err))
	case Abandoned, SessionEnded:
		return AnswerEnded(ctx, err)
	case Limited:
		return limitedTool(err)
	}
	return ToolError(unanswered(kind, tool.Child, tool.Shown(), err))
}

// unanswered returns the text of a request to a server that has no answer, and may have run if it was sent. what is a tool or a method.
func unanswered(kind Kind, server, what string, err error) (text string) {
	if isError[*LoginError](err) {
		return UnavailableText(err) // its server has refused it without looking at it
	}
	late, _ := errors.AsType[*run.TimeoutError](err)
	switch kind {
	case TimedOut:
		text = texts.ChildTimedOut(server, what, late.After)
	case NotAvailable:
		text = UnavailableText(err)
	default:
		return texts.NoAnswer(server, what, err.Error())
	}
	if isError[*SentError](err) && !isUnsent(err) {
		text += "\n" + texts.MayHaveRun
	}
	return text
}

// isUnsent reports whether the server had ended before anything of the request was written to it.
func isUnsent(err error) bool {
	gone, ok := errors.AsType[*run.UnavailableError](err)
	return ok && gone.Unsent
}

// AnswerRequest answers another request that was not judged, or that the child did not answer.
func AnswerRequest(ctx context.Context, child, method string, err error) jsonrpc.Answer {
	kind := KindOf(ctx, err)
	switch kind {
	case NotRecorded:
		return jsonrpc.AnswerFailure(err.Error())
	case Arguments:
		return jsonrpc.RefuseParams("Refused: " + err.Error())
	case Abandoned, SessionEnded:
		return AnswerEnded(ctx, err)
	case Limited:
		return limitedRequest(err)
	}
	return jsonrpc.AnswerFailure(unanswered(kind, child, method, err))
}

// A ChangedToolError means that the running child defines a tool differently
// from the catalogue by which a call was judged.
type ChangedToolError struct{ Server, Tool string }

func (e *ChangedToolError) Error() string {
	return texts.UnstableTool(e.Server, e.Tool)
}

// A MissingToolError means that the running child does not offer a tool that
// it offered before.
type MissingToolError struct{ Server, Tool, Reason string }

func (e *MissingToolError) Error() string {
	if e.Reason != "" {
		return texts.NotOffered(e.Server, e.Tool, e.Reason)
	}
	return texts.ToolGone(e.Server, e.Tool)
}
