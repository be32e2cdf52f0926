package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"mcphub/hub/catalog"
	"mcphub/hub/status"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/methods"
)

// Offered is what the servers of a hub offer: the answer of list-tools, with tokens. Its
// shape in JSON is what mcphub tools prints.
type Offered struct {
	Servers []Server `json:"servers"`
	Tokens  int      `json:"tokens"` // of all
}

// A Server is one with its tools.
type Server struct {
	Name   string `json:"name"`
	State  string `json:"state"`
	Error  string `json:"error,omitempty"`
	Tools  []Tool `json:"tools"`
	Tokens int    `json:"tokens"`

	NotOffered []status.Omission `json:"notOffered,omitempty"`
	Mended     []status.Omission `json:"mended,omitempty"`
}

// A Tool is one that a server offers.
type Tool struct {
	Name        string `json:"name"`              // as clients call it
	ToolName    string `json:"toolName"`          // as its server calls it, or hub.json instead
	OwnName     string `json:"ownName,omitempty"` // as its server calls it, if hub.json renames it
	Description string `json:"description,omitempty"`
	Tokens      int    `json:"tokens"` // that its definition takes of a model's context; 0 if it is not listed to clients
}

// Offered asks what the servers offer. It asks for the definitions first: that waits for
// the servers.
func (s *Session) Offered(ctx context.Context) (*Offered, error) {
	list, err := s.Request(ctx, methods.ListTools)
	if err != nil {
		return nil, err
	}
	tokens := map[string]int{}
	if err := jsonrpc.Elements(jsonrpc.Get(list, "tools"), func(def []byte) bool {
		name, _ := jsonrpc.GetString(def, "name")
		tokens[name] = catalog.Tokens(def)
		return true
	}); err != nil {
		return nil, err
	}
	result, err := s.CallTool(ctx, "list-tools", []byte(`{}`))
	if err != nil {
		return nil, err
	}
	out := &Offered{Servers: []Server{}}
	if err := json.Unmarshal(jsonrpc.Get(result, "structuredContent"), out); err != nil {
		return nil, fmt.Errorf("the hub's list of servers: %w", err)
	}
	for i := range out.Servers {
		server := &out.Servers[i]
		for j := range server.Tools {
			server.Tools[j].Tokens = tokens[server.Tools[j].Name]
			server.Tokens += server.Tools[j].Tokens
		}
		out.Tokens += server.Tokens
	}
	return out, nil
}

// Found is what the hub's find-tools answers. Its shape in JSON is what mcphub tools --find prints.
type Found struct {
	Note  string      `json:"note,omitempty"` // said before the tools where none fits well
	Weak  bool        `json:"weak,omitempty"` // none of Tools fits well
	Tools []FoundTool `json:"tools"`          // the best fit first
}

// FoundTool is one answer.
type FoundTool struct {
	Name        string   `json:"name"` // as clients call it
	ServerName  string   `json:"serverName"`
	ToolName    string   `json:"toolName"` // as its server calls it, or hub.json instead
	Description string   `json:"description,omitempty"`
	Required    []string `json:"required,omitempty"` // arguments that it needs
}

// Find asks which tools fit a question in words, at most limit of them.
func (s *Session) Find(ctx context.Context, question string, limit int) (*Found, error) {
	args := jsonrpc.AppendString([]byte(`{"query":`), question)
	result, err := s.CallTool(ctx, "find-tools", fmt.Appendf(args, `,"limit":%d}`, limit))
	if err != nil {
		return nil, err
	}
	if string(jsonrpc.Get(result, "isError")) == "true" {
		var refused struct{ Content []struct{ Text string } }
		_ = json.Unmarshal(result, &refused)
		if len(refused.Content) > 0 {
			return nil, errors.New(refused.Content[0].Text)
		}
	}
	var out Found
	if err := json.Unmarshal(jsonrpc.Get(result, "structuredContent"), &out); err != nil {
		return nil, fmt.Errorf("what the hub has found: %w", err)
	}
	return &out, nil
}
