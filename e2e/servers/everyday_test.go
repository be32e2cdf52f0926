package servers

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"mcphub/e2e/ide"
	"mcphub/e2e/world"
)

// honest is one call of an everyday session. In arguments and want, {project}, {other}, {alias} and {url} stand for what the
// test has made.
type honest struct {
	tool      string // without the server's name
	arguments string // raw
	want      string // what the answer must hold
	fails     bool   // the server itself refuses: an honest mistake, such as a file that is not there
}

// An everyday session is not disturbed: servers that people use, configured as people configure them, under the shipped
// defaults, and a hundred calls and more that a model at work sends. None may be refused.
func TestAnEverydaySession(t *testing.T) {
	t.Parallel()
	n := world.RequireNode(t)
	d := newWorkplace(t, n)
	d.open(d.Project, d.Other)
	total := 0
	for _, server := range world.Names(d.calls) {
		total += len(d.calls[server])
		t.Run(server, func(t *testing.T) {
			if server == "playwright" {
				world.RequireChromium(t)
			}
			for i, c := range d.calls[server] {
				d.honest(t, fmt.Sprintf("%s %d", server, i+1), server+"__"+c.tool, c)
			}
		})
	}
	t.Run("dishonest", d.dishonest)
	if total < 100 {
		t.Errorf("%d honest calls are no everyday session: want 100", total)
	}
}

// A path is the same path in another spelling: by the link that the client gave as its root, or as a file URI.
func TestAnotherSpellingOfAPathInTheRoots(t *testing.T) {
	t.Parallel()
	d := newWorkplace(t, world.RequireNode(t), "filesystem")
	d.open(d.Project, d.Path("alias"))
	for i, c := range everydaySpellings {
		d.honest(t, fmt.Sprint("spelling ", i+1), "filesystem__"+c.tool, c)
	}
}

// workplace is one session with the hub in front of everything a developer has at hand.
type workplace struct {
	*world.World
	session  *world.Session
	fill     *strings.Replacer // the placeholders, for raw JSON
	plain    *strings.Replacer // the placeholders, for text
	children obj
	calls    map[string][]honest
	chromium string
}

// newWorkplace gets everything ready, with these servers or with all.
func newWorkplace(t *testing.T, n world.Node, only ...string) *workplace {
	t.Helper()
	w := world.New(t)
	for name, text := range everydayFiles {
		w.Write(filepath.Join("project", name), text)
	}
	pixel, err := base64.StdEncoding.DecodeString("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")
	world.Must(t, err)
	w.Write("project/assets/pixel.png", string(pixel))
	world.Symlink(t, w.Path("project", "src"), w.Path("project", "inner"))
	// A root may be given by way of a link, as every folder below /tmp is on a Mac.
	world.Symlink(t, w.Other, w.Path("alias"))
	site := httptest.NewServer(http.HandlerFunc(everydayPage))
	t.Cleanup(site.Close)

	d := &workplace{World: w, calls: map[string][]honest{"filesystem": everydayFilesystem, "everything": everydayEverything,
		"memory": everydayMemory, "thinking": everydayThinking, "playwright": everydayPlaywright}}
	inner := func(path string) string { return strings.Trim(world.Raw(t, path), `"`) }
	d.fill = strings.NewReplacer("{project}", inner(w.Project), "{other}", inner(w.Other), "{alias}", inner(w.Path("alias")),
		"{home}", inner(w.Home), "{uri}", ide.FileURI(w.Project), "{url}", site.URL)
	d.plain = strings.NewReplacer("{project}", w.Project, "{other}", w.Other, "{alias}", w.Path("alias"), "{url}", site.URL)
	server := func(name string, args ...string) obj {
		return obj{"command": n.Program, "args": append([]string{n.Script(name)}, args...)}
	}
	memory := server("mcp-server-memory")
	memory["env"] = obj{"MEMORY_FILE_PATH": w.Path("home", "memory", "memory.jsonl")}
	d.children = obj{"filesystem": server("mcp-server-filesystem"), "everything": server("mcp-server-everything"),
		"memory": memory, "thinking": server("mcp-server-sequential-thinking")}
	if d.chromium = world.Chromium(); d.chromium != "" {
		tmp := w.Path("home", "tmp")
		world.Must(t, os.MkdirAll(tmp, 0o700))
		browser := server("playwright-mcp", "--headless", "--browser", "chromium", "--executable-path", d.chromium, "--no-sandbox",
			"--caps", "network,storage,pdf,testing,vision,devtools")
		browser["env"] = obj{"TMPDIR": tmp}
		d.children["playwright"] = browser
	}
	for name := range d.children {
		if len(only) > 0 && !slices.Contains(only, name) {
			delete(d.children, name)
		}
	}
	return d
}

// open begins the session, with these roots.
func (d *workplace) open(roots ...string) {
	d.T.Helper()
	d.session = d.Serve(d.Config(d.children, obj{"sandbox": "auto"}), ide.Folders(roots...))
	d.session.Handshake()
}

// honest makes one call that must pass.
func (d *workplace) honest(t *testing.T, where, tool string, c honest) {
	t.Helper()
	arguments, want := d.fill.Replace(c.arguments), d.plain.Replace(c.want)
	r, err := d.session.Tool(d.session.Context(), tool, arguments)
	switch {
	case err != nil:
		t.Errorf("%s: %s %s: %v", where, tool, arguments, err)
	case r.IsError && strings.Contains(r.Text, "Access denied"):
		t.Errorf("%s: DENIED: %s %s\n%s", where, tool, arguments, r.Text)
	case r.IsError != c.fails:
		t.Errorf("%s: %s %s: isError=%v, want %v:\n%s", where, tool, arguments, r.IsError, c.fails, r.Text)
	case !strings.Contains(r.Text, want) && !strings.Contains(string(r.Structured), want):
		t.Errorf("%s: %s %s: want %q in\n%s", where, tool, arguments, want, r.Text)
	}
}

// The control: in the very same session what leaves the roots is refused, by the hub and not by the server behind it.
func (d *workplace) dishonest(t *testing.T) {
	dishonest := []struct{ tool, arguments, path string }{
		{"filesystem__read_text_file", `{"path":"/etc/passwd"}`, "/etc/passwd"},
		{"filesystem__read_multiple_files", `{"paths":["{project}/hello.txt","../outside/secret.txt"]}`, "../outside/secret.txt"},
		{"filesystem__write_file", `{"path":"link-dangling","content":"x"}`, "link-dangling"},
		{"filesystem__move_file", `{"source":"hello.txt","destination":"{project}/../outside/hello.txt"}`, "{project}/../outside/hello.txt"},
		{"everything__echo", `{"message":"x","path":"file:///etc/passwd"}`, "file:///etc/passwd"},
		{"filesystem__write_file", `{"path":"docs/draft.md","content":"file:///etc/passwd"}`, "file:///etc/passwd"},
		{"playwright__browser_take_screenshot", `{"filename":"../outside/shot.png","scale":"css"}`, "../outside/shot.png"},
		{"playwright__browser_navigate", `{"url":"file:///etc/passwd"}`, "file:///etc/passwd"},
	}
	if runtime.GOOS == "windows" {
		t.Skip("these are paths of Unix")
	}
	before := d.outsideNames(t)
	for _, c := range dishonest {
		if strings.HasPrefix(c.tool, "playwright__") && d.chromium == "" {
			continue
		}
		r, err := d.session.Tool(d.session.Context(), c.tool, d.fill.Replace(c.arguments))
		world.Must(t, err)
		want := "Access denied: Path '" + d.plain.Replace(c.path) + "' is outside the allowed roots boundaries. Current roots: ["
		if !r.IsError || !strings.HasPrefix(r.Text, want) || strings.Contains(r.Text, world.SecretText) || strings.Contains(r.Text, "root:") {
			t.Errorf("%s %s: want a denial\n  %s\ngot isError=%v\n  %s", c.tool, c.arguments, want, r.IsError, r.Text)
		}
	}
	if after := d.outsideNames(t); after != before {
		t.Errorf("outside the roots there was %s and now is %s", before, after)
	}
	// The forbidden things are there to be had.
	for _, path := range []string{"/etc/passwd", d.Path("outside", "secret.txt")} {
		if _, err := os.ReadFile(path); err != nil {
			t.Error(err)
		}
	}
}

func (d *workplace) outsideNames(t *testing.T) string {
	t.Helper()
	entries, err := os.ReadDir(d.Outside)
	world.Must(t, err)
	return fmt.Sprint(entries)
}

// everydayPage is the site that the browser visits.
func everydayPage(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, "/api/") {
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"asked":%q}`, r.URL.Path)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = fmt.Fprintf(w, `<!doctype html><title>Everyday %s</title><link rel="icon" href="data:,">
<nav><a href="/about">About</a> <a href="/etc/hosts">Hosts</a></nav>
<p>/usr loaded. Do not edit /etc/passwd, see ../README.md.</p>
<form onsubmit="return false"><input id="q" aria-label="Path"><input id="agree" type="checkbox" aria-label="Agree">
<select id="choice" aria-label="Folder"><option value="/home">Home</option><option value="../x">Up</option></select>
<button id="go" type="button">Go to /go</button><button id="ask" type="button" onclick="prompt('Where to?','/')">Ask</button></form>
<input id="file" type="file" aria-label="File"><div id="from" draggable="true">drag me</div><div id="to" ondragover="event.preventDefault()">drop here</div>
<ul aria-label="Paths"><li>/a</li><li>/b</li></ul>
<script>console.log("ready at /api/ready"); fetch("/api/users.json").then(r => r.json()).then(j => console.log("got", j.asked))</script>`, r.URL.Path)
}
