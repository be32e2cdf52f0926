package failure

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"mcphub/children"
	"mcphub/hub/configuration"
	"mcphub/hub/offering"
	"mcphub/hub/texts"
	"mcphub/internal/jsonrpc"
)

// This file is about names that stand for nothing that there is, or not yet.

// UnknownTool reports that a name is no tool, with the nearest ones.
func UnknownTool(name string, c *offering.Catalog, owners []string) string {
	for _, owner := range owners {
		for _, left := range c.Omitted(owner) {
			if shown := c.ShownName(owner, left.Name); strings.HasSuffix(name, shown) {
				return texts.NotOffered(owner, shown, left.Reason)
			}
		}
	}
	return texts.UnknownTool(name)
}

// NoTool answers a call of a tool, by its own name, that a server does not offer.
func NoTool(server, tool string, c *offering.Catalog) jsonrpc.Answer {
	for _, left := range c.Omitted(server) {
		if shown := c.ShownName(server, left.Name); tool == left.Name || tool == shown {
			return ToolError(texts.NotOffered(server, shown, left.Reason))
		}
	}
	var known []string
	for _, t := range c.Tools() {
		if t.Child == server {
			known = append(known, t.Shown())
		}
	}
	slices.Sort(known)
	return ToolError(texts.NoTool(server, tool, known))
}

// NotReady returns the answer about a child that has not come up. stderr is what it wrote, if that is the session's own.
func NotReady(st children.Status, stderr string) string {
	return texts.NotReady(st.Child, string(st.State), st.Err, stderr)
}

// Broken answers a call of a server that hub.json describes wrongly.
func Broken(b configuration.Broken) jsonrpc.Answer {
	return ToolError(texts.CannotRun(b.Name, b.Reason))
}

// NoResource reports that no child has a resource. The ones that are away could not be asked.
func NoResource(uri string, away ...string) jsonrpc.Answer {
	data, _ := json.Marshal(map[string]string{"uri": uri})
	e := &jsonrpc.Error{Code: mcp.RESOURCE_NOT_FOUND, Message: texts.NoResource(away), Data: data}
	return jsonrpc.Answer{Error: e.Raw()}
}
