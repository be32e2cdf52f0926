package failure

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"mcphub/children"
	"mcphub/children/hints"
	"mcphub/children/run"
	"mcphub/children/sandbox"
	"mcphub/hub/audit"
	"mcphub/hub/catalog"
	"mcphub/hub/configuration"
	"mcphub/hub/fixed"
	"mcphub/hub/offering"
	"mcphub/hub/record"
	"mcphub/hub/texts"
	"mcphub/hub/turns"
	"mcphub/internal/jsonrpc"
	"mcphub/rootsmgr"
	"mcphub/validate"
	"mcphub/validate/policy"
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
	text := jsonrpc.EndReason(why)
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

// limitedText returns the text of an error that is an *turns.ExceededError, and the milliseconds after which it is worth trying again.
func limitedText(err error) (text, again string) {
	e, _ := errors.AsType[*turns.ExceededError](err)
	key := "limits"
	if e.Pattern != "" {
		key = fmt.Sprintf("limits.tools[%q]", e.Pattern)
	}
	pause := max(e.Again.Round(time.Millisecond), time.Millisecond)
	again = strconv.FormatInt(pause.Milliseconds(), 10)
	if e.OfRate {
		return texts.RateReached(e.Server, key+".rate", e.Bound.Rate.String(), pause), again
	}
	return texts.QueueFull(e.Server, key, e.Bound.Calls, e.Bound.Queue, pause), again
}

// limitedTool answers the call of a tool.
func limitedTool(err error) jsonrpc.Answer {
	text, again := limitedText(err)
	a := ToolError(text)
	a.Result = append(a.Result[:len(a.Result)-1], `,"_meta":{"mcphub/retryAfterMs":`+again+`}}`...)
	return a
}

// limitedRequest answers another request.
func limitedRequest(err error) jsonrpc.Answer {
	text, again := limitedText(err)
	return jsonrpc.Answer{Error: (&jsonrpc.Error{Code: jsonrpc.CodeInternal, Message: text, Data: []byte(`{"retryAfterMs":` + again + `}`)}).Raw()}
}

// UnknownTool reports that a name is no tool, with the nearest ones.
func UnknownTool(name string, c *offering.Catalog, owners []string) string {
	for _, owner := range owners {
		for _, left := range c.Omitted(owner) {
			if shown := c.ShownName(owner, left.Name); strings.HasSuffix(name, shown) {
				return texts.NotOffered(owner, shown, left.Reason)
			}
		}
	}
	return texts.UnknownTool(name)
}

// NoTool answers a call of a tool, by its own name, that a server does not offer.
func NoTool(server, tool string, c *offering.Catalog) jsonrpc.Answer {
	for _, left := range c.Omitted(server) {
		if shown := c.ShownName(server, left.Name); tool == left.Name || tool == shown {
			return ToolError(texts.NotOffered(server, shown, left.Reason))
		}
	}
	var known []string
	for _, t := range c.Tools() {
		if t.Child == server {
			known = append(known, t.Shown())
		}
	}
	slices.Sort(known)
	return ToolError(texts.NoTool(server, tool, known))
}

// NotReady returns the answer about a child that has not come up. stderr is what it wrote, if that is the session's own.
func NotReady(st children.Status, stderr string) string {
	return texts.NotReady(st.Child, string(st.State), st.Err, stderr)
}

// Broken answers a call of a server that hub.json describes wrongly.
func Broken(b configuration.Broken) jsonrpc.Answer {
	return ToolError(texts.CannotRun(b.Name, b.Reason))
}

// NoResource reports that no child has a resource. The ones that are away could not be asked.
func NoResource(uri string, away ...string) jsonrpc.Answer {
	data, _ := json.Marshal(map[string]string{"uri": uri})
	e := &jsonrpc.Error{Code: mcp.RESOURCE_NOT_FOUND, Message: texts.NoResource(away), Data: data}
	return jsonrpc.Answer{Error: e.Raw()}
}

// What follows is about answers of a confined child that report what the kernel has refused
// it: the client is told so, and it is recorded.

// MayBeKernelRefusal reports whether an answer, of which the record says word, may report what
// the kernel has refused to whom a lease is for.
func MayBeKernelRefusal(lease *children.Lease, word string, a jsonrpc.Answer) bool {
	switch word {
	case audit.ResultError:
		return lease.StderrHints().MayExplain(a.Error, true)
	case audit.ResultToolError, audit.ResultOK:
		return lease.StderrHints().MayExplain(a.Result, word != audit.ResultOK)
	}
	return false
}

// ExplainKernelRefusal adds to an answer of a child what the kernel has refused it, and records that.
// The child's own words stay as they are, and so does what is no such answer. named are the
// paths of the call. It looks at the file system.
func ExplainKernelRefusal(records *record.Writer, what record.Subject, lease *children.Lease, word string, named []sandbox.Rule, a jsonrpc.Answer) jsonrpc.Answer {
	said, end := a.Error, endOfMessage(a)
	if a.Result != nil {
		said, end = a.Result, endOfContent(a.Result)
	}
	if end == nil {
		return a
	}
	f, ok := lease.StderrHints().ReadResponse(hints.SaidIn(said), named, word != audit.ResultOK)
	if !ok {
		return a
	}
	_, dirs := lease.Workplace()
	records.RecordKernelRefusal(what, f, dirs)
	line := "mcphub: " + hints.Text(f) + "."
	if a.Result == nil {
		quoted := jsonrpc.AppendString(nil, "\n"+line)
		return a.WithEdits(jsonrpc.Edit{Old: end, With: quoted[1:]})
	}
	block := append(jsonrpc.AppendString([]byte(`{"type":"text","text":`), line), '}')
	switch {
	case end[0] == '{': // it has no content
		block = slices.Concat([]byte(`{"content":[`), block, []byte("],"))
	case isEmpty(jsonrpc.Get(a.Result, "content")):
		block = append(block, ']')
	default:
		block = slices.Concat([]byte{','}, block, []byte{']'})
	}
	return a.WithEdits(jsonrpc.Edit{Old: end, With: block})
}

// NamedPaths returns the paths that a verdict was about, with what the call wants there.
func NamedPaths(v *validate.Verdict) (rules []sandbox.Rule) {
	if v == nil {
		return nil
	}
	for i := range v.Findings {
		f := &v.Findings[i]
		if f.Target != "" {
			rules = append(rules, sandbox.Rule{Path: f.Target, Access: configuration.AccessOf(policy.Roles(f.Role)) &^ sandbox.Execute})
		}
	}
	return rules
}

// endOfMessage returns the last byte of the text of an error; nil if it has none.
func endOfMessage(a jsonrpc.Answer) []byte {
	raw := jsonrpc.Get(a.Error, "message")
	if _, ok := jsonrpc.String(raw); !ok {
		return nil
	}
	return raw[len(raw)-1:]
}

// endOfContent returns the last byte of the content of a result, or the first one of a result that has
// structured content alone; nil for a result that cannot have a text more.
func endOfContent(result []byte) []byte {
	raw := jsonrpc.Get(result, "content")
	switch {
	case len(raw) > 0 && raw[0] == '[':
		return raw[len(raw)-1:]
	case raw == nil && jsonrpc.Get(result, "structuredContent") != nil:
		return result[:1]
	}
	return nil
}

func isEmpty(list []byte) bool {
	empty := true
	_ = jsonrpc.Elements(list, func([]byte) bool { empty = false; return false })
	return empty
}
