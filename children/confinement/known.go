package confinement

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"mcphub/children/sandbox"
	"mcphub/internal/commandline"
)

// A knownServer is what a well-known server needs beside what every confined child has. It
// gives no file that a program outside the sandbox would run.
//
// A path is absolute or begins with ~/, with $CACHE/ (the user's cache folder) or with
// $NAME (a variable of the child, which may hold a list). Of several with a bar between
// them the first counts that is set.
type knownServer struct {
	name      string   // for status and documents
	packages  []string // of npm or PyPI, without a version
	programs  []string // found on PATH
	tools     []string // programs on PATH that it runs: their installations
	read      []string // to read, and to execute
	write     []string // folders for what it keeps; one that is missing is made
	cache     bool     // XDG_CACHE_HOME stays the user's: it looks there for what it has installed
	sockets   bool     // it needs unix sockets
	terminals bool     // programs that it runs make terminals
	proc      bool     // it writes below /proc; not if the hub runs as root
	state     bool     // it keeps state in its process: it is not started again for a wider boundary
	memory    bool     // it keeps one file beside its program, unless MEMORY_FILE_PATH says otherwise
	git       bool     // it reads the repository that a root lies in
	cannot    string   // what it cannot do so, for documents
}

// browserFiles are read by Chromium and its kin.
var browserFiles = []string{
	"/opt/google", "/opt/microsoft", "/opt/chromium.org", "/etc/chromium", "/etc/chromium.d", "/etc/opt", "~/.fonts", "~/.local/share/fonts", "~/.config/fontconfig", "~/.pki/nssdb",
}

// goRead is what the go command reads beside a module: the modules that it needs, its installation and its settings.
var goRead = []string{"$GOMODCACHE", "$GOPATH/pkg/mod", "~/go/pkg/mod", "$GOROOT", "~/.config/go/env"}

// knownServers are the profiles that come with the program.
var knownServers = []knownServer{
	{
		name: "playwright", packages: []string{"@playwright/mcp"},
		read: slices.Concat([]string{"$PLAYWRIGHT_BROWSERS_PATH", "$CACHE/ms-playwright"}, browserFiles), write: []string{"$CACHE/ms-playwright-mcp", "$CACHE/ms-playwright/b"},
		cache: true, sockets: true, proc: true, state: true,
		cannot: "install a browser: run `npx playwright install` yourself",
	},
	{
		name: "chrome-devtools", packages: []string{"chrome-devtools-mcp"},
		read: slices.Concat([]string{"$CACHE/puppeteer"}, browserFiles), write: []string{"~/.cache/chrome-devtools-mcp"},
		cache: true, sockets: true, proc: true, state: true,
		cannot: "find a browser that you have started (`--autoConnect`): name its port with `--browserUrl`",
	},
	{
		name: "puppeteer", packages: []string{"@modelcontextprotocol/server-puppeteer"},
		read:  slices.Concat([]string{"$PUPPETEER_CACHE_DIR", "~/.cache/puppeteer"}, browserFiles),
		cache: true, sockets: true, proc: true, state: true,
		cannot: "install a browser: run `npx puppeteer browsers install` yourself",
	},
	{
		name: "memory", packages: []string{"@modelcontextprotocol/server-memory"},
		memory: true, state: true,
	},
	{
		name: "desktop-commander", packages: []string{"@wonderwhy-er/desktop-commander"},
		write: []string{"~/.claude-server-commander", "~/.claude-server-commander-logs"}, terminals: true, state: true,
		cannot: "use programs, keys and settings of your home folder",
	},
	{
		name: "mcp-remote", packages: []string{"mcp-remote"},
		write:  []string{"$MCP_REMOTE_CONFIG_DIR|~/.mcp-auth"},
		cannot: "open a browser for a login: its log has the address",
	},
	{
		name: "kubernetes", packages: []string{"mcp-server-kubernetes"},
		read: []string{"~/.kube", "$KUBECONFIG"}, tools: []string{"kubectl", "helm"},
		cannot: "change the contexts of `~/.kube/config`",
	},
	{
		name: "git", packages: []string{"@cyanheads/git-mcp-server", "mcp-server-git"}, git: true,
		cannot: "sign, or reach a remote with a key: keys and ssh-agent are closed",
	},
	{
		name: "tsx", packages: []string{"tsx"}, programs: []string{"tsx"}, sockets: true,
	},
	{ // what it compiles goes into the cache folder of the entry
		name: "go", programs: []string{"go"},
		read:   goRead,
		cannot: "download modules: run `go mod download` yourself",
	},
	{
		name: "gopls", programs: []string{"gopls"},
		read: goRead, tools: []string{"go"},
		cannot: "download modules: run `go mod download` yourself",
	},
}

// knownAs finds what is known of the program of a child. What its entry names counts,
// and that only if no child may write it: the one who made a project has not made its
// profile.
func (h Host) knownAs(child Child) *knownServer {
	if child.Fresh != "" { // what installs a server is not the server
		return nil
	}
	if child.Package != "" { // the copy is what its entry names, whatever leads to where in it
		return knownPackage(commandline.WithoutVersion(child.Package))
	}
	if child.Program.Escapes() != "" || h.Planted(child.Command) {
		return nil
	}
	if p, fetched := child.Program.Package(); fetched && child.Installed == nil {
		if child.Program.Local || h.Planted(cmp.Or(child.StartDir, child.Dir)) || len(p.Specs) != 1 { // it may take the package out of the project
			return nil
		}
		return knownPackage(commandline.WithoutVersion(p.Specs[0]))
	}
	name, args := commandline.Innermost(child.Program.Command, child.Args)
	switch {
	case len(args) == len(child.Args):
		name = child.Command
	case !filepath.IsAbs(name): // behind env or timeout
		name = h.lookUp(child.Env, name)
	}
	at := commandline.ProgramAt(name, args)
	if at >= 0 && at < len(args) && filepath.IsAbs(args[at]) {
		if k := h.knownFile(args[at]); k != nil {
			return k
		}
	}
	return h.knownFile(name)
}

func knownPackage(name string) *knownServer {
	return findKnown(func(k *knownServer) bool { return slices.Contains(k.packages, name) })
}

func findKnown(is func(*knownServer) bool) *knownServer {
	if i := slices.IndexFunc(knownServers, func(k knownServer) bool { return is(&k) }); i >= 0 {
		return &knownServers[i]
	}
	return nil
}

// knownFile tells a server by the package that its file lies in, or by its name.
func (h Host) knownFile(file string) *knownServer {
	if file == "" || h.Planted(file) {
		return nil
	}
	real := filepath.ToSlash(h.Real(file))
	if i := strings.LastIndex(real, "/node_modules/"); i >= 0 {
		parts := strings.SplitN(real[i+len("/node_modules/"):], "/", 3)
		if strings.HasPrefix(parts[0], "@") && len(parts) > 1 {
			return knownPackage(parts[0] + "/" + parts[1])
		}
		return knownPackage(parts[0])
	}
	return findKnown(func(k *knownServer) bool { return slices.Contains(k.programs, commandline.BaseName(file)) })
}

// Planted reports whether children may have put there what is at a path. If a root
// holds the home folder they may write every program of the user's, and what starts
// them; no profile gives them more.
func (h Host) Planted(path string) bool {
	real := h.Real(path)
	return slices.ContainsFunc(h.boundary.Areas, func(area sandbox.Rule) bool {
		return area.Access&sandbox.Write != 0 && (sandbox.Contains(area.Path, path) || sandbox.Contains(area.Path, real)) &&
			(h.home == "" || !sandbox.Contains(area.Path, h.home))
	})
}

// describeProfile tell people of a profile: its name, what it opens, and, if the profile decides that and
// not the entry, that sockets are on and that a run is kept as it is. A nil profile has none.
func (k *knownServer) describeProfile(g *grant, sockets, stays bool) (words []string) {
	if k == nil {
		return nil
	}
	words = []string{"profile " + k.name}
	if g != nil {
		words = append(words, g.texts...)
	}
	if sockets {
		words = append(words, "unix sockets")
	}
	if stays {
		words = append(words, "not started anew for a wider boundary")
	}
	return words
}
