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
	h := methodHandler{Method: methods.Of(name)}
	switch name {
	case methods.Initialize:
		h.handshake = (*Session).answerInitialize
	case methods.Ping:
		h.handshake = (*Session).answerPing
	case methods.SetLogLevel:
		h.handshake = (*Session).setLevel
	case methods.Discover:
		h.modern = (*Session).answerDiscover // a client may go on with the handshake
	case methods.ListTools, methods.ListPrompts, methods.ListResources, methods.ListTemplates:
		h.handshake, h.modern = (*Session).answerList, (*Session).listModern
	case methods.ListSkills:
		h.Kind, h.handshake, h.modern = methods.List, (*Session).answerList, (*Session).listModern
	case methods.Listen:
		h.modern = (*Session).answerListen
	case methods.CallTool:
		h.handshake, h.modern = callTool, callTool
	case methods.GetPrompt:
		h.handshake, h.modern = getPrompt, getPrompt
	case methods.ReadResource:
		h.handshake, h.modern = readResource, readResource
	case methods.Complete:
		h.handshake, h.modern = complete, complete
	case methods.Subscribe, methods.Unsubscribe:
		h.handshake = (*Session).answerSubscribe
	case methods.GetTask, methods.CancelTask:
		h.handshake, h.modern = (*Session).serveTask, (*Session).serveModernTask
	case methods.UpdateTask:
		h.modern = (*Session).serveModernTask
	case methods.TaskResult:
		h.handshake = (*Session).serveTask
	case methods.ListTasks:
		h.handshake = (*Session).listTasks
	case MethodExplain:
		if s.currentConfiguration().Inspect {
			return methodHandler{methods.Method{Name: name, Kind: methods.Inspection}, (*Session).answerExplain, (*Session).answerExplain}
		}
		h.handshake, h.modern = extension, extension
	default:
		if h.Kind == methods.Extension {
			h.handshake, h.modern = extension, extension
		}
	}
	return h
}

// handshakeCapabilities are what the hub declares in its answer to initialize.
const handshakeCapabilities = `{"logging":{},"prompts":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},"tools":{"listChanged":true},` +
	`"tasks":{"list":{},"cancel":{},"requests":{"tools":{"call":{}}}},"completions":{}}`

// modernCapabilities are what the hub declares in its answer to server/discover, before the extensions.
const modernCapabilities = `"tools":{"listChanged":true},"prompts":{"listChanged":true},"resources":{"listChanged":true,"subscribe":true},"completions":{},"logging":{}`

// needsNoChild reports whether a request needs no child, so that none has to be started for it.
func (h *methodHandler) needsNoChild() bool {
	switch h.Kind {
	case methods.Hub, methods.Task, methods.Question, methods.Notification:
		return true
	}
	return false
}

// serveAndRecord serves a request by one of the handler's functions. It records and times a request that is judged, also if that is
// refused before it is judged. It only times any other request. call.Sender.ServeExtension does both for an extension.
func (h *methodHandler) serveAndRecord(s *Session, ctx context.Context, m *jsonrpc.Message, timing telemetry.RequestTiming, serve serveFunc) jsonrpc.Answer {
	switch {
	case h.Kind == methods.Call:
		r := client.RequestOf(ctx)
		r.Record = s.records.StartRequest(m, timing)
		ctx = client.NewContext(ctx, r)
		a := serve(s, ctx, m)
		s.records.FinishRequest(ctx, r.Record, a)
		return a
	case s.metrics.IsTracing() && h.Kind != methods.Extension: // see call.Sender.ServeExtension
		return s.serveWithSpan(ctx, m, timing, serve)
	case s.metrics != nil && h.Kind != methods.Extension:
		a := serve(s, ctx, m)
		timing.EndRequest(m.Method, record.ResultWord(a.Result, a.Error), a.Error)
		return a
	}
	return serve(s, ctx, m)
}

// serveWithSpan has a request served that is not recorded, and makes a span of it.
func (s *Session) serveWithSpan(ctx context.Context, m *jsonrpc.Message, timing telemetry.RequestTiming, serve serveFunc) jsonrpc.Answer {
	timing.BeginServerSpan(tracing.ParseMeta(m.Param("_meta")).Context, m.Method, m.ID)
	r := client.RequestOf(ctx)
	r.Timing = &timing
	a := serve(s, client.NewContext(ctx, r), m)
	timing.EndRequest(m.Method, record.ResultWord(a.Result, a.Error), a.Error)
	return a
}

// What package call serves, in both eras.
var (
	callTool     = ofCalls((*call.Sender).ServeTool)
	getPrompt    = ofCalls((*call.Sender).ServePrompt)
	readResource = ofCalls((*call.Sender).ServeResource)
	complete     = ofCalls((*call.Sender).ServeCompletion)
	extension    = ofCalls((*call.Sender).ServeExtension)
)

func ofCalls(serve func(*call.Sender, context.Context, *jsonrpc.Message) jsonrpc.Answer) serveFunc {
	return func(s *Session, ctx context.Context, m *jsonrpc.Message) jsonrpc.Answer {
		return serve(&s.sender, ctx, m)
	}
}

func (s *Session) answerPing(context.Context, *jsonrpc.Message) jsonrpc.Answer {
	return jsonrpc.ResultAnswer([]byte(`{}`))
}
