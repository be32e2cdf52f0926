package hub

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sort"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"mcphub/hub/catalog"
	"mcphub/hub/configuration"
	"mcphub/hub/offering"
	"mcphub/internal/jsonrpc"
)

// The hub's own tools.
const (
	toolGetRoots  = "get-roots"
	toolCallTool  = "call-tool"
	toolListTools = "list-tools"
	toolFindTools = "find-tools"
)

// buildControl makes the MCP server of the control plane with the hub's tools.
func (h *Hub) buildControl(version string) error {
	h.control = server.NewMCPServer("mcphub", version, server.WithToolCapabilities(true), server.WithPromptCapabilities(true),
		server.WithResourceCapabilities(true, true), server.WithCompletions(), server.WithLogging(), server.WithTaskCapabilities(true, true, true), server.WithInstructions(instructions))
	tools := []server.ServerTool{
		{Tool: mcp.NewTool(toolGetRoots,
			mcp.WithDescription("Shows which directories are in scope: the roots the client gave, where they came from, how fresh they are, and what was left out and why."),
			mcp.WithReadOnlyHintAnnotation(true), mcp.WithDestructiveHintAnnotation(false), mcp.WithIdempotentHintAnnotation(true), mcp.WithOpenWorldHintAnnotation(false),
		), Handler: h.getRoots},
		{Tool: mcp.NewTool(toolListTools,
			mcp.WithDescription("Lists the servers behind this hub with their state and tools, and for one that does not run, why."),
			mcp.WithString("serverName", mcp.Description("Only this server; all of them when left out")),
			mcp.WithReadOnlyHintAnnotation(true), mcp.WithDestructiveHintAnnotation(false), mcp.WithIdempotentHintAnnotation(true), mcp.WithOpenWorldHintAnnotation(false),
		), Handler: h.listServers},
		{Tool: mcp.NewTool(toolFindTools,
			mcp.WithDescription("Finds tools of the servers behind this hub by what they do, and returns their definitions, the best fit first. Few or no tools mean that nothing fits well. A tool that is found is called by its name, or through call-tool."),
			mcp.WithString("query", mcp.Required(), mcp.Description("What is to be done, in a few words")),
			mcp.WithInteger("limit", mcp.Description("How many tools at most; 5 when left out"), mcp.Min(1), mcp.Max(mostFound)),
			mcp.WithReadOnlyHintAnnotation(true), mcp.WithDestructiveHintAnnotation(false), mcp.WithIdempotentHintAnnotation(true), mcp.WithOpenWorldHintAnnotation(false),
		), Handler: h.findTools},
		{Tool: mcp.NewTool(toolCallTool,
			mcp.WithDescription("Calls a tool of a server behind this hub by the server's name and the tool's own name. The call is judged like any other. find-tools and list-tools tell the names."),
			mcp.WithString("serverName", mcp.Required(), mcp.Description("Name of the server in hub.json")),
			mcp.WithString("toolName", mcp.Required(), mcp.Description("The tool's own name, without prefix")),
			mcp.WithObject("toolArgs", mcp.Description("Arguments of the tool")),
			mcp.WithReadOnlyHintAnnotation(false), mcp.WithDestructiveHintAnnotation(true), mcp.WithIdempotentHintAnnotation(false), mcp.WithOpenWorldHintAnnotation(true),
		), Handler: notHere},
	}
	for _, t := range tools {
		def, err := json.Marshal(t.Tool)
		if err != nil {
			return fmt.Errorf("hub: definition of %s: %w", t.Tool.Name, err)
		}
		h.own = append(h.own, catalog.Own{Name: t.Tool.Name, Def: def})
	}
	h.control.AddTools(tools...)
	return nil
}

const instructions = "This hub joins several MCP servers. Their tools are called server__tool. " +
	"Calls are held to the directories that the client has put in scope; get-roots shows them, list-tools shows the servers, find-tools finds tools by what they do."

// notHere stands where a tool is served on the data plane and never arrives.
func notHere(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	return mcp.NewToolResultError("call-tool cannot be reached this way"), nil
}

// callOwn serves one of the hub's own tools. call-tool carries another call
// inside it, whose bytes stay raw; the others are answered by mcp-go's server.
func (s *Session) callOwn(ctx context.Context, tool offering.Tool, m *jsonrpc.Message) jsonrpc.Answer {
	if tool.Remote == toolGetRoots {
		if _, _, err := s.clientOf(ctx).Standing(ctx); err != nil {
			return gone(ctx, err) // the client is asked for them first
		}
	}
	if tool.Remote != toolCallTool {
		return s.control(ctx, m.Frame)
	}
	args := m.Param("arguments")
	child, ok := jsonrpc.String(jsonrpc.Get(args, "serverName"))
	if !ok {
		return toolError(`call-tool needs "serverName", the name of a server (a string). Servers: ` + quotedList(s.hub.now().ChildNames()))
	}
	remote, ok := jsonrpc.String(jsonrpc.Get(args, "toolName"))
	if !ok {
		return toolError(`call-tool needs "toolName", the tool's own name (a string)`)
	}
	inner := jsonrpc.Get(args, "toolArgs")
	if c := s.hub.now().Child(child); c == nil {
		return s.noServer(child)
	}
	target, refusal := s.lookupRemote(ctx, child, remote)
	if target.Tool == nil {
		return refusal
	}
	meta, token := m.Param("_meta"), tokenOf(m)
	c := &Call{s: s, target: &toolTarget{listed: target, args: inner, at: "/toolArgs"}, token: token, build: func(own []byte, edits []jsonrpc.Edit) [][]byte {
		parts := [][]byte{jsonrpc.AppendString([]byte(`{"name":`), target.Remote)}
		if inner != nil {
			parts = append(append(parts, []byte(`,"arguments":`)), jsonrpc.Splice(inner, edits...)...)
		}
		if meta != nil {
			parts = append(parts, []byte(`,"_meta":`))
			if own != nil {
				parts = append(parts, jsonrpc.Splice(meta, jsonrpc.Edit{Old: token, With: own})...)
			} else {
				parts = append(parts, meta)
			}
		}
		return append(parts, []byte(`}`))
	}}
	a, err := c.run(ctx)
	if errors.Is(err, configuration.ErrSuperseded) {
		return s.callOwn(ctx, tool, m)
	}
	return a
}

// noServer says why a name is not a server that can be called.
func (s *Session) noServer(name string) jsonrpc.Answer {
	if b := s.hub.now().BrokenEntry(name); b != nil {
		return refuseBroken(*b)
	}
	return toolError(fmt.Sprintf("There is no server %q. Servers: %s", shown(name, 100), quotedList(s.hub.now().ChildNames())))
}

// lookupRemote finds a tool by its child and its own name.
func (s *Session) lookupRemote(ctx context.Context, child, remote string) (t offering.Tool, refusal jsonrpc.Answer) {
	find := func() bool { t = s.Catalog().OfChild(child, remote); return t.Tool != nil }
	if find() {
		return t, jsonrpc.Answer{}
	}
	found, down := s.await(ctx, []string{child}, find)
	switch {
	case found:
		return t, jsonrpc.Answer{}
	case ctx.Err() != nil:
		return offering.Tool{}, gone(ctx, nil)
	case down != "":
		return offering.Tool{}, toolError(down)
	}
	c := s.Catalog()
	for _, left := range c.Omitted(child) {
		if left.Name == remote {
			return offering.Tool{}, toolError(fmt.Sprintf("The tool %q of server %q is not offered: %s", remote, child, left.Reason))
		}
	}
	var known []string
	for _, t := range c.Tools() {
		if t.Child == child {
			known = append(known, t.Remote)
		}
	}
	sort.Strings(known)
	return offering.Tool{}, toolError(fmt.Sprintf("The server %q has no tool %q. Its tools: %s", child, shown(remote, 100), quotedList(known)))
}

func quotedList(names []string) string {
	const most = 40
	var b strings.Builder
	for i, n := range names {
		if i == most {
			fmt.Fprintf(&b, " and %d more", len(names)-most)
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%q", n)
	}
	if len(names) == 0 {
		return "none"
	}
	return b.String()
}

// sessionOf returns the session that a control-plane request came in on.
func sessionOf(ctx context.Context) (*Session, error) {
	c, ok := server.ClientSessionFromContext(ctx).(clientSession)
	if !ok {
		return nil, fmt.Errorf("the request belongs to no session")
	}
	return c.s, nil
}

func structured(v any) (*mcp.CallToolResult, error) {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return nil, err
	}
	return mcp.NewToolResultStructured(v, string(text)), nil
}

func (h *Hub) getRoots(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	s, err := sessionOf(ctx)
	if err != nil {
		return nil, err
	}
	return structured(s.rootsReport(ctx))
}

func (h *Hub) listServers(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	s, err := sessionOf(ctx)
	if err != nil {
		return nil, err
	}
	only := req.GetString("serverName", "")
	g := h.now()
	if only != "" && g.Child(only) == nil && g.BrokenEntry(only) == nil {
		return mcp.NewToolResultError(fmt.Sprintf("There is no server %q. Servers: %s", shown(only, 100), quotedList(g.ChildNames()))), nil
	}
	s.AwaitStarted(ctx)
	return structured(s.serversReport(only))
}

// mostFound is how many tools find-tools returns at most.
const mostFound = 20

// foundTool is one answer of find-tools.
type foundTool struct {
	Name        string          `json:"name"` // towards the client
	ServerName  string          `json:"serverName"`
	ToolName    string          `json:"toolName"` // the child's own, for call-tool
	Description json.RawMessage `json:"description,omitempty"`
	InputSchema json.RawMessage `json:"inputSchema,omitempty"`
}

func (h *Hub) findTools(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	s, err := sessionOf(ctx)
	if err != nil {
		return nil, err
	}
	query := req.GetString("query", "")
	if strings.TrimSpace(query) == "" {
		return mcp.NewToolResultError(`find-tools needs "query": what is to be done, in a few words (a string)`), nil
	}
	limit := req.GetInt("limit", 5)
	if limit < 1 || limit > mostFound {
		return mcp.NewToolResultError(fmt.Sprintf(`"limit" must be from 1 to %d`, mostFound)), nil
	}
	s.AwaitStarted(ctx)
	found := struct {
		Tools []foundTool `json:"tools"`
	}{Tools: []foundTool{}}
	for _, t := range s.Catalog().Find(query, limit) {
		found.Tools = append(found.Tools, foundTool{
			Name: t.Name, ServerName: t.Child, ToolName: t.Remote,
			Description: jsonrpc.Get(t.Def, "description"), InputSchema: jsonrpc.Get(t.Def, "inputSchema"),
		})
	}
	text, err := json.Marshal(found) // compact: the schemas are long
	if err != nil {
		return nil, err
	}
	return mcp.NewToolResultStructured(found, string(text)), nil
}
