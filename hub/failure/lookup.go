package failure

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"mcphub/hub/configuration"
	"mcphub/hub/offering"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/printable"
)

// This file is about names that stand for nothing that there is.

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

// Broken answers a call of a server that hub.json describes wrongly.
func Broken(b configuration.Broken) jsonrpc.Answer {
	return ToolError(fmt.Sprintf("The server %q cannot be run: %s", b.Name, b.Reason))
}

// NoResource says that no child has a resource.
func NoResource(uri string) jsonrpc.Answer {
	data, _ := json.Marshal(map[string]string{"uri": uri})
	e := &jsonrpc.Error{Code: mcp.RESOURCE_NOT_FOUND, Message: "Resource not found: no server behind this hub has it", Data: data}
	return jsonrpc.Answer{Error: e.Raw()}
}
