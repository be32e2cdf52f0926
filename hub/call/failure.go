package call

import (
	"context"
	"errors"
	"fmt"

	"mcphub/children/run"
	"mcphub/hub/catalog"
	"mcphub/hub/record"
	"mcphub/internal/jsonrpc"
	"mcphub/rootsmgr"
	"mcphub/validate/schema"
	"mcphub/validate/strictjson"
)

// A failure is what an error means that ends a request: what its client is told and what
// the record says follow from it.
type failure int

const (
	notAnswered  failure = iota // for a reason of its own
	badArguments                // they cannot be read, or hold what they may not
	badSchema                   // they do not fit the schema of the tool
	redefined                   // the child has the tool no more, or defines it otherwise
	notRecorded                 // and hub.json requires that
	badAnswer                   // it could not be read
	abandoned                   // nobody waits for it any more
	sessionEnded
	notAvailable // its child is not
)

func failureOf(ctx context.Context, err error) failure {
	switch {
	case is[*record.UnrecordedError](err):
		return notRecorded
	case is[*strictjson.Error](err):
		return badArguments
	case is[*schema.Error](err):
		return badSchema
	case is[*MissingToolError](err), is[*changedToolError](err):
		return redefined
	case is[*jsonrpc.BrokenError](err):
		return badAnswer
	case ctx.Err() != nil:
		return abandoned
	case errors.Is(err, rootsmgr.ErrClosed):
		return sessionEnded
	case is[*run.UnavailableError](err):
		return notAvailable
	}
	return notAnswered
}

func is[T error](err error) bool {
	_, ok := errors.AsType[T](err)
	return ok
}

// downText is what is told of a child that is not available.
func downText(err error) string {
	down, _ := errors.AsType[*run.UnavailableError](err)
	return down.Error()
}

// refusalCodes are the record's words for what ended a request before it was judged.
var refusalCodes = map[failure]string{
	badArguments: record.CodeArguments, badSchema: record.CodeSchema, redefined: record.CodeDefinition,
	abandoned: record.CodeCancelled, sessionEnded: record.CodeRoots, notAvailable: record.CodeUnavailable,
}

// recordRefused records a request that was not judged.
func (s *Session) recordRefused(ctx context.Context, what record.Subject, err error) {
	code, known := refusalCodes[failureOf(ctx, err)]
	if !known {
		code = record.CodeUnjudged
	}
	s.Records.Refused(ctx, what, code)
}

// Gone answers a call whose time is over before it could be judged. Where the
// client cancelled it, nobody reads this.
func Gone(ctx context.Context, err error) jsonrpc.Answer {
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	return jsonrpc.ErrorAnswer(jsonrpc.CodeInternal, err.Error())
}

// failed answers a call that was not judged, or that the child did not answer.
func failed(ctx context.Context, tool *catalog.Tool, err error) jsonrpc.Answer {
	switch failureOf(ctx, err) {
	case notRecorded, redefined:
		return ToolError(err.Error())
	case badArguments, badSchema:
		return argumentsAnswer(tool, err)
	case badAnswer:
		return jsonrpc.ErrorAnswer(jsonrpc.CodeInternal, fmt.Sprintf("%s: %s", tool.Child, err))
	case abandoned, sessionEnded:
		return Gone(ctx, err)
	case notAvailable:
		return ToolError(downText(err))
	}
	return ToolError(fmt.Sprintf("The server %q did not answer %q: %s", tool.Child, tool.Remote, err))
}

// RequestFailed answers a request that was not judged, or that the child did not
// answer.
func RequestFailed(ctx context.Context, child, method string, err error) jsonrpc.Answer {
	switch failureOf(ctx, err) {
	case notRecorded:
		return jsonrpc.ErrorAnswer(jsonrpc.CodeInternal, err.Error())
	case badArguments:
		return jsonrpc.ErrorAnswer(jsonrpc.CodeInvalidParams, "refused: "+err.Error())
	case abandoned, sessionEnded:
		return Gone(ctx, err)
	case notAvailable:
		return jsonrpc.ErrorAnswer(jsonrpc.CodeInternal, downText(err))
	}
	return jsonrpc.ErrorAnswer(jsonrpc.CodeInternal, fmt.Sprintf("the server %q did not answer %s: %s", child, method, err))
}
