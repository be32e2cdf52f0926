package servers

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"mcphub/e2e/ide"
	"mcphub/e2e/needs"
	"mcphub/e2e/world"
)

// told is one call of testdata/honest: what a person wanted, and what a model sent for it. The placeholders are the placeholders of shop.
type told struct {
	For     string
	Server  string // of attacks; else the file says it
	Tool    string
	Args    json.RawMessage
	Want    string // what the answer must hold
	Fails   bool   // the server may answer that it could not: a program is not there, or the person was wrong
	Refused string // why the hub refuses it all the same: one of honestRefusals
	Makes   string // of attacks: what is outside when it has succeeded
}

// honestRefusals is what the general rules refuse although nothing bad is meant, and how often here. More of them fails the
// test, and so does fewer: then the mark in testdata/honest has to go.
var honestRefusals = map[string]int{
	"a file: URI, whatever the argument is for":                          1,
	"a file in the shared temporary folder":                              1,
	"a file of the system":                                               2,
	"a header that is called a path":                                     1,
	"a path in SQL that exists or could be made":                         2,
	"a path in code":                                                     2,
	"a place beside the root":                                            1,
	"a script on standard input that changes its directory":              1,
	"text on standard input":                                             1,
	"the target of a link, which starts from the link and not from here": 1,
	"where to install to":                                                1,
}

// honestServers are the servers, and the files in testdata/honest.
var honestServers = []string{"commander", "commands", "dbhub", "devtools", "eslint", "everything", "filesystem", "git", "memory",
	"playwright", "ripgrep", "thinking"}

// fewestHonest is how many calls stand against those.
const fewestHonest = 500

// Servers that people use, as they configure them, under the shipped defaults: what a model at work sends them passes, but
// for what is counted by name.
func TestHonestCalls(t *testing.T) {
	t.Parallel()
	needShop(t)
	total, refused := 0, map[string]int{}
	for _, server := range honestServers {
		t.Run(server, func(t *testing.T) {
			w := newShop(t)
			s := w.visit(server, w.servers()[server])
			for _, c := range toldBy(t, server) {
				total++
				if w.tell(s, server, c) {
					refused[c.Refused]++
				}
			}
		})
	}
	sum := 0
	for _, why := range world.Names(refused) {
		sum += refused[why]
		t.Logf("%3d refused: %s", refused[why], why)
	}
	t.Logf("%d honest calls over %d servers, %d refused", total, len(honestServers), sum)
	if total < fewestHonest {
		t.Errorf("want %d", fewestHonest)
	}
	if !maps.Equal(refused, honestRefusals) {
		t.Errorf("refused %v, want %v", refused, honestRefusals)
	}
}

// The same servers and tools, and paths outside: the hub refuses every one. The control is the very same call to the very same
// server with no paths judged: it gets what it came for.
func TestDishonestCalls(t *testing.T) {
	t.Parallel()
	needShop(t)
	w := newShop(t)
	attacks := map[string][]told{}
	for _, c := range toldBy(t, "attacks") {
		attacks[c.Server] = append(attacks[c.Server], c)
	}
	refused, worked := 0, 0
	before := w.outsideNames(t)
	for _, server := range world.Names(attacks) {
		s := w.visit(server, w.servers()[server])
		for _, c := range attacks[server] {
			args := w.fill.Replace(string(c.Args))
			r, err := s.Tool(s.Context(), server+"__"+c.Tool, args)
			world.Must(t, err)
			if !r.IsError || !strings.HasPrefix(r.Text, "Access denied: ") || strings.Contains(r.Text, world.SecretText) {
				t.Errorf("%s (%s): PASSED: %s %s\n%s", server, c.For, c.Tool, args, r.Text)
				continue
			}
			refused++
		}
		s.End(world.StopBound)
	}
	if after := w.outsideNames(t); after != before {
		t.Errorf("outside the roots there was %s and now is %s", before, after)
	}
	for _, server := range world.Names(attacks) {
		entry := w.servers()[server]
		entry["paths"] = obj{"mode": "off"}
		s := w.visit(server, entry)
		for _, c := range attacks[server] {
			args := w.fill.Replace(string(c.Args))
			r, err := s.Tool(s.Context(), server+"__"+c.Tool, args)
			world.Must(t, err)
			_, made := os.Lstat(w.Path("outside", c.Makes))
			if r.IsError || made != nil || !strings.Contains(r.Text, w.plain.Replace(c.Want)) {
				t.Errorf("%s (%s): no attack: %s %s gives, with nothing judged,\n%s", server, c.For, c.Tool, args, r.Text)
				continue
			}
			worked++
		}
		s.End(world.StopBound)
	}
	t.Logf("%d dishonest calls over %d servers: %d refused; %d work where no paths are judged", refused, len(attacks), refused, worked)
	if refused < 40 {
		t.Errorf("%d are too few", refused)
	}
}

// tell makes one honest call and says whether the hub refused it.
func (w *shop) tell(s *world.Session, server string, c told) (refused bool) {
	t := w.T
	t.Helper()
	args, want := w.fill.Replace(string(c.Args)), w.plain.Replace(c.Want)
	r, err := s.Tool(s.Context(), server+"__"+c.Tool, args)
	refused = err != nil || r.IsError && (strings.HasPrefix(r.Text, "Access denied: ") || strings.HasPrefix(r.Text, "Invalid arguments for the tool "))
	switch {
	case refused && c.Refused == "":
		t.Errorf("%s (%s): REFUSED: %s %s\n%v %s", server, c.For, c.Tool, args, err, r.Text)
	case !refused && c.Refused != "":
		t.Errorf("%s (%s): passes, and is marked as refused: %s %s", server, c.For, c.Tool, args)
	case refused:
	case r.IsError && !c.Fails:
		t.Errorf("%s (%s): %s %s: the server says\n%s", server, c.For, c.Tool, args, r.Text)
	case !c.Fails && !strings.Contains(r.Text, want) && !strings.Contains(string(r.Structured), want):
		t.Errorf("%s (%s): %s %s: want %q in\n%s", server, c.For, c.Tool, args, want, r.Text)
	}
	return refused
}

// toldBy reads one file of calls.
func toldBy(t *testing.T, name string) (calls []told) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", "honest", name+".json"))
	world.Must(t, err)
	world.Must(t, json.Unmarshal(b, &calls))
	return calls
}

// shop is a web shop under development: a repository with a database, a second one with its types, and a site to look at.
type shop struct {
	*world.World
	fill, plain *strings.Replacer // the placeholders, for JSON and for text
	node, more  world.Node
}

// needShop skips what is not for here.
func needShop(t *testing.T) {
	t.Helper()
	if !world.Long {
		t.Skip("MCPHUB_E2E_LONG is not set")
	}
	if runtime.GOOS != "linux" {
		t.Skip("these are commands and paths of Linux")
	}
	world.RequireNode(t)
	needs.Program(t, "curl")
	world.RequireChromium(t)
}

func newShop(t *testing.T) *shop {
	t.Helper()
	n := world.RequireNode(t)
	w := &shop{World: world.New(t), node: n, more: n.More(t)}
	for _, files := range []map[string]string{everydayFiles, shopFiles} {
		for name, text := range files {
			w.Write(filepath.Join("project", name), text)
		}
	}
	for name, text := range map[string]string{
		"home/.gitconfig": "[user]\n\tname = Ada\n\temail = ada@example.com\n[init]\n\tdefaultBranch = main\n",
		"home/.claude-server-commander/config.json": `{"telemetryEnabled":false,"allowedDirectories":[],"blockedCommands":[]}`,
		"other/types.ts":           "export interface Item { price: number; count: number }\n",
		"other/README.md":          "# Types\n\nShared by /shop and ../admin.\n",
		"outside/secret.js":        "// " + world.SecretText + "\n",
		"outside/eslint.config.js": "export default []\n",
		"outside/edit.txt":         "before\n",
		"outside/repo/hidden.txt":  world.SecretText,
		"project/stolen-1.txt":     "ours\n",
	} {
		w.Write(name, text)
	}
	for _, name := range []string{"deploy.sh", "hello.sh"} {
		world.Must(t, os.Chmod(w.Path("project", "scripts", name), 0o700))
	}
	world.Symlink(t, w.Path("project", "src"), w.Path("project", "inner"))
	w.run(w.Home, n.Program, "-e", shopDatabase, w.Path("project", "app.db"))
	w.run(w.Dir, "git", "init", "-q", "--bare", w.Path("remote", "shop.git"))
	for dir, message := range map[string]string{w.Project: "cart: totals for /api/users and /api/orders", w.Other: "types", w.Path("outside", "repo"): "hidden"} {
		w.run(dir, "git", "init", "-q")
		w.run(dir, "git", "add", ".")
		w.run(dir, "git", "commit", "-q", "-m", message)
	}
	w.Write("project/src/cart.js", shopFiles["src/cart.js"]+"\nexport const empty = []\n")
	w.run(w.Project, "git", "commit", "-q", "-am", "cart: an empty one")
	w.run(w.Project, "git", "remote", "add", "origin", w.Path("remote", "shop.git"))
	w.run(w.Project, "git", "push", "-q", "-u", "origin", "main")
	w.Write("project/src/untracked.js", "export const later = '/later'\n")

	site := httptest.NewServer(http.HandlerFunc(everydayPage))
	t.Cleanup(site.Close)
	places := []string{"{project}", w.Project, "{other}", w.Other, "{outside}", w.Outside, "{home}", w.Home, "{url}", site.URL, "{secret}", world.SecretText}
	w.plain = strings.NewReplacer(places...)
	for i := 1; i < len(places); i += 2 {
		places[i] = strings.Trim(world.Raw(t, places[i]), `"`)
	}
	w.fill = strings.NewReplacer(places...)
	return w
}

// run runs a program that the shop is made with.
func (w *shop) run(dir, name string, args ...string) {
	w.T.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = dir, w.Env()
	if said, err := cmd.CombinedOutput(); err != nil {
		w.T.Fatalf("%s %v: %v\n%s", name, args, err, said)
	}
}

// servers gives the entries of hub.json, as their READMEs tell people to write them.
func (w *shop) servers() map[string]obj {
	w.T.Helper()
	n, more := w.node, w.more
	server := func(from world.Node, name string, args ...string) obj {
		return obj{"command": n.Program, "args": append([]string{from.Script(name)}, args...)}
	}
	memory := server(n, "mcp-server-memory")
	memory["env"] = obj{"MEMORY_FILE_PATH": w.Path("home", "memory", "memory.jsonl")}
	// What a browser leaves in its temporary folder goes with the test. Its path is short: it is to hold a socket.
	tmp := w.Path("t")
	world.Must(w.T, os.MkdirAll(tmp, 0o700))
	browser := server(n, "playwright-mcp", "--headless", "--browser", "chromium", "--executable-path", world.Chromium(), "--no-sandbox",
		"--caps", "network,storage,pdf,testing")
	devtools := server(more, "chrome-devtools-mcp", "--headless", "--isolated", "--executablePath", world.Chromium(), "--chromeArg=--no-sandbox",
		"--no-usage-statistics", "--no-performance-crux")
	browser["env"], devtools["env"] = obj{"TMPDIR": tmp}, obj{"TMPDIR": tmp}
	// It takes rg from the PATH; the one of desktop-commander will do.
	search := server(more, "mcp-ripgrep")
	rg, err := filepath.Glob(filepath.Join(more.Modules, "@vscode", "ripgrep-*", "bin"))
	world.Must(w.T, err)
	// It signs what it commits unless it is told not to.
	repo := server(more, "git-mcp-server")
	repo["env"] = obj{"GIT_SIGN_COMMITS": "false"}
	// The remote of the repository is a folder of this disk, which a person opens: the kernel would hold git to the roots.
	shell := server(more, "mcp-server-commands")
	for _, entry := range []obj{repo, shell} {
		entry["sandbox"] = obj{"write": []string{w.Path("remote")}}
	}
	search["env"] = obj{"PATH": strings.Join(append(rg, os.Getenv("PATH")), string(os.PathListSeparator))}
	return map[string]obj{
		"filesystem": server(n, "mcp-server-filesystem"), "everything": server(n, "mcp-server-everything"), "memory": memory,
		"thinking": server(n, "mcp-server-sequential-thinking"), "playwright": browser, "devtools": devtools,
		"commander": server(more, "desktop-commander"), "commands": shell, "git": repo,
		"dbhub":   server(more, "dbhub", "--transport", "stdio", "--dsn", "sqlite://"+w.Path("project", "app.db")),
		"ripgrep": search, "eslint": server(more, "mcp"),
	}
}

// visit begins a session with one server, in one repository or in both.
func (w *shop) visit(name string, entry obj) *world.Session {
	w.T.Helper()
	s := w.Serve(w.Config(obj{name: entry}), ide.Folders(w.opened(name)...))
	s.Handshake()
	return s
}

// opened returns the folders that are open in the editor.
func (w *shop) opened(name string) []string {
	switch name {
	case "everything", "memory", "thinking", "playwright", "devtools", "eslint":
		return []string{w.Project}
	}
	return []string{w.Project, w.Other}
}

func (w *shop) outsideNames(t *testing.T) string {
	t.Helper()
	var all []string
	world.Must(t, filepath.WalkDir(w.Outside, func(path string, _ os.DirEntry, err error) error {
		all = append(all, path)
		return err
	}))
	return strings.Join(all, "\n")
}

// shopDatabase makes the database.
const shopDatabase = `
const { DatabaseSync } = require('node:sqlite')
new DatabaseSync(process.argv[1]).exec(` + "`" + `
CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT, home TEXT, shell TEXT);
INSERT INTO users VALUES (1, 'ada', '/home/ada', '/bin/bash'), (2, 'bob', '/home/bob', '/bin/sh');
CREATE TABLE orders (id INTEGER PRIMARY KEY, price REAL, count INTEGER, note TEXT);
INSERT INTO orders VALUES (1, 2.5, 4, 'and/or'), (2, 10, 1, '1/2');
CREATE TABLE pages (slug TEXT, title TEXT); INSERT INTO pages VALUES ('/', 'Home'), ('/about', 'About');
CREATE TABLE redirects (source TEXT, target TEXT);
CREATE TABLE requests (path TEXT, status INTEGER, error TEXT);
INSERT INTO requests VALUES ('/etc/passwd', 404, NULL), ('/api/users', 200, NULL);
CREATE TABLE settings (key TEXT, value TEXT); INSERT INTO settings VALUES ('log', './logs'), ('uploads', './uploads'), ('node', 'node');
CREATE INDEX pages_slug ON pages (slug);` + "`" + `)`

// shopFiles is what its repository has beside everydayFiles.
var shopFiles = map[string]string{
	"package.json": `{"name":"@scope/shop","version":"1.2.0","type":"module","scripts":{"test":"node --test src/","build":"node scripts/build.mjs"}}
`,
	"src/cart.js": "export function add(cart, item) {\n  return [...cart, item]\n}\n\nexport function total(cart) {\n  return cart.reduce((n, i) => n + i.price * i.count, 0)\n}\n",
	"src/cart.test.js": "import test from 'node:test'\nimport assert from 'node:assert/strict'\nimport { total } from './cart.js'\n\n" +
		"test('total', () => assert.equal(total([{ price: 2, count: 3 }]), 6))\n",
	"src/server.js": "import { createServer } from 'node:http'\nimport { total } from './cart.js'\n\n" +
		"const routes = { '/api/users/:id': () => 1, '/api/orders': total }\n" +
		"const server = createServer((q, a) => a.end(String(q.url in routes)))\nif (process.argv.includes('--once')) console.log('ready')\nelse server.listen(3000)\n",
	"scripts/build.mjs":        "console.log('built', process.argv.slice(2).join(' '))\n",
	"scripts/hello.sh":         "#!/bin/sh\necho \"hello $1\"\n",
	"config/nginx.conf":        "server {\n  server_name shop.local;\n  root /var/www/html;\n  access_log /var/log/nginx/shop.log;\n}\n",
	"data/orders.csv":          "id,name,price\n1,a/b,2\n2,c,4\n",
	"logs/app.log":             "2026/11/22 10:00:00 ada - GET /api/users 200\n2026/11/22 10:00:01 bob - GET /etc/passwd 404\n2026/11/22 10:00:02 ada - GET / 200\n",
	".github/workflows/ci.yml": "on: push\njobs:\n  test:\n    runs-on: ubuntu-latest\n    steps:\n      - run: npm test >/dev/null\n",
	"eslint.config.js":         "export default [{ rules: { 'no-unused-vars': 'error' } }]\n",
	"Dockerfile":               "FROM node:24\nCOPY . /app\nCMD [\"node\", \"/app/src/server.js\"]\n",
	"docker-compose.yml":       "services:\n  web:\n    build: .\n    volumes: [\"./data:/data\"]\n",
	"docs/old.md":              "See /old/path/to.\n",
	"deploy/.keep":             "",
	"public/.keep":             "",
	"assets/pixel.png":         "\x89PNG\r\n\x1a\n",
}
