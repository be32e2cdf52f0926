package hub

import (
	"context"

	"mcphub/hub/call"
	"mcphub/hub/client"
	"mcphub/hub/record"
	"mcphub/hub/telemetry"
	"mcphub/hub/tracing"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/methods"
)

// This file has which function serves each method of a client, and what the hub declares that it serves, in both eras.

// A methodHandler is how the requests of one method are served.
type methodHandler struct {
	methods.Method
	handshake serveFunc // nil: that era does not have it
	modern    serveFunc // nil: that era does not have it
}

type serveFunc func(*Session, context.Context, *jsonrpc.Message) jsonrpc.Answer

// handlerOf returns how a method is served.
func (s *Session) handlerOf(name string) methodHandler {
	handler := methodHandler{Method: methods.Of(name)}
	switch name {
	case methods.Initialize:
		handler.handshake = (*Session).answerInitialize
	case methods.Ping:
		handler.handshake = (*Session).answerPing
	case methods.SetLogLevel:
		handler.handshake = (*Session).setLevel
	case methods.Discover:
		handler.modern = (*Session).answerDiscover // a client may go on with the handshake
	case methods.ListTools, methods.ListPrompts, methods.ListResources, methods.ListTemplates:
		handler.handshake, handler.modern = (*Session).answerList, (*Session).listModern
	case methods.ListSkills:
		handler.Kind, handler.handshake, handler.modern = methods.List, (*Session).answerList, (*Session).listModern
	case methods.Listen:
		handler.modern = (*Session).answerListen
	case methods.CallTool:
		handler.handshake, handler.modern = callTool, callTool
	case methods.GetPrompt:
		handler.handshake, handler.modern = getPrompt, getPrompt
	case methods.ReadResource:
		handler.handshake, handler.modern = readResource, readResource
	case methods.Complete:
		handler.handshake, handler.modern = complete, complete
	case methods.Subscribe, methods.Unsubscribe:
		handler.handshake = (*Session).answerSubscribe
	case methods.GetTask, methods.CancelTask:
		handler.handshake, handler.modern = (*Session).serveTask, (*Session).serveModernTask
	case methods.UpdateTask:
		handler.modern = (*Session).serveModernTask
	case methods.TaskResult:
		handler.handshake = (*Session).serveTask
	case methods.ListTasks:
		handler.handshake = (*Session).listTasks
	case MethodExplain:
		if s.currentConfiguration().Inspect {
			return methodHandler{methods.Method{Name: name, Kind: methods.Inspection}, (*Session).answerExplain, (*Session).answerExplain}
		}
		handler.handshake, handler.modern = extension, extension
	default:
		if handler.Kind == methods.Extension {
			handler.handshake, handler.modern = extension, extension
		}
	}
	return handler
}

// handshakeCapabilities are what the hub declares in its answer to initialize.
const handshakeCapabilities = `{"logging":{},"prompts":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},"tools":{"listChanged":true},` +
	`"tasks":{"list":{},"cancel":{},"requests":{"tools":{"call":{}}}},"completions":{}}`

// modernCapabilities are what the hub declares in its answer to server/discover, before the extensions.
const modernCapabilities = `"tools":{"listChanged":true},"prompts":{"listChanged":true},"resources":{"listChanged":true,"subscribe":true},"completions":{},"logging":{}`

// needsNoChild reports whether a request can be answered without a child, so that it waits for no start.
func (handler *methodHandler) needsNoChild() bool {
	switch handler.Kind {
	case methods.Hub, methods.Task, methods.Question, methods.Notification:
		return true
	}
	return false
}

// serveAndRecord serves a request by one of the handler's functions. It records and times a request that is judged, also if that is
// refused before it is judged. It only times any other request. call.Sender.ServeExtension does both for an extension.
func (handler *methodHandler) serveAndRecord(s *Session, ctx context.Context, m *jsonrpc.Message, timing telemetry.RequestTiming, serve serveFunc) jsonrpc.Answer {
	switch {
	case handler.Kind == methods.Call:
		request := client.RequestOf(ctx)
		request.Record = s.records.StartRequest(m, timing)
		ctx = client.NewContext(ctx, request)
		answer := serve(s, ctx, m)
		s.records.FinishRequest(ctx, request.Record, answer)
		return answer
	case s.metrics.IsTracing() && handler.Kind != methods.Extension: // see call.Sender.ServeExtension
		return s.serveWithSpan(ctx, m, timing, serve)
	case s.metrics != nil && handler.Kind != methods.Extension:
		answer := serve(s, ctx, m)
		timing.EndRequest(m.Method, record.ResultWord(answer.Result, answer.Error), answer.Error)
		return answer
	}
	return serve(s, ctx, m)
}

// serveWithSpan has a request served that is not recorded, and makes a span of it.
func (s *Session) serveWithSpan(ctx context.Context, m *jsonrpc.Message, timing telemetry.RequestTiming, serve serveFunc) jsonrpc.Answer {
	timing.BeginServerSpan(tracing.ParseMeta(m.Param("_meta")).Context, m.Method, m.ID)
	request := client.RequestOf(ctx)
	request.Timing = &timing
	answer := serve(s, client.NewContext(ctx, request), m)
	timing.EndRequest(m.Method, record.ResultWord(answer.Result, answer.Error), answer.Error)
	return answer
}

// What package call serves, in both eras.
var (
	callTool     = bySender((*call.Sender).ServeTool)
	getPrompt    = bySender((*call.Sender).ServePrompt)
	readResource = bySender((*call.Sender).ServeResource)
	complete     = bySender((*call.Sender).ServeCompletion)
	extension    = bySender((*call.Sender).ServeExtension)
)

// bySender returns a serveFunc that has the Sender of the session serve the request.
func bySender(serve func(*call.Sender, context.Context, *jsonrpc.Message) jsonrpc.Answer) serveFunc {
	return func(s *Session, ctx context.Context, m *jsonrpc.Message) jsonrpc.Answer {
		return serve(&s.sender, ctx, m)
	}
}

func (s *Session) answerPing(context.Context, *jsonrpc.Message) jsonrpc.Answer {
	return jsonrpc.ResultAnswer([]byte(`{}`))
}
