package client

import (
	"context"
	"fmt"
	"os"
	"slices"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/rs/zerolog"

	"mcphub/cmd/mcphub/internal/exit"
	"mcphub/cmd/mcphub/internal/service"
	"mcphub/hub"
	"mcphub/hub/status"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/methods"
	"mcphub/rootsmgr/platform"
)

// A Session is a legacy session with a Hub in the same process, over a pair of pipes. Its
// requests go the way that they go in serve. It keeps results raw, to show them as they
// came.
type Session struct {
	conn  *jsonrpc.Conn
	roots []string // directories in scope
	hub   *hub.Hub
}

// Status returns how the Hub and its servers stand now.
func (s *Session) Status() status.Hub { return s.hub.Status() }

// ServeRequest answers the hub's own questions: roots/list and ping.
func (s *Session) ServeRequest(_ context.Context, m *jsonrpc.Message) jsonrpc.Answer {
	switch m.Method {
	case methods.ListRoots:
		b := []byte(`{"roots":[`)
		for i, dir := range s.roots {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(jsonrpc.AppendString(append(b, `{"uri":`...), platform.Host().FormatURI(dir)), '}')
		}
		return jsonrpc.ResultAnswer(append(b, `]}`...))
	case methods.Ping:
		return jsonrpc.ResultAnswer([]byte(`{}`))
	}
	return jsonrpc.RefuseMethod(m.Method + " is not served")
}

// ServeNotification takes nothing in.
func (s *Session) ServeNotification(*jsonrpc.Message) {}

// shakeHands shakes hands. Without roots the client declares none.
func (s *Session) shakeHands(ctx context.Context, name, version string) error {
	caps := `{}`
	if len(s.roots) > 0 {
		caps = `{"roots":{}}`
	}
	params := jsonrpc.AppendString([]byte(`{"protocolVersion":`), mcp.LATEST_LEGACY_PROTOCOL_VERSION)
	params = append(append(params, `,"capabilities":`...), caps...)
	params = jsonrpc.AppendString(append(params, `,"clientInfo":{"name":`...), name)
	params = jsonrpc.AppendString(append(params, `,"version":`...), version)
	if _, err := s.Request(ctx, "initialize", append(params, `}}`...)); err != nil {
		return err
	}
	return s.conn.Notify(ctx, methods.Initialized)
}

// Request makes one request and returns its raw result.
func (s *Session) Request(ctx context.Context, method string, params ...[]byte) ([]byte, error) {
	resp, err := s.conn.Call(ctx, method, params...)
	if err != nil {
		return nil, err
	}
	if e := resp.Err(); e != nil {
		return nil, e
	}
	return resp.Result, nil
}

// ToolRequest makes a request about one tool, with raw arguments, and returns
// the raw result.
func (s *Session) ToolRequest(ctx context.Context, method, tool string, args []byte) ([]byte, error) {
	params := jsonrpc.AppendString([]byte(`{"name":`), tool)
	return s.Request(ctx, method, append(params, `,"arguments":`...), args, []byte(`}`))
}

// CallTool calls one tool with raw arguments and returns the raw result.
func (s *Session) CallTool(ctx context.Context, tool string, args []byte) ([]byte, error) {
	return s.ToolRequest(ctx, methods.CallTool, tool, args)
}

// With runs a Hub and a session with it, which has these roots, until do returns.
func With(ctx context.Context, cfg hub.Config, log zerolog.Logger, name string, roots []string, do func(context.Context, *Session) error) error {
	return WithIn(ctx, cfg, log, name, roots, hub.Surroundings{}, do)
}

// WithIn works like With, for a session in some surroundings, in which it may be that of another principal.
func WithIn(ctx context.Context, cfg hub.Config, log zerolog.Logger, name string, roots []string, in hub.Surroundings, do func(context.Context, *Session) error) error {
	cfg.Approval = cfg.Approval.ClientOnly() // this hub has no socket, so no one could answer
	cfg.Children = slices.Clone(cfg.Children)
	for i := range cfg.Children {
		cfg.Children[i].ResultMax = 0 // what a link leads to would end with this session, which is soon over
	}
	h, err := hub.New(cfg)
	if err != nil {
		return exit.ConfigErrorf("%w", err)
	}
	toHub, fromClient, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("pipe to the hub: %w", err)
	}
	toClient, fromHub, err := os.Pipe()
	if err != nil {
		_, _ = toHub.Close(), fromClient.Close()
		return fmt.Errorf("pipe from the hub: %w", err)
	}
	s := &Session{roots: roots, hub: h}
	s.conn = jsonrpc.NewConn(toClient, fromClient, s, jsonrpc.ConnOptions{})
	outcome := make(chan error, 1) // of do; the front may be left behind
	err = service.Run(ctx, h, log, func(ctx context.Context) error {
		served := make(chan error, 1)
		go func() { served <- h.ServeStdio(ctx, toHub, fromHub, in) }()
		clientCtx, stop := context.WithCancel(ctx)
		clientDone := make(chan error, 1)
		go func() { clientDone <- s.conn.Run(clientCtx) }()
		result := s.shakeHands(ctx, name, cfg.Version)
		if result == nil {
			result = do(ctx, s)
		}
		outcome <- result
		// Each side reads the end of what the other writes. Windows may not wake a Read of a pipe that is closed under it.
		_ = fromClient.Close()
		err := <-served
		stop()
		<-clientDone
		return err
	})
	select {
	case result := <-outcome:
		if result != nil {
			return result
		}
	default:
		if err == nil {
			err = context.Cause(ctx)
		}
	}
	return err
}
