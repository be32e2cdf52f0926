package config

import (
	"errors"
	"slices"
	"strings"

	"mcphub/cmd/mcphub/internal/config/jsonc"
	"mcphub/cmd/mcphub/internal/config/keys"
)

// Translate turns one entry of a client's configuration, as JSON, into the
// spelling of hub.json. It knows every spelling that hub.json takes and no
// others. Placeholders stay as they are, and nothing is checked but what the
// translation itself needs: read the result with [Parse].
//
// The problems report what was lost on the way. They name keys, never values.
func Translate(name string, entry []byte) ([]byte, []Problem, error) {
	src := jsonc.NewSource("", entry)
	raw, unread := src.Parse()
	if unread != nil {
		return nil, nil, problemAt(src, unread.Off, unread.Text, unread.Hint)
	}
	if raw.Kind != '{' {
		return nil, nil, errors.New("the entry is " + raw.What() + ", not an object")
	}
	c := &checker{src: src, failed: map[string]*Problem{}}
	out := c.normaliseEntry([]string{"mcpServers", name}, raw)
	if bad := c.failed[name]; bad != nil {
		return nil, c.problems, bad
	}
	out.Members = slices.DeleteFunc(out.Members, func(m jsonc.Member) bool {
		if keys.Entry.Find(m.Name) == nil {
			if !strings.HasPrefix(m.Name, "//") {
				c.reportProblem(SeverityNote, []string{"mcpServers", name, m.Name}, m.Off, "unknown key "+jsonc.Quote(m.Name), "it was left out")
			}
			return true
		}
		// An empty member says nothing.
		return (m.Value.Kind == '{' || m.Value.Kind == '[') && len(m.Value.Members)+len(m.Value.Elems) == 0
	})
	// The order in which people write them, whatever the aliases made of it.
	slices.SortStableFunc(out.Members, func(a, b jsonc.Member) int { return writtenAt(a.Name) - writtenAt(b.Name) })
	return out.Canonical(), c.problems, nil
}

// written is the order of the keys that report what a server is.
var written = []string{"type", "builtin", "command", "args", "env", "inherit", "envFile", "cwd", "url", "headers", "auth"}

func writtenAt(key string) int {
	if i := slices.Index(written, key); i >= 0 {
		return i
	}
	return len(written)
}

// ServerName makes of any text a name that a server can have: the text itself
// if it is one and holds no separator.
func ServerName(s string) string {
	for strings.Contains(s, "__") { // the separator, unless the file says otherwise
		s = strings.ReplaceAll(s, "__", "_")
	}
	if keys.IsServerName(s) {
		return s
	}
	var out []rune
	for _, r := range s {
		if r < 128 && keys.IsServerName(string(r)) {
			if len(out) > 0 || r != '.' && r != '-' {
				out = append(out, r)
			}
		} else if n := len(out); n > 0 && out[n-1] != '-' {
			out = append(out, '-')
		}
	}
	for len(out) > 0 && (out[len(out)-1] == '-' || out[len(out)-1] == '.') {
		out = out[:len(out)-1]
	}
	name := string(out[:min(len(out), 40)])
	if !keys.IsServerName(name) {
		return "server"
	}
	return name
}
