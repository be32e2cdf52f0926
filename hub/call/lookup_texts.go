package call

import (
	"fmt"
	"strings"

	"mcphub/children"
	"mcphub/hub/configuration"
	"mcphub/hub/failure"
	"mcphub/hub/offering"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/printable"
)

// downText tells of a child that has not come up; what it wrote, where it is the
// session's own.
func (s *Session) downText(st children.Status) string {
	var b strings.Builder
	fmt.Fprintf(&b, "The server %q is not available (%s)", st.Child, st.State)
	if st.Err != "" {
		fmt.Fprintf(&b, ": %s", st.Err)
	}
	if tail := strings.TrimSpace(s.StderrOf(st)); tail != "" && !strings.Contains(st.Err, tail) {
		fmt.Fprintf(&b, "\nIt last wrote:\n%s", tail)
	}
	return b.String()
}

// unknownTool says that a name is no tool, with the nearest ones.
func unknownTool(name string, c *offering.Catalog, owners []string) string {
	for _, owner := range owners {
		for _, left := range c.Omitted(owner) {
			if strings.HasSuffix(name, left.Name) {
				return fmt.Sprintf("unknown tool %s: the tool %q of server %q is not offered: %s", printable.Escape(name, 100), left.Name, owner, left.Reason)
			}
		}
	}
	return fmt.Sprintf("unknown tool '%s'; tools/list names %d", printable.Escape(name, 100), len(c.Tools()))
}

// refuseBroken answers a call of a server that hub.json describes wrongly.
func refuseBroken(b configuration.Broken) jsonrpc.Answer {
	return failure.ToolError(fmt.Sprintf("The server %q cannot be run: %s", b.Name, b.Reason))
}

// StderrOf is what the session may see of a child's stderr: of one that is shared
// nothing.
func (s *Session) StderrOf(st children.Status) string {
	if st.Instance != s.ID {
		return ""
	}
	return st.Stderr
}
