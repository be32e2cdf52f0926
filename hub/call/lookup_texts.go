package call

import (
	"fmt"
	"strings"

	"mcphub/children"
)

// notReadyText tells of a child that has not come up; what it wrote, where it is the
// session's own.
func (s *Sender) notReadyText(st children.Status) string {
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

// StderrOf is what the session may see of a child's stderr: of one that is shared
// nothing.
func (s *Sender) StderrOf(st children.Status) string {
	if st.Instance != s.ID {
		return ""
	}
	return st.Stderr
}
