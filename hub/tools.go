package hub

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"mcphub/hub/call"
	"mcphub/hub/catalog"
	"mcphub/hub/configuration"
	"mcphub/hub/failure"
	"mcphub/hub/texts"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/printable"
)

// The hub's own tools.
const (
	toolGetRoots  = "get-roots"
	toolListTools = "list-tools"
	toolFindTools = "find-tools"
)

// An ownTool is a tool of the hub's own, and what serves it for the session that asks.
type ownTool struct {
	tool  mcp.Tool
	serve func(*Session, context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error)
}

// buildControl makes the hub's own tools, and its answer to initialize.
func (h *Hub) buildControl(about *configuration.About, version string) error {
	h.implementation = mcp.Implementation{Name: about.Name, Version: version, Title: about.Title}
	harmless := mcp.WithToolAnnotation(mcp.ToolAnnotation{ReadOnlyHint: mcp.ToBoolPtr(true), DestructiveHint: mcp.ToBoolPtr(false), IdempotentHint: mcp.ToBoolPtr(true), OpenWorldHint: mcp.ToBoolPtr(false)})
	h.own = []ownTool{
		{tool: mcp.NewTool(toolGetRoots,
			mcp.WithDescription("Shows which directories are in scope: the roots the client gave, where they came from, how fresh they are, and what was left out and why."),
			harmless,
		), serve: (*Session).getRoots},
		{tool: mcp.NewTool(toolListTools,
			mcp.WithDescription("Lists the servers behind this hub with their state and tools, and for one that does not run, why."),
			mcp.WithString("serverName", mcp.Description("Only this server; all of them when left out")),
			harmless,
		), serve: (*Session).listServers},
		{tool: mcp.NewTool(toolFindTools,
			mcp.WithDescription("Finds tools of the servers behind this hub by what they do, the best fit first. Each comes with the start of its description and the arguments that it needs; definitions gives whole descriptions and input schemas. Where nothing fits well the answer says so, and names the nearest. A tool that is found is called by its name, or through call-tool."),
			mcp.WithString("query", mcp.Required(), mcp.Description("What is to be done, in a few words; or the name of a tool")),
			mcp.WithBoolean("definitions", mcp.Description("Whole descriptions and input schemas, as tools/list has them")),
			mcp.WithInteger("limit", mcp.Description("How many tools at most; 5 when left out"), mcp.Min(1), mcp.Max(maxFound)),
			harmless,
		), serve: (*Session).findTools},
		{tool: mcp.NewTool(call.ToolCallTool,
			mcp.WithDescription("Calls a tool of a server behind this hub by the server's name and the tool's own name. The call is judged like any other. find-tools and list-tools tell the names."),
			mcp.WithString("serverName", mcp.Required(), mcp.Description("Name of the server in hub.json")),
			mcp.WithString("toolName", mcp.Required(), mcp.Description("The tool's own name, without prefix")),
			mcp.WithObject("toolArgs", mcp.Description("Arguments of the tool")),
			mcp.WithReadOnlyHintAnnotation(false), mcp.WithDestructiveHintAnnotation(true), mcp.WithIdempotentHintAnnotation(false), mcp.WithOpenWorldHintAnnotation(true),
		), serve: notHere},
	}
	for _, t := range h.own {
		def, err := json.Marshal(t.tool)
		if err != nil {
			return fmt.Errorf("hub: definition of %s: %w", t.tool.Name, err)
		}
		h.ownTools = append(h.ownTools, catalog.HubTool{Name: t.tool.Name, Def: def, Finds: t.tool.Name == toolFindTools})
	}
	return nil
}

const instructions = "This hub joins several MCP servers. Their tools are called server__tool. " +
	"Calls are held to the directories that the client has put in scope; get-roots shows them, list-tools shows the servers, find-tools finds tools by what they do."

// A welcome is the answer to initialize.
type welcome struct {
	ProtocolVersion string             `json:"protocolVersion"`
	Capabilities    json.RawMessage    `json:"capabilities"`
	ServerInfo      mcp.Implementation `json:"serverInfo"`
	Instructions    string             `json:"instructions"`
}

// serveOwnTool answers a call of one of the hub's own tools.
func (s *Session) serveOwnTool(ctx context.Context, tool string, m *jsonrpc.Message) jsonrpc.Answer {
	if tool == toolGetRoots {
		if _, _, err := s.sender.ClientOf(ctx).RootsStatus(ctx); err != nil {
			return failure.AnswerEnded(ctx, err) // the client is asked for them first
		}
	}
	index := slices.IndexFunc(s.hub.own, func(o ownTool) bool { return o.tool.Name == tool })
	if index < 0 {
		return jsonrpc.RefuseParams(texts.UnknownTool(tool))
	}
	var req mcp.CallToolRequest
	if err := json.Unmarshal(m.Frame, &req); err != nil {
		return jsonrpc.ErrorAnswer(jsonrpc.CodeInvalidRequest, "unparsable tools/call request: "+err.Error())
	}
	res, err := s.hub.own[index].serve(s, ctx, req)
	if err != nil {
		return jsonrpc.AnswerFailure(err.Error())
	}
	return encodeAnswer(res)
}

// notHere stands where a tool is served on the data plane and never arrives.
func notHere(*Session, context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	return mcp.NewToolResultError("call-tool cannot be reached this way"), nil
}

func structuredResult(v any) (*mcp.CallToolResult, error) {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return nil, err
	}
	return mcp.NewToolResultStructured(v, string(text)), nil
}

func (s *Session) getRoots(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	return structuredResult(s.rootsReport(ctx))
}

func (s *Session) listServers(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	only := req.GetString("serverName", "")
	conf := s.currentConfiguration()
	if only != "" && (conf.Child(only) == nil || conf.IsDenied(only)) && conf.BrokenEntry(only) == nil {
		return mcp.NewToolResultError(texts.NoServer(only, conf.ServedNames())), nil
	}
	s.AwaitStarted(ctx)
	return structuredResult(s.serversReport(only))
}

// maxFound is how many tools find-tools returns at most.
const maxFound = 20

// Bounds of what find-tools gives of a tool if it gives no definitions.
const (
	longestAbout    = 160     // characters of the description
	longestRequired = 1 << 10 // bytes of the names of arguments; of more it gives none
)

// nothingFits stands before tools of which none fits well.
const nothingFits = "nothing fits well; nearest:"

// foundTools is the answer of find-tools.
type foundTools struct {
	Note  string      `json:"note,omitempty"` // nothingFits
	Weak  bool        `json:"weak,omitempty"` // none of Tools fits well
	Tools []foundTool `json:"tools"`          // the best fit first
}

// foundTool is one of them.
type foundTool struct {
	Name        string          `json:"name"` // towards the client
	ServerName  string          `json:"serverName"`
	ToolName    string          `json:"toolName"` // the child's own, or what hub.json calls it; for call-tool
	Description json.RawMessage `json:"description,omitempty"`
	Required    json.RawMessage `json:"required,omitempty"`    // names of the arguments that it needs; left out beside InputSchema
	InputSchema json.RawMessage `json:"inputSchema,omitempty"` // with definitions
}

func (s *Session) findTools(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	query := req.GetString("query", "")
	if strings.TrimSpace(query) == "" {
		return mcp.NewToolResultError(texts.LacksArgument(toolFindTools, "query", "what is to be done, in a few words")), nil
	}
	limit := req.GetInt("limit", 5)
	if limit < 1 || limit > maxFound {
		return mcp.NewToolResultError(fmt.Sprintf(`"limit" must be from 1 to %d`, maxFound)), nil
	}
	s.AwaitStarted(ctx)
	tools, isWeak := s.Catalog().Find(query, limit)
	found := foundTools{Weak: isWeak, Tools: []foundTool{}}
	if isWeak {
		found.Note = nothingFits
	}
	isWhole := req.GetBool("definitions", false)
	for _, t := range tools {
		found.Tools = append(found.Tools, foundAs(t, isWhole))
	}
	text, err := json.Marshal(found) // compact: schemas are long
	if err != nil {
		return nil, err
	}
	return mcp.NewToolResultStructured(found, string(text)), nil
}

// foundAs returns what find-tools says about a tool, with its whole definition or in short.
func foundAs(t *catalog.Tool, isWhole bool) foundTool {
	f := foundTool{Name: t.Name, ServerName: t.Child, ToolName: t.Shown(), Description: jsonrpc.Get(t.Def, "description")}
	schema := jsonrpc.Get(t.Def, "inputSchema")
	if isWhole {
		f.InputSchema = schema
		return f
	}
	f.Description = startOf(f.Description)
	if required := jsonrpc.Get(schema, "required"); len(required) <= longestRequired && string(required) != "[]" {
		f.Required = required
	}
	return f
}

// startOf returns the first line of a description, as JSON, and of a long one its start.
func startOf(description json.RawMessage) json.RawMessage {
	text, ok := jsonrpc.String(description)
	if !ok {
		return nil
	}
	text, _, _ = strings.Cut(strings.TrimSpace(text), "\n")
	return jsonrpc.AppendString(nil, printable.Clip(text, longestAbout))
}
