package hub

import (
	"context"

	"github.com/mark3labs/mcp-go/mcp"

	"mcphub/children/link"
	"mcphub/hub/call"
	"mcphub/hub/modern"
	"mcphub/hub/subscribe"
	"mcphub/hub/tasks"
	"mcphub/internal/jsonrpc"
)

// This file says what each method of a client is, in both eras.

// A purpose is what a method is about.
type purpose uint8

const (
	forProtocol   purpose = iota // the rest of the protocol: mcp-go answers
	forExtension                 // what the protocol does not know
	forHub                       // the hub itself
	forList                      // what is on offer
	forStream                    // what a client is told beside its answers
	forTask                      // a task: whoever made it answers
	forInspection                // what would become of a call
	// The rest is judged and answered by a child.
	forTool
	forPrompt
	forResource
	forCompletion
	forSubscription
)

// A method is how the requests of one method are served.
type method struct {
	purpose        purpose
	serveHandshake serveFunc // nil: mcp-go knows
	serveModern    serveFunc // nil: that era does not have it
	asks           bool      // a modern client can be asked something by the answer
	early          bool      // it needs no child: none has to be started for it
}

type serveFunc func(*Session, context.Context, *jsonrpc.Message) jsonrpc.Answer

// methodOf says how a method is served.
func (s *Session) methodOf(name string) method {
	switch mcp.MCPMethod(name) {
	case mcp.MethodInitialize:
		return method{purpose: forHub, serveHandshake: (*Session).initialize, early: true}
	case mcp.MethodPing:
		return method{purpose: forHub, serveHandshake: (*Session).pong, early: true}
	case mcp.MethodSetLogLevel:
		return method{purpose: forHub, serveHandshake: (*Session).setLevel, early: true}
	case modern.MethodDiscover:
		return method{purpose: forHub, serveModern: (*Session).discover, early: true} // a client may go on with the handshake
	case mcp.MethodToolsList, mcp.MethodPromptsList, mcp.MethodResourcesList, mcp.MethodResourcesTemplatesList:
		return method{purpose: forList, serveHandshake: (*Session).list, serveModern: (*Session).listModern}
	case modern.MethodListen:
		return method{purpose: forStream, serveModern: (*Session).listen}
	case mcp.MethodToolsCall:
		return method{purpose: forTool, serveHandshake: callTool, serveModern: callTool, asks: true}
	case mcp.MethodPromptsGet:
		return method{purpose: forPrompt, serveHandshake: getPrompt, serveModern: getPrompt, asks: true}
	case mcp.MethodResourcesRead:
		return method{purpose: forResource, serveHandshake: readResource, serveModern: readResource, asks: true}
	case "completion/complete":
		return method{purpose: forCompletion, serveHandshake: complete, serveModern: complete}
	case subscribe.MethodSubscribe, subscribe.MethodUnsubscribe:
		return method{purpose: forSubscription, serveHandshake: (*Session).subscribe}
	case tasks.MethodGet, tasks.MethodCancel:
		return method{purpose: forTask, serveHandshake: (*Session).aboutTask, serveModern: (*Session).aboutModernTask, early: true}
	case tasks.MethodUpdate: // of the extension of 2026-07-28
		return method{purpose: forTask, serveModern: (*Session).aboutModernTask, early: true}
	case tasks.MethodResult:
		return method{purpose: forTask, serveHandshake: (*Session).aboutTask, early: true}
	case tasks.MethodList:
		return method{purpose: forTask, serveHandshake: (*Session).listTasks, early: true}
	case MethodExplain:
		if s.now().Inspect {
			return method{purpose: forInspection, serveHandshake: (*Session).explain, serveModern: (*Session).explain}
		}
	}
	if link.OfProtocol(name) {
		return method{early: true}
	}
	return method{purpose: forExtension, serveHandshake: extension, serveModern: extension}
}

// serve has a request served by one of its method's functions. What is judged is
// recorded where it is refused before that, too; see extension for the rest.
func (how *method) serve(s *Session, ctx context.Context, m *jsonrpc.Message, by serveFunc) jsonrpc.Answer {
	if how.purpose >= forTool {
		ctx = s.records.Start(ctx, m)
		a := by(s, ctx, m)
		s.records.Served(ctx, a)
		return a
	}
	return by(s, ctx, m)
}

// What package call serves, in both eras.
var (
	callTool     = ofCalls((*call.Session).ServeTool)
	getPrompt    = ofCalls((*call.Session).ServePrompt)
	readResource = ofCalls((*call.Session).ServeResource)
	complete     = ofCalls((*call.Session).ServeCompletion)
	extension    = ofCalls((*call.Session).ServeExtension)
)

func ofCalls(serve func(*call.Session, context.Context, *jsonrpc.Message) jsonrpc.Answer) serveFunc {
	return func(s *Session, ctx context.Context, m *jsonrpc.Message) jsonrpc.Answer {
		return serve(&s.calls, ctx, m)
	}
}

func (s *Session) pong(context.Context, *jsonrpc.Message) jsonrpc.Answer {
	return jsonrpc.ResultAnswer([]byte(`{}`))
}
