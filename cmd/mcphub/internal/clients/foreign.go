package clients

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mcphub/cmd/mcphub/internal/clients/edit"
	"mcphub/cmd/mcphub/internal/config"
	"mcphub/internal/lazyregexp"
	"mcphub/internal/reference"
)

// The one who wrote a file that is not hub.json may be a stranger: a project that
// was cloned brings one. An entry of such a file states what to start or where to
// connect, and nothing about the hub. [readForeign] is the one way by which entries
// of files come in.

// A HubKey is a key of an entry that only hub.json may set. Where another file sets it, it is
// held back until a person agrees to that key.
type HubKey struct {
	Key   string // such as sandbox, or auth.issuer
	Value any
}

// clientsKeys are the keys of an entry that clients have, each in all spellings.
// What hub.json knows beside them is the hub's alone, a new key by default. For an
// object they name its members that clients have; nil: all.
var clientsKeys = map[string][]string{
	"type": nil, "transport": nil, "transportType": nil,
	"command": nil, "executable": nil, "args": nil,
	"env": nil, "environment": nil, "env_vars": nil,
	"cwd": nil, "workingDirectory": nil, "working_directory": nil,
	"url": nil, "httpUrl": nil, "http_url": nil, "serverUrl": nil, "server_url": nil, "baseUrl": nil, "base_url": nil,
	"headers": nil, "http_headers": nil, "env_http_headers": nil,
	"bearerToken": nil, "bearer_token": nil, "bearerTokenEnv": nil, "bearer_token_env": nil, "bearer_token_env_var": nil,
	"auth":    {"clientId", "clientSecret", "scopes", "redirectHost", "redirectPath", "callbackPort"},
	"oauth":   {"clientId", "clientSecret", "scopes", "redirectHost", "redirectPath", "callbackPort"},
	"enabled": nil, "isActive": nil, "disabled": nil,
	"timeout": {"call", "start"}, "timeoutMs": nil, "requestTimeout": nil, "tool_timeout_sec": nil,
	"connectionTimeout": nil, "startup_timeout_ms": nil, "startup_timeout_sec": nil,
	"includeTools": nil, "enabledTools": nil, "enabled_tools": nil, "allowedTools": nil, "allowed_tools": nil,
	"excludeTools": nil, "disabledTools": nil, "disabled_tools": nil, "blockedTools": nil, "blocked_tools": nil,
}

// readForeign turns an entry of a client into one that hub.json may hold. Keys that only
// hub.json may set are held back, and references to secrets become text. The dialect of
// the client has been translated before. asks are the ids of the inputs that the file itself
// asks a person for. text lists the references that became text.
func readForeign(name string, t edit.Table, asks []string) (entry edit.Table, held []HubKey, text []string, problems []config.Problem, err error) {
	t, _ = asText(t, asks, &text).(edit.Table)
	var own edit.Table
	for _, m := range t {
		parts, known := clientsKeys[m.Name]
		if _, list := m.Value.([]any); m.Name == "tools" && list {
			known = true // Copilot's
		}
		if known && parts == nil {
			own = append(own, m)
			continue
		}
		// In the spelling of hub.json it is seen whether the hub knows it at all.
		alone, _, err := translateEntry(name, edit.Table{m})
		if err != nil {
			return nil, nil, nil, nil, err
		}
		if len(alone) == 0 || known && !holdsObjects(alone) {
			own = append(own, m)
			continue
		}
		for _, key := range alone {
			in, object := key.Value.(edit.Table)
			if !known || !object {
				held = append(held, HubKey{key.Name, key.Value})
				continue
			}
			var keep edit.Table
			for _, part := range in {
				if slices.Contains(parts, part.Name) {
					keep = append(keep, part)
				} else {
					held = append(held, HubKey{key.Name + "." + part.Name, part.Value})
				}
			}
			if keep != nil {
				own = append(own, edit.Member{Name: key.Name, Value: keep})
			}
		}
	}
	entry, problems, err = translateEntry(name, own)
	return entry, held, text, problems, err
}

// holdsObjects reports that every value of a table is an object.
func holdsObjects(t edit.Table) bool {
	return !slices.ContainsFunc(t, func(m edit.Member) bool { _, ok := m.Value.(edit.Table); return !ok })
}

// translateEntry returns an entry in the spelling of hub.json.
func translateEntry(name string, t edit.Table) (out edit.Table, problems []config.Problem, err error) {
	raw, err := json.Marshal(t)
	if err != nil {
		return nil, nil, err
	}
	text, problems, err := config.Translate(name, raw)
	if err != nil {
		return nil, nil, err
	}
	return out, problems, json.Unmarshal(text, &out)
}

// allowKey puts a key that was held back into an entry.
func (h HubKey) allowKey(entry edit.Table) edit.Table {
	key, part, nested := strings.Cut(h.Key, ".")
	if !nested {
		return entry.With(key, h.Value)
	}
	in, _ := entry.Get(key).(edit.Table)
	return entry.With(key, in.With(part, h.Value))
}

// Allow takes over a key that was held back: a person agreed to it.
func (s *Server) Allow(h HubKey) {
	s.Entry = h.allowKey(s.Entry)
	if s.escapedFrom != nil {
		s.escapedFrom = h.allowKey(s.escapedFrom)
	}
	s.Held = slices.DeleteFunc(slices.Clone(s.Held), func(other HubKey) bool { return other.Key == h.Key })
}

// asText makes text of the references in all texts of a value, but for what the
// file asks for itself.
func asText(in any, asks []string, found *[]string) any {
	return eachText(in, func(s string) string { return escapeReferences(s, asks, found) })
}

// eachText changes all texts of a value; names stay.
func eachText(in any, change func(string) string) any {
	switch t := in.(type) {
	case edit.Table:
		out := make(edit.Table, len(t))
		for i, m := range t {
			out[i] = edit.Member{Name: m.Name, Value: eachText(m.Value, change)}
		}
		return out
	case []any:
		out := make([]any, len(t))
		for i := range t {
			out[i] = eachText(t[i], change)
		}
		return out
	case string:
		return change(t)
	}
	return in
}

// escapeReferences makes text of each reference to a secret, wherever it stands:
// in the default of a variable, in the path of another one. "$${" is text for
// config, whatever stands before it.
func escapeReferences(s string, asks []string, found *[]string) string {
	var out strings.Builder
	for {
		i := strings.Index(s, "${")
		if i < 0 {
			out.WriteString(s)
			return out.String()
		}
		out.WriteString(s[:i])
		escaped := i > 0 && s[i-1] == '$'
		s = s[i+2:]
		if k, name, is := reference.KindOf(s); is && !escaped {
			name, _, closed := strings.Cut(name, "}")
			if k != reference.Input || !closed || !slices.Contains(asks, name) {
				out.WriteByte('$')
				*found = append(*found, "${"+string(k)+":"+name+"}")
			}
		}
		out.WriteString("${")
	}
}

// unescapeReferences returns a value with its references as the file has them.
func unescapeReferences(in edit.Table) edit.Table {
	out, _ := eachText(in, func(s string) string { return textOfReference.ReplaceAllString(s, "${$1:") }).(edit.Table)
	return out
}

var textOfReference = lazyregexp.New(`\$\$\{(keyring|input|file):`)

// resolvePaths makes the relative paths of an entry absolute. In a client's file they start
// at the folder that the file is about; in hub.json they would start at its own folder.
func resolvePaths(entry edit.Table, base string) edit.Table {
	from := base
	if cwd, ok := entry.Get("cwd").(string); ok {
		if isRelative(cwd) {
			cwd = filepath.Join(base, cwd)
			entry = entry.With("cwd", cwd)
		}
		from = cwd
	}
	if program, ok := entry.Get("command").(string); ok && isRelative(program) && strings.ContainsAny(program, `/\`) && filepath.IsAbs(from) {
		entry = entry.With("command", filepath.Join(from, program))
	}
	return entry
}

// resolveHeld is resolvePaths for what is held back: a person is asked about the very program.
func resolveHeld(held []HubKey, base string) {
	for i, h := range held {
		helper, ok := h.Value.(edit.Table)
		if program, is := helper.Get("command").(string); ok && is && h.Key == "headersFrom" && isRelative(program) && strings.ContainsAny(program, `/\`) && filepath.IsAbs(base) {
			held[i].Value = helper.With("command", filepath.Join(base, program))
		}
	}
}

// helperFolder returns where Claude Code runs a program for headers: the project, or its own folder for what it has for all.
func helperFolder(path string, at edit.Container) string {
	dir := folderOf(path, at)
	if own := filepath.Join(dir, ".claude"); filepath.Base(path) == ".claude.json" && len(at.Path) == 1 && isFolder(own) {
		return own
	}
	return dir
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

func isRelative(path string) bool {
	return path != "" && !filepath.IsAbs(path) && !strings.HasPrefix(path, "~") && !strings.HasPrefix(path, "${") && !strings.HasPrefix(path, "$${")
}

// folderOf returns the folder that a file of a client is about. Folders that begin
// with a dot are folders of clients in a project.
func folderOf(path string, at edit.Container) string {
	if len(at.Path) == 3 && at.Path[0] == "projects" {
		return at.Path[1]
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return ""
	}
	dir := filepath.Dir(abs)
	if strings.HasPrefix(filepath.Base(dir), ".") {
		dir = filepath.Dir(dir)
	}
	return dir
}

// Variables returns the variables of the hub's environment that an entry sends to
// its server, by the names of [config].
func Variables(entry edit.Table) []string {
	var out []string
	eachText(entry, func(s string) string {
		for _, found := range variableIn.FindAllStringSubmatch(s, -1) {
			if found[1] == "" && found[3] != "root" && found[3] != "roots" && found[3] != "userHome" && found[3] != "workspaceFolder" && found[3] != "pathSeparator" {
				out = append(out, found[3])
			}
		}
		return s
	})
	names, _ := entry.Get("inherit").([]any)
	for _, n := range names {
		if name, ok := n.(string); ok {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// variableIn matches a variable, behind the sign that makes text of it.
var variableIn = lazyregexp.New(`(\$?)\$\{(env:)?([A-Za-z_][A-Za-z0-9_]*)(?:\}|:-)`)
