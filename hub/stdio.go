package hub

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/mark3labs/mcp-go/mcp"

	"mcphub/hub/modern"
	"mcphub/hub/surroundings"
	"mcphub/hub/texts"
	"mcphub/hub/toolset"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/methods"
	"mcphub/internal/principal"
	"mcphub/internal/printable"
)

// ServeStdio serves one client over a pair of streams, which it closes, until input ends or
// ctx does. It returns when the session's goroutines have ended and its children have been
// told to stop. Run must be running. Its error is an ErrSurroundings if nothing was read,
// because the client cannot be served in its surroundings.
func (h *Hub) ServeStdio(ctx context.Context, input io.ReadCloser, output io.Writer, s Surroundings) error {
	if s.SameAsHub() && s.Log == nil && s.Client.PID == 0 {
		return h.serveStdio(ctx, input, output, nil, &s)
	}
	a, err := h.PrepareAttachment(ctx, s)
	if err != nil {
		return errors.Join(err, closeBoth(input, output))
	}
	return a.ServeStdio(ctx, input, output)
}

// ServeStdio works like Hub.ServeStdio, once for an Attachment.
func (a *Attachment) ServeStdio(ctx context.Context, input io.ReadCloser, output io.Writer) error {
	ctx, leave, err := a.at.Enter(ctx)
	if err != nil {
		return errors.Join(err, closeBoth(input, output))
	}
	defer leave()
	err = a.hub.serveStdio(ctx, input, output, a.at, a.at.Surroundings)
	if why := context.Cause(ctx); errors.Is(why, ErrSurroundings) {
		return why
	}
	return err
}

// closeBoth closes streams that nothing was read from.
func closeBoth(in io.Closer, out io.Writer) error {
	if out, ok := out.(io.Closer); ok {
		return errors.Join(out.Close(), in.Close())
	}
	return in.Close()
}

func (h *Hub) serveStdio(ctx context.Context, input io.ReadCloser, output io.Writer, a *surroundings.Attachment, client *Surroundings) error {
	impersonation := client.Impersonate
	if impersonation == nil {
		impersonation = &Impersonation{Principal: principal.User()}
	}
	options := sessionOptions{principal: impersonation.Principal, local: true, attachment: a, toolsets: h.toolsetsOf(client, impersonation)}
	if a != nil && a.Surroundings.Kept != nil {
		var err error
		if options.keeper, err = newSessionKeeper(a.Surroundings.Kept); err != nil {
			return errors.Join(err, closeBoth(input, output))
		}
		options.bearer, options.seal = options.keeper.requestBearer()
	}
	s := h.newSession(options)
	cfg := &s.currentConfiguration().Settings
	connOptions := jsonrpc.ConnOptions{
		Strict: true, FrameLimit: cfg.Limits.Frame, IDLimit: cfg.Limits.ID, MaxRequests: cfg.Limits.Calls, Grace: cfg.Limits.Grace,
		OnReadLoop: isServedInOrder, Fast: s.tryFastCall, Batches: s.maySendBatches, Ended: s.notifier.HangUp, Log: s.log,
	}
	resumed := options.keeper.connectionOptions(s, &connOptions)
	conn := jsonrpc.NewConn(input, output, s, connOptions)
	s.setMainMessenger(pipeClient{conn})
	s.initRoots(impersonation.Ceiling)
	return s.serveFront(ctx, func(ctx context.Context) error {
		wait, err := resumed(ctx)
		defer wait()
		if err != nil {
			return errors.Join(err, closeBoth(input, output))
		}
		return conn.Run(ctx)
	})
}

// toolsetsOf returns what the toolsets of a client in some surroundings are told by, but for its name. A command that shows what a client
// would get has no project.
func (h *Hub) toolsetsOf(client *Surroundings, impersonation *Impersonation) toolset.Claim {
	claim, conf := toolset.Claim{Bound: impersonation.Toolsets, Flag: client.Toolsets}, h.currentConfiguration()
	if dir := cmp.Or(client.Dir, conf.Dir); dir != "" && !conf.Inspect { // a reload may name its project
		claim.Dirs = []string{dir}
		if real, err := filepath.EvalSymlinks(dir); err == nil && real != dir {
			claim.Dirs = append(claim.Dirs, real)
		}
	}
	return claim
}

// A pipeClient is a client over a pair of streams: it is there as long as they are.
type pipeClient struct{ *jsonrpc.Conn }

func (pipeClient) Connected() bool                  { return true }
func (pipeClient) AwaitReady(context.Context) error { return nil }

// maySendBatches reports whether the client may send several messages in one array: only
// the revision that was agreed on with it has that (basic, Batching).
func (s *Session) maySendBatches() bool {
	return s.clientClaims().Protocol == mcp.ProtocolVersion20250326
}

// isServedInOrder picks the requests whose effect the next message on the stream may
// build upon.
func isServedInOrder(method string) bool { return method == methods.Initialize }

// tryFastCall takes a request that needs no waiting, on the read loop.
func (s *Session) tryFastCall(m *jsonrpc.Message, r *jsonrpc.Responder) bool {
	return !modern.IsModern(m) && !modern.DeclaresCapabilities(m) && s.handshaken.Load() && s.sender.TryCallTool(m, s.mainClient, r, true)
}

// ServeRequest answers one request of the client.
func (s *Session) ServeRequest(ctx context.Context, m *jsonrpc.Message) jsonrpc.Answer {
	if modern.IsModern(m) || modern.DeclaresCapabilities(m) && !s.handshaken.Load() {
		return s.serveModern(ctx, m, s.mainMessenger)
	}
	handler := s.handlerOf(m.Method)
	if handler.Kind == methods.Call && !s.handshaken.Load() {
		return jsonrpc.ErrorAnswer(jsonrpc.CodeInvalidRequest, m.Method+" came before initialize, and without the _meta of "+modern.Version+": say initialize first")
	}
	if !handler.needsNoChild() {
		s.markReady()
	}
	if handler.handshake == nil {
		handler.handshake = (*Session).refuseMethod
	}
	return handler.serveAndRecord(s, ctx, m, s.metrics.StartTiming(), handler.handshake)
}

// answerInitialize answers the handshake. mcp-go negotiates the version. What the client sent of itself is read here, from the raw bytes: a
// capability of an odd shape counts as undeclared and spoils nothing.
func (s *Session) answerInitialize(ctx context.Context, m *jsonrpc.Message) jsonrpc.Answer {
	if s.clientClaims().Known {
		return jsonrpc.ErrorAnswer(jsonrpc.CodeInvalidRequest, "initialize was already called on this connection")
	}
	version, ok := jsonrpc.String(m.Param("protocolVersion"))
	if !ok {
		return jsonrpc.RefuseParams(texts.Lacks(m.Method, "a protocol version (a string)", "/params/protocolVersion"))
	}
	s.setCaps(m.Params)
	s.metrics.SetHandshakeVersion(mcp.NegotiateLegacyVersion(version))
	c := s.clientClaims()
	if !c.Roots {
		s.roots.NoteHandshake(false, false) // there is nothing to wait for, and some clients never send notifications/initialized
	}
	s.log.Info().Str("client", c.Name).Str("version", c.Version).Str("protocol", c.Protocol).Bool("roots", c.Roots).Msg("client connected")
	answer := s.negotiateVersion(version)
	if answer.Result != nil {
		s.AwaitRecalled(ctx)
		conf, offers := s.offersAtGreeting(ctx)
		answer.Result = s.addExtensions(s.removeUnservedTasks(s.addInstructions(answer.Result, conf, offers), conf, offers), conf, offers)
		s.keeper.changeRecord(func(r *keptRecord) { r.Answer = answer.Result })
	}
	return answer
}

// negotiateVersion returns the answer to initialize: by the version that is agreed on, of which
// there are few, and by nothing else. So it is made once for each.
func (s *Session) negotiateVersion(version string) jsonrpc.Answer {
	version = mcp.NegotiateLegacyVersion(version)
	if result, ok := s.hub.welcomes.Load(version); ok {
		return jsonrpc.ResultAnswer(result.([]byte))
	}
	answer := encodeAnswer(welcome{version, json.RawMessage(handshakeCapabilities), s.hub.implementation, instructions})
	if answer.Result != nil {
		s.hub.welcomes.Store(version, answer.Result)
	}
	return answer
}

// refuseMethod answers a request of a method that the handshake's era does not have.
func (s *Session) refuseMethod(_ context.Context, m *jsonrpc.Message) jsonrpc.Answer {
	if m.Method == methods.Discover || m.Method == methods.Listen {
		return jsonrpc.RefuseMethod(fmt.Sprintf("%q requires protocol version %s or later", m.Method, modern.Version))
	}
	return jsonrpc.RefuseMethod("Method " + printable.Clip(m.Method, 200) + " not found")
}

// ServeNotification takes in what the client tells. It runs on the read loop.
func (s *Session) ServeNotification(m *jsonrpc.Message) {
	switch m.Method {
	case methods.Initialized:
		caps := s.clientClaims()
		if caps.Known && s.notifier.NoteInitialized() { // nothing is known of a client that did not introduce itself
			s.roots.NoteHandshake(caps.Roots, caps.RootsChange)
			s.markReady()
		}
	case methods.Progress:
		s.sender.InFlight.Progress(m)
	case methods.TaskStatus:
		s.forwardTaskNews(m)
	case methods.RootsChanged:
		// Whatever roots its params may hold: they are asked for, never told.
		s.roots.NoteChange()
	default:
		if !methods.OfProtocol(m.Method) {
			s.forwardNotification(m)
			return
		}
		s.log.Debug().Str("method", printable.Escape(m.Method, 100)).Msg("notification of the client ignored")
	}
}

// forwardNotification passes a notification that the protocol does not know on to the child
// that it belongs to.
func (s *Session) forwardNotification(m *jsonrpc.Message) {
	own := &jsonrpc.Message{}
	if jsonrpc.Split(bytes.Clone(m.Frame), true, own) != nil || !own.IsNotification() {
		return
	}
	ok := s.outbox.Put(len(own.Frame), func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, s.currentConfiguration().StartLimit(""))
		defer cancel()
		if answer := s.sender.ServeExtension(ctx, own); answer.Error != nil {
			s.log.Debug().Str("method", printable.Escape(own.Method, 100)).Str("reason", jsonrpc.ParseError(answer.Error).Message).Msg("notification of the client not passed on")
		}
	})
	if !ok {
		s.log.Warn().Str("method", printable.Escape(own.Method, 100)).Int("bytes", len(own.Frame)).Msg("notification of the client dropped: too many wait to be passed on")
	}
}
