package clients

import (
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mcphub/cmd/mcphub/internal/clients/edit"
)

// Env is the system as far as the places of files depend on it.
type Env struct {
	OS   string // runtime.GOOS
	Home string // absolute
	Get  func(string) string
}

// configFolder returns the folder of a user's configuration by the XDG specification.
func (e Env) configFolder() string {
	return e.folderFrom("XDG_CONFIG_HOME", filepath.Join(e.Home, ".config"))
}

// supportFolder returns where programs with windows keep their settings.
func (e Env) supportFolder() string {
	switch e.OS {
	case "darwin":
		return filepath.Join(e.Home, "Library", "Application Support")
	case "windows":
		return e.folderFrom("APPDATA", filepath.Join(e.Home, "AppData", "Roaming"))
	}
	return e.configFolder()
}

// codeFolder returns the folder of the user's settings of VS Code.
func (e Env) codeFolder(parts ...string) string {
	return filepath.Join(append([]string{e.supportFolder(), "Code", "User"}, parts...)...)
}

// packagesOfClaude lists the folders of Claude Desktop if Windows has installed it as a package (MSIX). The program reads a file in
// LocalCache\Roaming of the folder instead of the file in APPDATA. It reads the file in APPDATA if the other is not there.
func (e Env) packagesOfClaude() (dirs []string) {
	if e.OS != "windows" {
		return nil
	}
	packages := filepath.Join(e.folderFrom("LOCALAPPDATA", filepath.Join(e.Home, "AppData", "Local")), "Packages")
	entries, _ := os.ReadDir(packages) // without the folder there are none
	for _, d := range entries {
		if d.IsDir() && strings.HasPrefix(d.Name(), "Claude_") {
			dirs = append(dirs, filepath.Join(packages, d.Name()))
		}
	}
	return dirs
}

// folderFrom returns a folder that a variable may name.
func (e Env) folderFrom(name, otherwise string) string {
	if dir := e.Get(name); filepath.IsAbs(dir) {
		return dir
	}
	return otherwise
}

// Place is a file in which a client keeps servers.
type Place struct {
	File   string
	Format edit.Format
	Where  edit.Container
	Fresh  string // what a new file begins with
}

// Roots reports whether a client tells its servers which folders are open.
type Roots string

// The kinds of clients by their roots.
const (
	GivesRoots Roots = "gives" // by the protocol
	StartsIn   Roots = "cwd"   // it gives none, but starts servers in the folder it works in
	ListsRoots Roots = "lists" // by the protocol, and they stand in its configuration
	NoRoots    Roots = "none"  // neither, as far as is known
)

// A Profile describes one client: where its files are, and how it writes entries.
type Profile struct {
	Name   string // as the user writes it
	Title  string // as its makers do
	Roots  Roots
	Switch string // the member of an entry that turns it off: "disabled", "enabled" or ""

	places  func(Env) []Place  // the first is where a new file would be
	marks   func(Env) []string // folders that show that the client is there; nil: that of the first place
	dialect dialect
	entry   func(h Hub, at Place) edit.Table
	more    func(whole edit.Table) []edit.Container // more places in the file, for reading and switching off
}

// A Hub describes how a client starts the hub, or reaches it.
type Hub struct {
	Command string
	Args    []string
	Roots   []string // folders, for a client that lists them itself
	Web     *Web     // where it is reached instead; nil: it is started
}

// WithRoots returns h with the folders that the hub is registered with.
func (c *Profile) WithRoots(h Hub, roots []string) Hub {
	switch {
	case len(roots) == 0:
	case c.Roots == ListsRoots:
		h.Roots = roots
	case h.Web != nil: // it is not started, so nothing can be said to it
	default:
		h.Args = append(slices.Clone(h.Args), "--roots", strings.Join(roots, ","))
	}
	return h
}

// Find returns the client of a name, or nil. Case does not count, nor do blanks.
func Find(name string) *Profile {
	name = plainName(name)
	for i := range All {
		if c := &All[i]; c.Name == name || plainName(c.Title) == name || slices.Contains(otherNames[c.Name], name) {
			return c
		}
	}
	return nil
}

// otherNames are more ways to write a name.
var otherNames = map[string][]string{
	"claude-code": {"claude"}, "vscode": {"code", "vs-code", "copilot-chat"}, "copilot": {"copilot-cli"}, "gemini": {"gemini-cli"}, "codex": {"codex-cli"},
	"lm-studio": {"lmstudio"}, "roo": {"roo-code"}, "continue": {"continue.dev"},
}

func plainName(s string) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimSpace(s)), " ", "-")
}

var (
	mcpServers = memberOf("mcpServers")
	// Continue has lists of servers that say their names themselves.
	namedServers = edit.Container{Path: []string{"mcpServers"}, List: true}
	olderServers = edit.Container{Path: []string{"experimental", "modelContextProtocolServers"}, List: true}

	asJSON = func(file string) Place { return Place{File: file, Format: edit.JSON, Where: mcpServers} }
)

// memberOf returns the container of the servers that is a member of a whole file.
func memberOf(name string) edit.Container { return edit.Container{Path: []string{name}} }

// inHome returns places of files below the home folder.
func inHome(files ...string) func(Env) []Place {
	return func(e Env) (all []Place) {
		for _, file := range files {
			all = append(all, asJSON(filepath.Join(e.Home, file)))
		}
		return all
	}
}

// All are the clients, in the order in which they are shown.
var All = []Profile{
	{Name: "claude-code", Title: "Claude Code", Roots: GivesRoots, dialect: dialect{vars: varsShell, redirect: "http://localhost/callback"},
		places: func(e Env) []Place {
			return []Place{asJSON(filepath.Join(e.folderFrom("CLAUDE_CONFIG_DIR", e.Home), ".claude.json"))}
		},
		marks: func(e Env) []string {
			return []string{e.folderFrom("CLAUDE_CONFIG_DIR", filepath.Join(e.Home, ".claude"))}
		},
		entry: typedEntry("stdio"), more: claudeProjects},
	{Name: "claude-desktop", Title: "Claude Desktop", Roots: NoRoots, dialect: dialect{vars: varsNone},
		places: func(e Env) (all []Place) {
			const file = "Claude/claude_desktop_config.json"
			for _, dir := range e.packagesOfClaude() {
				all = append(all, asJSON(filepath.Join(dir, "LocalCache", "Roaming", file)))
			}
			return append(all, asJSON(filepath.Join(e.supportFolder(), file)))
		},
		marks: func(e Env) []string { return append(e.packagesOfClaude(), filepath.Join(e.supportFolder(), "Claude")) }},
	{Name: "cursor", Title: "Cursor", Roots: GivesRoots, dialect: dialect{vars: varsEditor},
		places: inHome(".cursor/mcp.json")},
	{Name: "vscode", Title: "VS Code", Roots: GivesRoots, dialect: dialect{vars: varsEditor, inputs: true},
		places: func(e Env) []Place {
			return []Place{{File: e.codeFolder("mcp.json"), Format: edit.JSON, Where: memberOf("servers")}}
		}, entry: typedEntry("stdio")},
	{Name: "windsurf", Title: "Windsurf", Roots: NoRoots, Switch: "disabled", dialect: dialect{vars: varsEditor},
		places: inHome(".codeium/windsurf/mcp_config.json")},
	{Name: "zed", Title: "Zed", Roots: NoRoots, Switch: "enabled", dialect: dialect{vars: varsNone},
		places: func(e Env) []Place {
			dir := filepath.Join(e.configFolder(), "zed")
			switch e.OS {
			case "windows":
				dir = filepath.Join(e.supportFolder(), "Zed")
			case "darwin":
				dir = filepath.Join(e.Home, ".config", "zed")
			}
			return []Place{{File: filepath.Join(dir, "settings.json"), Format: edit.JSON, Where: memberOf("context_servers")}}
		},
		entry: func(h Hub, _ Place) edit.Table {
			return append(edit.Table{{Name: "source", Value: "custom"}}, commandEntry(h)...)
		}},
	{Name: "codex", Title: "Codex", Roots: StartsIn, Switch: "enabled", dialect: dialect{vars: varsNone},
		places: func(e Env) []Place {
			file := filepath.Join(e.folderFrom("CODEX_HOME", filepath.Join(e.Home, ".codex")), "config.toml")
			return []Place{{File: file, Format: edit.TOML, Where: memberOf("mcp_servers")}}
		}},
	{Name: "gemini", Title: "Gemini CLI", Roots: GivesRoots, dialect: dialect{vars: varsGemini, millis: true, redirect: "http://localhost:7777/oauth/callback"},
		places: inHome(".gemini/settings.json")},
	{Name: "opencode", Title: "opencode", Roots: GivesRoots, Switch: "enabled", dialect: dialect{vars: varsOpencode, millis: true, shape: opencodeShape, redirect: "http://127.0.0.1:19876/mcp/oauth/callback"},
		places: func(e Env) []Place {
			var out []Place
			for _, name := range []string{"opencode.json", "opencode.jsonc", "config.json"} {
				out = append(out, Place{File: filepath.Join(e.configFolder(), "opencode", name), Format: edit.JSON, Where: memberOf("mcp"),
					Fresh: "{\n  \"$schema\": \"https://opencode.ai/config.json\"\n}\n"})
			}
			return out
		},
		entry: func(h Hub, _ Place) edit.Table {
			return edit.Table{{Name: "type", Value: "local"}, {Name: "command", Value: toList(append([]string{h.Command}, h.Args...))}, {Name: "enabled", Value: true}}
		}},
	{Name: "cline", Title: "Cline", Roots: NoRoots, Switch: "disabled", dialect: dialect{vars: varsEditor, seconds: true},
		places: func(e Env) []Place {
			return []Place{
				asJSON(filepath.Join(e.folderFrom("CLINE_DIR", filepath.Join(e.Home, ".cline")), "data", "settings", "cline_mcp_settings.json")),
				asJSON(e.codeFolder("globalStorage", "saoudrizwan.claude-dev", "settings", "cline_mcp_settings.json")),
			}
		},
		marks: func(e Env) []string {
			return []string{filepath.Join(e.Home, ".cline"), e.codeFolder("globalStorage", "saoudrizwan.claude-dev")}
		}},
	{Name: "roo", Title: "Roo Code", Roots: NoRoots, Switch: "disabled", dialect: dialect{vars: varsEditor, seconds: true},
		places: func(e Env) []Place {
			return []Place{asJSON(e.codeFolder("globalStorage", "rooveterinaryinc.roo-cline", "settings", "mcp_settings.json"))}
		},
		marks: func(e Env) []string { return []string{e.codeFolder("globalStorage", "rooveterinaryinc.roo-cline")} }},
	{Name: "goose", Title: "Goose", Roots: GivesRoots, Switch: "enabled", dialect: dialect{vars: varsNone, seconds: true, shape: gooseShape},
		places: func(e Env) []Place {
			dir := filepath.Join(e.configFolder(), "goose")
			switch e.OS {
			case "windows":
				dir = filepath.Join(e.supportFolder(), "Block", "goose", "config")
			case "darwin":
				dir = filepath.Join(e.Home, ".config", "goose")
			}
			return []Place{{File: filepath.Join(dir, "config.yaml"), Format: edit.YAML, Where: memberOf("extensions")}}
		},
		entry: func(h Hub, _ Place) edit.Table {
			return edit.Table{{Name: "enabled", Value: true}, {Name: "type", Value: "stdio"}, {Name: "name", Value: HubName},
				{Name: "description", Value: "MCP servers behind one endpoint"}, {Name: "cmd", Value: h.Command}, {Name: "args", Value: toList(h.Args)},
				{Name: "timeout", Value: json.Number("600")}}
		}},
	{Name: "continue", Title: "Continue", Roots: NoRoots, dialect: dialect{vars: varsContinue, inputs: true, shape: continueShape},
		places: func(e Env) []Place {
			dir := filepath.Join(e.Home, ".continue")
			return []Place{
				{File: filepath.Join(dir, "config.yaml"), Format: edit.YAML, Where: namedServers, Fresh: "name: Local\nversion: 1.0.0\nschema: v1\n"},
				{File: filepath.Join(dir, "config.json"), Format: edit.JSON, Where: olderServers},
			}
		},
		entry: func(h Hub, at Place) edit.Table {
			if at.Format == edit.YAML {
				return commandEntry(h)
			}
			return edit.Table{{Name: "transport", Value: typedEntry("stdio")(h, at)}}
		}, more: continueList},
	{Name: "copilot", Title: "Copilot CLI", Roots: NoRoots, dialect: dialect{vars: varsEditor, millis: true},
		places: inHome(".copilot/mcp-config.json"),
		entry: func(h Hub, _ Place) edit.Table {
			return typedEntry("local")(h, Place{}).With("tools", toList([]string{"*"}))
		}},
	{Name: "lm-studio", Title: "LM Studio", Roots: NoRoots, dialect: dialect{vars: varsNone},
		places: inHome(".lmstudio/mcp.json", ".cache/lm-studio/mcp.json")},
	{Name: "mcporter", Title: "mcporter", Roots: NoRoots, dialect: dialect{vars: varsShell},
		places: inHome(".mcporter/mcporter.json", ".mcporter/mcporter.jsonc")},
	{Name: "inspector", Title: "MCP Inspector", Roots: ListsRoots, dialect: dialect{vars: varsNone, millis: true},
		places: inHome(".mcp-inspector/mcp.json"),
		entry: func(h Hub, at Place) edit.Table {
			out := typedEntry("stdio")(h, at)
			if len(h.Roots) > 0 {
				out = out.With("roots", rootsOf(h.Roots))
			}
			return out
		}},
}

// rootsOf lists folders for a client that tells them.
func rootsOf(dirs []string) []any {
	roots := []any{}
	for _, dir := range dirs {
		u := url.URL{Scheme: "file", Path: "/" + strings.TrimPrefix(filepath.ToSlash(dir), "/")}
		roots = append(roots, edit.Table{{Name: "uri", Value: u.String()}, {Name: "name", Value: filepath.Base(dir)}})
	}
	return roots
}

// HubName is what the hub is called in a client. It has no underscore: some
// clients split names there.
const HubName = "mcphub"

// Entry returns the hub's entry in the configuration of the client.
func (c *Profile) Entry(h Hub, at Place) edit.Table {
	switch {
	case h.Web != nil:
		return c.webEntry(h, at)
	case c.entry != nil:
		return c.entry(h, at)
	}
	return commandEntry(h)
}

func commandEntry(h Hub) edit.Table {
	return edit.Table{{Name: "command", Value: h.Command}, {Name: "args", Value: toList(h.Args)}}
}

func typedEntry(transport string) func(Hub, Place) edit.Table {
	return func(h Hub, _ Place) edit.Table {
		return append(edit.Table{{Name: "type", Value: transport}}, commandEntry(h)...)
	}
}

func toList(s []string) []any {
	out := make([]any, len(s))
	for i := range s {
		out[i] = s[i]
	}
	return out
}

// claudeProjects returns the servers of single projects, which Claude Code
// keeps in the file of the user.
func claudeProjects(whole edit.Table) []edit.Container {
	var out []edit.Container
	projects, _ := whole.Get("projects").(edit.Table)
	for _, m := range projects {
		p, _ := m.Value.(edit.Table)
		if servers, _ := p.Get("mcpServers").(edit.Table); len(servers) > 0 {
			out = append(out, edit.Container{Path: []string{"projects", m.Name, "mcpServers"}})
		}
	}
	return out
}

// continueList returns where later versions of config.json keep servers.
func continueList(whole edit.Table) []edit.Container {
	if _, list := whole.Get("mcpServers").([]any); list {
		return []edit.Container{namedServers}
	}
	return nil
}
