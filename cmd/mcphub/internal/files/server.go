package files

import (
	"context"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/rs/zerolog"

	"mcphub/internal/jsonrpc"
	"mcphub/internal/methods"
	"mcphub/internal/printable"
)

const (
	serverName    = "mcphub-files"
	rootsTimeout  = 10 * time.Second // of one roots/list query
	grace         = time.Second      // for calls already read, after the end of input
	maxConcurrent = 32               // calls that run at a time; the others wait
	maxAnswer     = jsonrpc.DefaultFrameLimit - 64 - jsonrpc.DefaultIDLimit
)

// Options describe what a [Server] serves.
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
	keeper *keeper
	slots  chan struct{}
}

var errStuck = errors.New("calls are stuck in the file system")

// Serve speaks MCP with one client, a JSON-RPC message per line, until in ends
// (nil; calls already read get a moment to answer), ctx ends (its cause) or
// nothing can be written (that error). It closes in, and out if that is an
// [io.Closer]. It returns when all it started has ended; only a read, a write or
// a disk operation that cannot be interrupted is left behind after a moment, for
// the end of the process.
func (s *Server) Serve(ctx context.Context, in io.ReadCloser, out io.Writer) error {
	ses, over := s.newSession(), make(chan struct{})
	conn := jsonrpc.NewConn(in, out, ses, jsonrpc.ConnOptions{
		Strict: true, Grace: grace, Ended: func() { close(over) }, Log: s.o.Log,
		// Calls take their time. All else is answered in order, so that what
		// follows an initialize sees its effect, and at once.
		OnReadLoop: func(method string) bool { return method != methods.CallTool },
	})
	asking, stop := context.WithCancel(ctx)
	var owned sync.WaitGroup
	owned.Go(func() { ses.keeper.runQueries(asking, conn) })
	defer owned.Wait()
	defer stop()

	ended := make(chan error, 1)
	go func() { ended <- conn.Run(ctx) }()
	select {
	case <-over:
	case <-ctx.Done():
	}
	select {
	case err := <-ended:
		return err
	case <-time.After(2 * grace):
		return errors.Join(context.Cause(ctx), errStuck)
	}
}

func (s *Server) newSession() *session {
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
	ses := &session{Server: s, slots: make(chan struct{}, maxConcurrent), keeper: newKeeper(b, s.rootsTimeout, s.o.Log)}
	return ses
}

// ServeRequest answers one request of the client.
func (s *session) ServeRequest(ctx context.Context, m *jsonrpc.Message) jsonrpc.Answer {
	switch m.Method {
	case methods.Discover:
		return jsonrpc.RefuseMethod("Method not found: only the initialize handshake is spoken here")
	case methods.CallTool:
		return s.callTool(ctx, m)
	case methods.Initialize:
		return s.answerInitialize(m)
	case methods.Ping:
		return jsonrpc.ResultAnswer([]byte("{}"))
	case methods.ListTools:
		return listTools(m)
	}
	return jsonrpc.RefuseMethod("Method " + printable.Clip(m.Method, 200) + " not found")
}

// answerInitialize answers the handshake, and keeps the name of the client.
func (s *session) answerInitialize(m *jsonrpc.Message) jsonrpc.Answer {
	version, ok := jsonrpc.String(m.Param("protocolVersion"))
	if !ok && m.Param("protocolVersion") != nil {
		return jsonrpc.RefuseParams("initialize: protocolVersion must be a string")
	}
	name, _ := jsonrpc.GetString(m.Param("clientInfo"), "name")
	roots := jsonrpc.Get(m.Param("capabilities"), "roots")
	s.keeper.noteHandshake(name, len(roots) > 0 && roots[0] == '{')
	return resultAnswer(struct {
		ProtocolVersion string             `json:"protocolVersion"`
		Capabilities    stdjson.RawMessage `json:"capabilities"`
		ServerInfo      mcp.Implementation `json:"serverInfo"`
	}{mcp.NegotiateLegacyVersion(version), stdjson.RawMessage(`{"tools":{}}`), mcp.Implementation{Name: serverName, Version: s.o.Version}})
}

// listTools answers tools/list: one page, in the order of names.
func listTools(m *jsonrpc.Message) jsonrpc.Answer {
	if cursor := m.Param("cursor"); cursor != nil && string(cursor) != "null" && string(cursor) != `""` {
		return jsonrpc.RefuseParams("the list has one page, and no cursor was given out")
	}
	list := make([]mcp.Tool, 0, len(tools))
	for _, t := range tools {
		list = append(list, t.toolDefinition())
	}
	slices.SortFunc(list, func(a, b mcp.Tool) int { return strings.Compare(a.Name, b.Name) })
	return resultAnswer(mcp.ListToolsResult{Tools: list})
}

// ServeNotification takes what the client tells; everything else needs an id, and
// a call without one does not run.
func (s *session) ServeNotification(m *jsonrpc.Message) {
	switch m.Method {
	case methods.Initialized:
		s.keeper.noteInitialized()
	case methods.RootsChanged:
		s.keeper.wantQuery()
	}
}

func resultAnswer(v any) jsonrpc.Answer {
	raw, err := stdjson.Marshal(v)
	if err != nil {
		return jsonrpc.AnswerFailure("the answer cannot be written as JSON: " + err.Error())
	}
	if len(raw) > maxAnswer {
		return resultAnswer(mcp.NewToolResultErrorf(
			"The answer would be %d bytes as JSON; at most %d can be sent at once. Ask for less: use head or tail, or fewer paths.", len(raw), maxAnswer))
	}
	return jsonrpc.ResultAnswer(raw)
}

// A call is one tool call: its boundary, what it has opened.
type call struct {
	ctx context.Context
	*reach
	lastErr string // why the client's roots could not be read last time
}

// callTool answers tools/call. What goes wrong in the tool is a result that the model
// reads.
func (s *session) callTool(ctx context.Context, m *jsonrpc.Message) jsonrpc.Answer {
	name, _ := jsonrpc.String(m.Param("name"))
	for _, t := range tools {
		if t.name != name {
			continue
		}
		res, err := s.runTool(ctx, t, m.Param("arguments"))
		if err != nil {
			res = mcp.NewToolResultError(err.Error())
		}
		return resultAnswer(res)
	}
	return jsonrpc.RefuseParams(fmt.Sprintf("tool '%s' not found: tool not found", printable.Clip(name, 200)))
}

// runTool waits for the boundary and a slot, and runs a tool.
func (s *session) runTool(ctx context.Context, t tool, args []byte) (*mcp.CallToolResult, error) {
	b, lastErr, err := s.keeper.awaitBounds(ctx)
	if err != nil {
		return nil, err
	}
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if t.changes {
		s.edit.Lock()
		defer s.edit.Unlock()
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	c := &call{ctx: ctx, reach: &reach{bounds: b}, lastErr: lastErr}
	defer c.closeTrees()
	return t.run(c, args)
}
