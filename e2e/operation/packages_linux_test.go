package operation

import (
	"archive/zip"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mcphub/e2e/ide"
	"mcphub/e2e/needs"
	"mcphub/e2e/world"
)

// slowNpm installs a package of one program, the recorder, once a file is there.
const slowNpm = `#!/bin/sh
here=$(dirname "$0")
while [ ! -e "$here/go" ]; do sleep 0.05; done
mkdir -p node_modules/.bin node_modules/kid
echo '{"dependencies":{"kid":"1.2.3"}}' > package.json
echo '{"version":"1.2.3","bin":"kid"}' > node_modules/kid/package.json
cp "$here/recorder" node_modules/kid/kid
ln -s ../kid/kid node_modules/.bin/kid
`

// A call of a server that is not installed yet is told that it is being installed, by progress, and is answered when that is
// done. Two hubs install once. status tells what runs.
func TestCallsWaitForAnInstall(t *testing.T) {
	t.Parallel()
	world.RequireLandlock(t)
	w := world.New(t)
	text, err := os.ReadFile(world.Bin.Recorder)
	world.Must(t, err)
	w.Write("fake/bin/recorder", string(text))
	w.Write("fake/bin/npm", slowNpm)
	w.Write("fake/bin/npx", "#!/bin/sh\nexit 9\n")
	for _, name := range []string{"npm", "npx", "recorder"} {
		world.Must(t, os.Chmod(w.Path("fake", "bin", name), 0o700))
	}
	kid := obj{"command": w.Path("fake", "bin", "npx"), "args": []string{"-y", "kid"}, "sandbox": obj{"mode": "required", "network": "off"}}
	p := &operated{w: w}
	p.serve(obj{"mcpServers": obj{"kid": kid}})
	second := w.Start(ide.Options{Command: world.Hub(t), Args: []string{"serve", "--config", p.path}, Env: p.env})
	second.Handshake()
	for _, s := range []*world.Session{p.s, second} {
		id, err := s.Request("tools/call", `{"name":"kid__echo","arguments":{"text":"hi"},"_meta":{"progressToken":"tok"}}`)
		world.Must(t, err)
		_, err = s.Await(s.Context(), "a notice of the install", func(m ide.Message) bool {
			return m.Method == "notifications/progress" && strings.Contains(string(m.Params), "kid for kid") &&
				(strings.Contains(string(m.Params), "installing kid") || strings.Contains(string(m.Params), "another hub installs kid"))
		})
		world.Must(t, err)
		t.Cleanup(func() { _ = id })
		if s == second {
			w.Write("fake/bin/go", "")
			for _, s := range []*world.Session{p.s, second} {
				s.MustCall("kid__echo", `{"text":"hi"}`)
			}
		}
	}
	_, out, errs := p.run("status", "--json")
	var v struct {
		Hubs []struct {
			Children []struct {
				Command string
				Package struct{ Name, Version string }
			}
		}
	}
	world.Must(t, json.Unmarshal([]byte(out), &v))
	if len(v.Hubs) != 2 {
		t.Fatalf("%d hubs\n%s%s", len(v.Hubs), out, errs)
	}
	ran := map[string]bool{}
	for _, h := range v.Hubs {
		c := h.Children[0]
		if c.Package.Name != "kid" || c.Package.Version != "1.2.3" || filepath.Base(c.Command) != "kid" {
			t.Errorf("status tells %+v", c)
		}
		ran[c.Command] = true
	}
	if len(ran) != 1 {
		t.Errorf("two hubs run %v", ran)
	}
	if _, text, _ := p.run("status", "-v"); !strings.Contains(text, "kid@1.2.3, installed ") {
		t.Errorf("status -v does not tell the package:\n%s", text)
	}
}

// installed has a hub run servers from copies that it installs from the registry, without a network of their own. Each is
// known by a tool and what that answers.
func installed(t *testing.T, launchers map[string][]string, more ...string) {
	t.Helper()
	installedIn(t, world.New(t), launchers, more...)
}

func installedIn(t *testing.T, w *world.World, launchers map[string][]string, more ...string) {
	t.Helper()
	n := world.RequireNode(t)
	world.RequireLandlock(t)
	env := w.Env()
	for _, kv := range os.Environ() { // by which the registry is reached
		name, _, _ := strings.Cut(strings.ToUpper(kv), "=")
		if name == "NODE_EXTRA_CA_CERTS" || strings.HasSuffix(name, "_PROXY") || strings.HasPrefix(name, "SSL_CERT_") || strings.HasPrefix(name, "NPM_CONFIG_") {
			env = append(env, kv)
		}
	}
	path := "PATH=" + strings.Join(append(more, filepath.Dir(n.Program), os.Getenv("PATH")), string(os.PathListSeparator))
	children := obj{}
	for name, line := range launchers {
		children[name] = obj{"command": line[0], "args": line[1:], "sandbox": obj{"mode": "required", "network": "off"}}
	}
	config := w.Config(children)
	mcphubRuns := func(args ...string) string {
		t.Helper()
		cmd := exec.Command(world.Hub(t), args...)
		cmd.Env, cmd.Dir = append(env, path), w.Home
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%v: %v", args, err)
		}
		return string(out)
	}
	said := mcphubRuns("warm", "--config", config, "--root", w.Project)
	t.Log(said)
	if got := strings.Count(said, " installed"); got != len(launchers) {
		t.Errorf("%d of %d were installed", got, len(launchers))
	}
	for name := range launchers {
		args, want := []string{name + "__read_text_file", "path=" + filepath.Join(w.Project, "hello.txt")}, "hello from the project"
		if got := mcphubRuns(append([]string{"call", "--config", config, "--root", w.Project}, args...)...); !strings.Contains(got, want) {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// theServer returns the official filesystem server, at the version that these tests are pinned to.
func theServer(t *testing.T) string {
	t.Helper()
	var p struct{ Dependencies map[string]string }
	text, err := os.ReadFile("package.json")
	world.Must(t, err)
	world.Must(t, json.Unmarshal(text, &p))
	const name = "@modelcontextprotocol/server-filesystem"
	return name + "@" + p.Dependencies[name]
}

// The real npx, and npm's registry.
func TestNpxFromAnInstalledCopy(t *testing.T) {
	if !world.Long {
		t.Skip("MCPHUB_E2E_LONG is not set: it downloads the server once more")
	}
	t.Parallel()
	installed(t, map[string][]string{"npx": {"npx", "-y", theServer(t), "."}})
}

// The other launchers of JavaScript, which npm has too.
func TestLaunchersFromInstalledCopies(t *testing.T) {
	t.Parallel()
	if !world.Long {
		t.Skip("MCPHUB_E2E_LONG is not set: it downloads bun, pnpm and yarn")
	}
	tools := t.TempDir()
	cmd := exec.Command("npm", "install", "--no-audit", "--no-fund", "--prefix", tools, "bun@1.4.5", "pnpm@12.21.0", "@yarnpkg/cli-dist@4.18.1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	server := theServer(t)
	unpinned := server[:strings.LastIndexByte(server, '@')]
	installed(t, map[string][]string{
		"npm": {"npm", "exec", "-y", "--", server, "."}, "bunx": {"bunx", unpinned, "."}, "bun": {"bunx", "--bun", server, "."},
		"pnpm": {"pnpm", "dlx", unpinned, "."}, "pnpx": {"pnpx", server, "."}, "yarn": {"yarn", "dlx", "-q", server, "."},
		"named": {"npx", "--package=" + server, "mcp-server-filesystem", "."},
	}, filepath.Join(tools, "node_modules", ".bin"))
}

// pythonServer is a server with one tool, of what Python has itself.
const pythonServer = `import json, sys
def main():
    for line in sys.stdin:
        m = json.loads(line)
        if "id" not in m:
            continue
        if m["method"] == "initialize":
            r = {"protocolVersion": m["params"]["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": {"name": "tiny", "version": "1.0.0"}}
        elif m["method"] == "tools/list":
            r = {"tools": [{"name": "read_text_file", "inputSchema": {"type": "object", "properties": {"path": {"type": "string"}}}}]}
        elif m["method"] == "tools/call":
            r = {"content": [{"type": "text", "text": open(m["params"]["arguments"]["path"]).read()}]}
        else:
            r = {}
        print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": r}), flush=True)
`

// The real pipx, and a folder instead of an index.
func TestPipxFromAnInstalledCopy(t *testing.T) {
	needs.Program(t, "pipx")
	t.Parallel()
	w := world.New(t)
	wheels := filepath.Join(w.Home, ".local", "lib", "wheels") // where a confined program may read
	world.Must(t, os.MkdirAll(wheels, 0o700))
	f, err := os.Create(filepath.Join(wheels, "tiny_mcp-1.0.0-py3-none-any.whl"))
	world.Must(t, err)
	z := zip.NewWriter(f)
	const info = "tiny_mcp-1.0.0.dist-info/"
	for _, file := range [][2]string{
		{"tiny_mcp.py", pythonServer},
		{info + "METADATA", "Metadata-Version: 2.1\nName: tiny-mcp\nVersion: 1.0.0\n"},
		{info + "WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"},
		{info + "entry_points.txt", "[console_scripts]\ntiny-mcp = tiny_mcp:main\n"},
		{info + "RECORD", ""},
	} {
		to, err := z.Create(file[0])
		world.Must(t, err)
		_, err = to.Write([]byte(file[1]))
		world.Must(t, err)
	}
	world.Must(t, errors.Join(z.Close(), f.Close()))
	line := []string{"env", "PIP_NO_INDEX=1", "PIP_FIND_LINKS=" + wheels, "pipx", "run"}
	ways := map[string][]string{"spec": append(slices.Clone(line), "--spec", "tiny-mcp==1.0.0", "tiny-mcp")}
	if world.Long { // each way makes a virtual environment
		ways["pipx"] = append(slices.Clone(line), "tiny-mcp")
	}
	installedIn(t, w, ways)
}
