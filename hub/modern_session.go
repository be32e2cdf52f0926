package hub

import (
	"context"
	"fmt"
	"strings"

	"mcphub/children/offers"
	"mcphub/hub/call"
	"mcphub/hub/client"
	"mcphub/hub/declaration"
	"mcphub/hub/httpfront"
	"mcphub/hub/modern"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/methods"
	"mcphub/internal/mirror"
	"mcphub/internal/printable"
	"mcphub/rootsmgr"
	"mcphub/rootsmgr/guard"
)

// This file serves clients of 2026-07-28, for whom package modern is the adapter. A request over HTTP comes to a modernRequest, a
// request over stdio to serveModern. Both go on with serveWithMeta.

// A modernHost is a Session as package modern needs it.
type modernHost struct{ *Session }

func (s modernHost) FS() guard.FS        { return s.currentConfiguration().FS }
func (s modernHost) DeclaredRoots() bool { return s.clientClaims().Roots }

func (modernHost) BeforeWait(ctx context.Context) { call.YieldServerTurn(ctx) }

func (s modernHost) AwaitServed(ctx context.Context, rootsView rootsmgr.RootsView) error {
	if !s.assignedSession.HasServed(rootsView) {
		s.BeforeWait(ctx)
	}
	return s.assignedSession.AwaitServed(ctx, rootsView, s.RootsTimeout())
}

func (s modernHost) ServeRoots(ctx context.Context, child, set string, rootsView rootsmgr.RootsView) error {
	return s.assignedSession.ServeFromCall(ctx, child, set, rootsView)
}

func (s modernHost) Served(child string) (set string, rootsView rootsmgr.RootsView) {
	b, _ := s.assignedSession.FromCalls(child)
	return b.Set, b.RootsView
}

// modernOf returns the client of a request that only this era has.
func modernOf(ctx context.Context) *modern.Client {
	c, _ := client.RequestOf(ctx).Client.(*modern.Client)
	return c
}

// contextWithClient returns a context in which c is the client of the request, so that what the hub says on account of the request goes to c.
func contextWithClient(ctx context.Context, c client.Client) context.Context {
	request := client.RequestOf(ctx)
	request.Client = c
	return client.NewContext(ctx, request)
}

// A modernSession is the Session of all requests of 2026-07-28 that come with one
// token.
type modernSession struct{ *Session }

func (s modernSession) Read(m *jsonrpc.Message) (httpfront.ModernRequest, jsonrpc.Answer, bool) {
	meta, refusal, ok := modern.ReadMeta(m)
	if !ok {
		return nil, refusal, false
	}
	return &modernRequest{s.Session, m, meta}, jsonrpc.Answer{}, true
}

// Notify takes in what is no notification of the protocol: this revision has none of
// clients.
func (s modernSession) Notify(m *jsonrpc.Message) {
	if !methods.OfProtocol(m.Method) {
		jsonrpc.Guard(s.log, m, func() { s.ServeNotification(m) })
	}
}

func (s modernSession) Busy() bool { return s.modernServer.IsBusy() || s.sender.Logins.IsPending() }
func (s modernSession) HangUp()    { s.notifier.HangUp() }

// A modernRequest is one request of 2026-07-28 that was read.
type modernRequest struct {
	session *Session
	message *jsonrpc.Message
	meta    modern.Meta
}

func (request *modernRequest) Mirrors() []mirror.Mark {
	if tool := request.session.sender.CalledTool(request.message); tool != nil {
		return tool.Mirrors
	}
	return nil
}

func (request *modernRequest) Elsewhere() (node string, refusal jsonrpc.Answer) {
	return request.session.modernServer.OtherNode(request.message)
}

func (request *modernRequest) HasMethod() bool {
	handler := request.session.handlerOf(request.message.Method)
	if request.message.Method == methods.ListSkills {
		return request.session.listsSkills()
	}
	if handler.modern != nil && handler.Kind == methods.Extension { // a server that has the extension may have answered the request
		return len(request.session.sender.Offering.Catalog().Extensions().Speakers(request.message.Method)) > 0
	}
	return handler.modern != nil
}

func (request *modernRequest) Serve(ctx context.Context, exchange *httpfront.ModernExchange) jsonrpc.Answer {
	return request.session.Guard(request.message, func() jsonrpc.Answer {
		return request.session.serveWithMeta(client.NewContext(ctx, client.RequestContext{Headers: exchange}), request.message, request.meta, exchange)
	})
}

// noteModernClient remembers that a client of 2026-07-28 is there, with its first request. Later
// calls do nothing.
func (s *Session) noteModernClient(first *declaration.Claims) {
	s.modernOnce.Do(func() {
		s.mu.Lock()
		if !s.caps.Known {
			s.caps.ForChildren = modern.BridgedWithApps(first)
			if !s.stateless {
				s.name = first.String()
				s.records.SetClient(s.name)
			}
			s.assignedSession.SetModernFirst(!s.hasStarted)
		}
		s.mu.Unlock()
		s.metrics.SetModernVersion(modern.Version)
		s.roots.ExpectCallRoots()
		s.markClientKnown(first.Name)
	})
}

// serveModern answers one request of 2026-07-28. What has to be said before
// the answer goes to out. m and its parts belong to the hub from now on. ctx
// ends when the client no longer wants an answer or may not have it any more.
func (s *Session) serveModern(ctx context.Context, m *jsonrpc.Message, out modern.RequestNotifier) jsonrpc.Answer {
	meta, refusal, ok := modern.ReadMeta(m)
	if !ok {
		return refusal
	}
	return s.serveWithMeta(ctx, m, meta, out)
}

// serveWithMeta works like serveModern for a request whose _meta was read already.
func (s *Session) serveWithMeta(ctx context.Context, m *jsonrpc.Message, meta modern.Meta, out modern.RequestNotifier) jsonrpc.Answer {
	s.noteModernClient(&meta.Claims)
	handler := s.handlerOf(m.Method)
	if !handler.needsNoChild() {
		s.markReady()
	}
	switch {
	case handler.modern == nil:
		return jsonrpc.RefuseMethod(fmt.Sprintf("%s is no method of %s here", printable.Escape(m.Method, 100), modern.Version))
	case handler.Kind == methods.Hub, handler.Kind == methods.List:
		return handler.serveAndRecord(s, ctx, m, s.metrics.StartModernTiming(), handler.modern)
	case handler.Kind == methods.Stream:
		return handler.modern(s, contextWithClient(ctx, s.modernServer.NewClient(meta, out)), m)
	}
	level := meta.Level
	return s.modernServer.Serve(ctx, modern.IncomingRequest{Message: m, Meta: meta, Notifier: out, Asks: handler.MayAsk}, func(c *modern.Client, cancellation *jsonrpc.Cancellation, request *jsonrpc.Message) jsonrpc.Answer {
		if handler.MayAsk {
			if level != 0 {
				s.raiseModernLevel(cancellation.Context(), level)
			}
			if answer, ok := s.sender.TryCallToolAndWait(c, &call.AwaitedAnswer{Cancellation: cancellation}, request); ok {
				return answer
			}
		}
		return handler.serveAndRecord(s, contextWithClient(cancellation.Context(), c), request, s.metrics.StartModernTiming(), handler.modern)
	})
}

// answerDiscover answers server/discover. Over HTTP no handshake comes after it, so it starts
// what is not known yet: the next answer shows the extensions of that, too.
func (s *Session) answerDiscover(ctx context.Context, _ *jsonrpc.Message) jsonrpc.Answer {
	if s.stateless {
		s.markReady()
	}
	s.AwaitRecalled(ctx)
	b := jsonrpc.AppendStrings([]byte(`{"supportedVersions":`), modern.Versions())
	b = append(b, `,"capabilities":{`+modernCapabilities...)
	known := ""
	if s.Catalog().Tasks() {
		known = `"` + methods.ExtensionTasks + `":{}`
	}
	conf, offered := s.offersAtGreeting(ctx)
	all := conf.CatalogBuilder.Extensions(offered)
	if maybe := s.unconfirmedExtensions(conf, offered, all); maybe != "" {
		known = strings.TrimPrefix(known+","+maybe, ",")
	}
	b = append(all.Append(b, known), `},"instructions":`...)
	result := s.addInstructions(append(jsonrpc.AppendString(b, instructions), '}'), conf, offered)
	return s.modernServer.Result(jsonrpc.ResultAnswer(result), &modern.Caching{TTL: s.listCaching(offers.Kinds).TTL}, false)
}

// ProtocolVersions returns all versions that a hub speaks, the newest first.
func ProtocolVersions() []string { return modern.Versions() }
