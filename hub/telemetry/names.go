package telemetry

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"mcphub/hub/audit"
	"mcphub/hub/exposition"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/methods"
)

// Names of the conventions, and what they are on the page: see names_test.go, which holds
// them to prometheus/otlptranslator.
const (
	serverOperation = "mcp.server.operation.duration"
	clientOperation = "mcp.client.operation.duration"
	serverSession   = "mcp.server.session.duration"
	clientSession   = "mcp.client.session.duration"
)

// onPage returns what a metric of the conventions is called on the page: dots are no part
// of a name there, and the unit is.
func onPage(metric string) string { return strings.ReplaceAll(metric, ".", "_") + "_seconds" }

// Attributes of spans, of which most are labels on the page. The last four are the hub's own: the
// conventions have none for what hub.json calls a server, for whom a token belongs to, or for
// what was decided.
const (
	attrMethod    = "mcp.method.name"
	attrTool      = "gen_ai.tool.name"
	attrOperation = "gen_ai.operation.name"
	attrError     = "error.type"
	attrCode      = "rpc.response.status_code"
	attrVersion   = "mcp.protocol.version"
	attrTransport = "network.transport"
	attrPrompt    = "gen_ai.prompt.name"
	attrRequest   = "jsonrpc.request.id"
	attrSession   = "mcp.session.id"
	attrServer    = "mcphub.server.name"
	attrPrincipal = "mcphub.principal"
	attrDecision  = "mcphub.decision"
	attrRule      = "mcphub.rule"
)

// makeLabel returns an attribute as a label; open is the open of exposition.Label.
func makeLabel(attribute string, open bool) exposition.Label {
	return exposition.Label{Name: strings.ReplaceAll(attribute, ".", "_"), Open: open}
}

// buckets are the buckets that the conventions ask for.
var buckets = []time.Duration{
	10 * time.Millisecond, 20 * time.Millisecond, 50 * time.Millisecond, 100 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond,
	time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute, 5 * time.Minute,
}

// Values of attributes.
const (
	executeTool = "execute_tool"
	otherError  = "_OTHER" // of the conventions, for error.type and for methods that they do not list
)

// Values of network.transport.
const (
	Pipe = "pipe" // stdio
	TCP  = "tcp"  // HTTP
)

// isKnownMethod reports whether a method has a value of its own: methods of the protocol have.
func isKnownMethod(method string) bool { return methods.OfProtocol(method) }

// An outcomeClass is how a request ended.
type outcomeClass uint8

const (
	succeeded outcomeClass = iota
	toolError
	cancelled
	timeout
	unavailable
	failed // otherwise
	firstCode
)

// codes are the codes that the specifications of JSON-RPC and MCP give a meaning.
var codes = [...]int{-32700, -32600, -32601, -32602, -32603, -32000, -32001, -32002, -32003, -32004, -32042, -32800}

const outcomes = int(firstCode) + len(codes)

// outcomeWords returns the attributes of an outcome.
func (class outcomeClass) outcomeWords() (errorType, code string) {
	switch class {
	case succeeded:
		return "", ""
	case toolError:
		return "tool_error", ""
	case cancelled:
		return "cancelled", ""
	case timeout:
		return "timeout", ""
	case unavailable:
		return "unavailable", ""
	case failed:
		return otherError, ""
	}
	code = strconv.Itoa(codes[class-firstCode])
	return code, code
}

// outcomeOf returns the outcome for a word of the record; fault is the error of the answer.
func outcomeOf(word string, fault []byte) outcomeClass {
	switch word {
	case audit.ResultOK, audit.ResultAnswered:
		return succeeded
	case audit.ResultToolError:
		return toolError
	case audit.ResultCancelled:
		return cancelled
	case audit.ResultTimeout:
		return timeout
	case audit.ResultUnavailable:
		return unavailable
	}
	if n, err := strconv.Atoi(string(jsonrpc.Get(fault, "code"))); err == nil {
		if i := slices.Index(codes[:], n); i >= 0 {
			return firstCode + outcomeClass(i)
		}
	}
	return failed
}
