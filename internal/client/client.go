package client

import (
	"context"
	"fmt"
	"os"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/rs/zerolog"

	"mcphub/hub"
	"mcphub/internal/exit"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/service"
	"mcphub/rootsmgr"
)

// A Session is a handshake client of a Hub in the same process, over a pair of
// pipes: what call and demo use, so that they go the very way of serve. It
// keeps results raw, to show them as they came.
type Session struct {
	conn  *jsonrpc.Conn
	roots []string // directories in scope
	hub   *hub.Hub
}

// Status tells how the Hub and its servers stand now.
func (c *Session) Status() hub.Status { return c.hub.Status() }

// ServeRequest answers the hub's own questions: roots/list and ping.
func (c *Session) ServeRequest(_ context.Context, m *jsonrpc.Message) jsonrpc.Answer {
	switch m.Method {
	case "roots/list":
		b := []byte(`{"roots":[`)
		for i, dir := range c.roots {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(jsonrpc.AppendString(append(b, `{"uri":`...), rootsmgr.FormatURI(dir)), '}')
		}
		return jsonrpc.ResultAnswer(append(b, `]}`...))
	case string(mcp.MethodPing):
		return jsonrpc.ResultAnswer([]byte(`{}`))
	}
	return jsonrpc.ErrorAnswer(jsonrpc.CodeMethodNotFound, m.Method+" is not served")
}

// ServeNotification takes nothing in.
func (c *Session) ServeNotification(*jsonrpc.Message) {}

// connect shakes hands. Without roots the client declares none.
func (c *Session) connect(ctx context.Context, name, version string) error {
	caps := `{}`
	if len(c.roots) > 0 {
		caps = `{"roots":{}}`
	}
	params := jsonrpc.AppendString([]byte(`{"protocolVersion":`), mcp.LATEST_LEGACY_PROTOCOL_VERSION)
	params = append(append(params, `,"capabilities":`...), caps...)
	params = jsonrpc.AppendString(append(params, `,"clientInfo":{"name":`...), name)
	params = jsonrpc.AppendString(append(params, `,"version":`...), version)
	if _, err := c.Request(ctx, "initialize", append(params, `}}`...)); err != nil {
		return err
	}
	return c.conn.Notify(ctx, "notifications/initialized")
}

// Request makes one request and returns its raw result.
func (c *Session) Request(ctx context.Context, method string, params ...[]byte) ([]byte, error) {
	resp, err := c.conn.Call(ctx, method, params...)
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
func (c *Session) ToolRequest(ctx context.Context, method, tool string, args []byte) ([]byte, error) {
	params := jsonrpc.AppendString([]byte(`{"name":`), tool)
	return c.Request(ctx, method, append(params, `,"arguments":`...), args, []byte(`}`))
}

// CallTool calls one tool with raw arguments and returns the raw result.
func (c *Session) CallTool(ctx context.Context, tool string, args []byte) ([]byte, error) {
	return c.ToolRequest(ctx, string(mcp.MethodToolsCall), tool, args)
}

// With runs a Hub and a client of it with these roots until do returns.
func With(ctx context.Context, cfg hub.Config, log zerolog.Logger, name string, roots []string, do func(context.Context, *Session) error) error {
	cfg.Approval.Terminal = false // this hub has no socket, so nobody could answer
	h, err := hub.New(cfg)
	if err != nil {
		return exit.Errorf(exit.Config, "%w", err)
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
	c := &Session{roots: roots, hub: h}
	c.conn = jsonrpc.NewConn(toClient, fromClient, c, jsonrpc.Options{})
	outcome := make(chan error, 1) // of do; the front may be left behind
	err = service.Run(ctx, h, log, func(ctx context.Context) error {
		served := make(chan error, 1)
		go func() { served <- h.ServeStdio(ctx, toHub, fromHub) }()
		clientCtx, stop := context.WithCancel(ctx)
		clientDone := make(chan error, 1)
		go func() { clientDone <- c.conn.Run(clientCtx) }()
		result := c.connect(ctx, name, cfg.Version)
		if result == nil {
			result = do(ctx, c)
		}
		outcome <- result
		stop()
		<-clientDone
		return <-served
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
