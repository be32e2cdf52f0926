package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	"github.com/rs/zerolog"
)

const (
	serverName     = "mcphub-files"
	rootsTimeout   = 10 * time.Second // of one roots/list query (R2)
	grace          = time.Second      // for calls already read, after the end of input
	maxConcurrent  = 32               // calls that run at a time; the others wait
	methodRoots    = "roots/list"
	methodChanged  = "notifications/roots/list_changed"
	methodBegun    = "notifications/initialized"
	methodDiscover = "server/discover"
)

// Options say what a [Server] serves.
type Options struct {
	// Dirs are the allowed directories (paths, "~", file: URIs) until the client
	// has answered with its roots; its only ones if it declares none. One that
	// does not exist or is no directory is logged and skipped.
	Dirs    []string
	Version string // told to the client; "" is "dev"
	Log     zerolog.Logger
}

// Server is the embedded child. Make it with [New]; each [Server.Serve] is one
// client with a boundary of its own.
type Server struct {
	o            Options
	rootsTimeout time.Duration

	// edit is held by calls that change files, so that two edits of one file do
	// not lose each other's work.
	edit sync.Mutex
}

// New makes a server. It starts nothing and touches no directory.
func New(o Options) *Server {
	if o.Version == "" {
		o.Version = "dev"
	}
	return &Server{o: o, rootsTimeout: rootsTimeout}
}

// session is one Serve.
type session struct {
	*Server
	mcp    *server.MCPServer
	link   *link
	keeper *keeper
	slots  chan struct{}
}

// Serve speaks MCP with one client, a JSON-RPC message per line, until in ends
// (nil; calls already read get a moment to answer), ctx ends (its cause) or
// nothing can be written (that error). When ctx ends, in and out are closed if
// they are an [io.Closer]. It returns when all it started has ended; only a read,
// a write or a disk operation that cannot be interrupted (os.Stdin on a terminal)
// is left behind after a moment, for the end of the process.
func (s *Server) Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	ses := s.session(out, cancel)
	var owned sync.WaitGroup
	owned.Go(func() { ses.keeper.run(ctx) })
	unblock := context.AfterFunc(ctx, func() { closeAll(in, out) })

	each, end := make(chan []byte), make(chan error, 1)
	go lines(ctx, in, each, end)
	err := ses.loop(ctx, each, end)
	ses.link.end()
	if err == nil && finished(&ses.link.wg, grace) {
		unblock() // in and out stay the caller's
		cancel(nil)
		owned.Wait()
		return nil
	}
	if err == nil {
		err = errors.New("the client closed the input while calls were running")
	}
	cancel(err)
	owned.Wait()
	if !finished(&ses.link.wg, grace) {
		err = errors.Join(err, errors.New("calls are still stuck in the file system"))
	}
	if isCloser(in) { // closed by now, so the reader ends, unless it cannot be interrupted
		select {
		case <-end:
		case <-time.After(grace / 4):
		}
	}
	return err
}

func (s *Server) session(out io.Writer, fail context.CancelCauseFunc) *session {
	ses := &session{Server: s, slots: make(chan struct{}, maxConcurrent)}
	ses.link = &link{
		handle: ses.message, notify: ses.notification, out: out, fail: fail,
		// The handshake is served in order: what follows on the stream sees it.
		inline:  func(method string) bool { return method == string(mcp.MethodInitialize) },
		pending: make(map[string]chan answer), serving: make(map[string]context.CancelFunc),
	}
	dirs := make([]asked, 0, len(s.o.Dirs))
	for _, d := range s.o.Dirs {
		dirs = append(dirs, asked{raw: d})
	}
	origin := "" // the keeper knows why
	if len(dirs) > 0 {
		origin = "none of the directories given can be used"
	}
	b := newBounds(origin, dirs)
	for _, sk := range b.skipped {
		s.o.Log.Warn().Str("directory", sk.Root).Str("reason", sk.Reason).Msg("directory skipped")
	}
	ask := func(ctx context.Context) ([]byte, error) { return ses.link.call(ctx, methodRoots) }
	ses.keeper = newKeeper(ask, b, s.rootsTimeout, s.o.Log)

	hooks := &server.Hooks{}
	hooks.AddAfterInitialize(func(_ context.Context, _ any, r *mcp.InitializeRequest, _ *mcp.InitializeResult) {
		ses.keeper.introduced(r.Params.ClientInfo.Name, r.Params.Capabilities.Roots != nil)
	})
	ses.mcp = server.NewMCPServer(serverName, s.o.Version,
		server.WithToolCapabilities(false), server.WithRecovery(), server.WithHooks(hooks))
	for _, t := range tools {
		ses.mcp.AddTool(t.definition(), ses.handler(t))
	}
	return ses
}

// loop takes the client's lines until they end.
func (ses *session) loop(ctx context.Context, each <-chan []byte, end <-chan error) error {
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case line := <-each:
			if line == nil {
				ses.link.refuse(nil, mcp.INVALID_REQUEST, "Invalid request: the line is longer than "+strconv.Itoa(frameLimit)+" bytes")
				continue
			}
			ses.link.frame(ctx, line)
		case err := <-end:
			return err
		}
	}
}

// message hands one message of the client to mcp-go, rebuilt from the members
// that were read: its decoder folds case and takes the last of two equal names,
// so what it sees must be what a strict reader in front has seen.
func (ses *session) message(ctx context.Context, method string, params jsontext.Value) mcp.JSONRPCMessage {
	if method == methodDiscover {
		return rpcError(mcp.METHOD_NOT_FOUND, "Method not found: only the initialize handshake is spoken here")
	}
	if method == string(mcp.MethodToolsCall) {
		var p struct {
			Name      string         `json:"name"`
			Arguments jsontext.Value `json:"arguments,omitzero"`
		}
		if err := json.Unmarshal(params, &p); err != nil {
			return rpcError(mcp.INVALID_PARAMS, "Invalid params: "+err.Error())
		}
		clean, err := json.Marshal(p)
		if err != nil {
			return rpcError(mcp.INVALID_PARAMS, "Invalid params: "+err.Error())
		}
		params = clean
	}
	m := struct {
		Version string         `json:"jsonrpc"`
		ID      int            `json:"id"` // a stand-in: the link answers under the real one
		Method  string         `json:"method"`
		Params  jsontext.Value `json:"params,omitzero"`
	}{Version: "2.0", ID: 1, Method: method, Params: params}
	raw, err := json.Marshal(m, jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return rpcError(mcp.INVALID_PARAMS, "Invalid params: "+err.Error())
	}
	return ses.mcp.HandleMessage(ctx, raw)
}

// notification takes what the client tells; everything else needs an id, and a
// call without one does not run.
func (ses *session) notification(method string) {
	switch method {
	case methodBegun:
		ses.keeper.initialized()
	case methodChanged:
		ses.keeper.want()
	}
}

func rpcError(code int, text string) mcp.JSONRPCError {
	return mcp.JSONRPCError{JSONRPC: "2.0", Error: mcp.NewJSONRPCErrorDetails(code, text, nil)}
}

// A call is one tool call: its boundary, what it has opened, its session.
type call struct {
	ctx context.Context
	*reach
	lastErr string // why the client's roots could not be read last time
}

// handler wraps a tool: it waits for the boundary and a slot, opens what is
// needed, closes it, and turns errors into results that the model reads.
func (ses *session) handler(t tool) server.ToolHandlerFunc {
	return func(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		b, lastErr, err := ses.keeper.wait(ctx)
		if err != nil {
			return mcp.NewToolResultError(err.Error()), nil
		}
		select {
		case ses.slots <- struct{}{}:
			defer func() { <-ses.slots }()
		case <-ctx.Done():
			return mcp.NewToolResultError("cancelled"), nil
		}
		if t.changes {
			ses.edit.Lock()
			defer ses.edit.Unlock()
		}
		if ctx.Err() != nil {
			return mcp.NewToolResultError("cancelled"), nil
		}
		c := &call{ctx: ctx, reach: &reach{bounds: b}, lastErr: lastErr}
		defer c.close()
		res, err := t.run(c, req.Params.RawArguments)
		if err != nil {
			return mcp.NewToolResultError(err.Error()), nil
		}
		return res, nil
	}
}

// arguments decodes the arguments of a call into T: exact names, no unknown ones,
// so that a misspelled dryRun is not taken for one that was left out.
func arguments[T any](raw []byte) (T, error) {
	var args T
	if len(raw) == 0 {
		raw = []byte("{}")
	}
	if err := json.Unmarshal(raw, &args, json.RejectUnknownMembers(true)); err != nil {
		return args, fmt.Errorf("invalid arguments: %w", err)
	}
	return args, nil
}

// finished waits for wg, at most d.
func finished(wg *sync.WaitGroup, d time.Duration) bool {
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}

func closeAll(streams ...any) {
	for _, s := range streams {
		if c, ok := s.(io.Closer); ok {
			c.Close()
		}
	}
}

func isCloser(s any) bool {
	_, ok := s.(io.Closer)
	return ok
}
