package failure

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"mcphub/children"
	"mcphub/hub/configuration"
	"mcphub/hub/offering"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/printable"
)

// This file is about names that stand for nothing that there is, or not yet.

// UnknownTool says that a name is no tool, with the nearest ones.
func UnknownTool(name string, c *offering.Catalog, owners []string) string {
	for _, owner := range owners {
		for _, left := range c.Omitted(owner) {
			if strings.HasSuffix(name, left.Name) {
				return fmt.Sprintf("unknown tool %s: the tool %q of server %q is not offered: %s", printable.Escape(name, 100), left.Name, owner, left.Reason)
			}
		}
	}
	return fmt.Sprintf("unknown tool '%s'; tools/list names %d", printable.Escape(name, 100), len(c.Tools()))
}

// NoTool answers a call of a tool, by its own name, that a server does not offer.
func NoTool(server, tool string, c *offering.Catalog) jsonrpc.Answer {
	for _, left := range c.Omitted(server) {
		if left.Name == tool {
			return ToolError(fmt.Sprintf("The tool %q of server %q is not offered: %s", tool, server, left.Reason))
		}
	}
	var known []string
	for _, t := range c.Tools() {
		if t.Child == server {
			known = append(known, t.Remote)
		}
	}
	slices.Sort(known)
	return ToolError(fmt.Sprintf("The server %q has no tool %q. Its tools: %s", server, printable.Escape(tool, 100), printable.List(known)))
}

// NotReady tells of a child that has not come up. stderr is what it wrote, where that is the session's own.
func NotReady(st children.Status, stderr string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "The server %q is not available (%s)", st.Child, st.State)
	if st.Err != "" {
		fmt.Fprintf(&b, ": %s", st.Err)
	}
	if tail := strings.TrimSpace(stderr); tail != "" && !strings.Contains(st.Err, tail) {
		fmt.Fprintf(&b, "\nIt last wrote:\n%s", tail)
	}
	return b.String()
}

// Broken answers a call of a server that hub.json describes wrongly.
func Broken(b configuration.Broken) jsonrpc.Answer {
	return ToolError(fmt.Sprintf("The server %q cannot be run: %s", b.Name, b.Reason))
}

// NoResource says that no child has a resource. Those that are away could not be asked.
func NoResource(uri string, away ...string) jsonrpc.Answer {
	text := "Resource not found: no server behind this hub has it"
	if len(away) > 0 {
		text = fmt.Sprintf("Resource not found: no server that is available has it. Not available: %s; `mcphub status` shows why", printable.List(away))
	}
	data, _ := json.Marshal(map[string]string{"uri": uri})
	e := &jsonrpc.Error{Code: mcp.RESOURCE_NOT_FOUND, Message: text, Data: data}
	return jsonrpc.Answer{Error: e.Raw()}
}
