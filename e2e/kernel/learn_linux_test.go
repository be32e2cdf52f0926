package kernel

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"mcphub/e2e/world"
)

// learned is what `mcphub learn --json` prints.
type learned struct {
	How     string
	Sandbox json.RawMessage
	Checked bool
	Problem string

	NotProposed []struct{ Path, Why string }
}

// hook is a module that node loads before each server, because its entry names it. It loads plugin, which no entry names.
const hook = `process.env.PLUGIN_STATE = "{state}"
require("{plugin}")
`

// plugin loads others from its folder, reads and writes elsewhere, and opens a key.
const plugin = `const fs = require("fs")
for (let i = 0; i < 40; i++) require("./lib/part" + i)
fs.readFileSync(__dirname + "/settings/default.json")
fs.mkdirSync(process.env.PLUGIN_STATE + "/runs", {recursive: true})
fs.writeFileSync(process.env.PLUGIN_STATE + "/runs/last", "now")
try { fs.readFileSync(process.env.HOME + "/.ssh/id_ed25519") } catch {}
try { fs.readFileSync(__dirname + "/missing.json") } catch {}
`

// TestLearn: a server that needs a folder outside its roots does not start in a sandbox. With the entry that learn proposes for
// it, it does, and its tools work. Keys and what is not there are not proposed. MCPHUB_E2E_LONG learns five servers, and one of
// them by its errors alone.
func TestLearn(t *testing.T) {
	t.Parallel()
	world.RequireLandlock(t)
	n := world.RequireNode(t)
	type server struct {
		name, script, tool, arguments, says string
		flags                               []string
	}
	servers := []server{
		{"memory", "mcp-server-memory", "create_entities", `{"entities":[{"name":"Anna","entityType":"person","observations":["reads"]}]}`, "Anna", nil},
	}
	if world.Long {
		servers = append(servers,
			server{"filesystem", "mcp-server-filesystem", "read_text_file", `{"path":"PROJECT/hello.txt"}`, "hello from the project", nil},
			server{"everything", "mcp-server-everything", "echo", `{"message":"well"}`, "well", nil},
			server{"thinking", "mcp-server-sequential-thinking", "sequentialthinking", `{"thought":"so","nextThoughtNeeded":false,"thoughtNumber":1,"totalThoughts":1}`, "thoughtNumber", nil},
			server{"playwright", "playwright-mcp", "browser_tabs", `{"action":"list"}`, "", nil},
			server{"repeated", "mcp-server-memory", "create_entities", `{"entities":[{"name":"Anna","entityType":"person","observations":["reads"]}]}`, "Anna", []string{"--confined"}})
	}
	for _, s := range servers {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			w := world.New(t)
			w.Write("hooks/hook.js", strings.NewReplacer("{state}", w.Path("state"), "{plugin}", w.Path("plugins", "plugin.js")).Replace(hook))
			w.Write("plugins/plugin.js", plugin)
			w.Write("plugins/settings/default.json", "{}")
			for i := range 40 {
				w.Write(fmt.Sprintf("plugins/lib/part%d.js", i), "module.exports = 1")
			}
			w.Write("state/.keep", "")
			w.Write("memory/.keep", "")
			key := w.Write("home/.ssh/id_ed25519", "PRIVATE KEY")
			entry := obj{
				"command": n.Program, "args": []string{n.Script(s.script)}, "sandbox": "required",
				"env": obj{"NODE_OPTIONS": "--require " + w.Path("hooks", "hook.js"), "MEMORY_FILE_PATH": w.Path("memory", "memory.json")},
			}
			config := w.Config(obj{s.name: entry})
			tool, arguments := s.name+"__"+s.tool, strings.ReplaceAll(s.arguments, "PROJECT", w.Project)
			run := func(args ...string) (stdout, stderr string, err error) {
				cmd := exec.CommandContext(t.Context(), world.Hub(t), append(args, "--config", config, "--root", w.Project)...)
				var out, said bytes.Buffer
				cmd.Env, cmd.Stdout, cmd.Stderr = w.Env(), &out, &said
				err = cmd.Run()
				return out.String(), said.String(), err
			}
			call := func() (string, error) {
				out, said, err := run("call", tool, "--args", arguments)
				return out + said, err
			}
			if out, err := call(); err == nil || !strings.Contains(out, "'"+w.Path("plugins")+"'") || !strings.Contains(out, "`mcphub why`") {
				t.Fatalf("confined, and without its plugins: %v: %s", err, out)
			}
			flags := append([]string{"learn", s.name, "--json"}, s.flags...)
			if s.says != "" { // what it says is checked, so it can be called without a browser
				flags = append(flags, "--call", tool+" "+arguments)
			}
			out, said, err := run(flags...)
			var got learned
			if err := errors.Join(err, json.Unmarshal([]byte(out), &got)); err != nil || !got.Checked || got.Problem != "" {
				t.Fatalf("%v: %s%s", err, out, said)
			}
			how := "mcphub: runs " + s.name + " without a sandbox"
			if s.flags != nil {
				how = "mcphub: runs " + s.name + " in its sandbox"
			}
			if !strings.HasPrefix(said, how) {
				t.Errorf("it began with %s", said)
			}
			var proposed struct {
				Mode        string
				Read, Write []string
			}
			world.Must(t, json.Unmarshal(got.Sandbox, &proposed))
			if proposed.Mode != "required" || !slices.Equal(proposed.Read, []string{w.Path("plugins")}) {
				t.Errorf("proposed is %s", got.Sandbox)
			}
			if s.flags == nil && !slices.ContainsFunc(got.NotProposed, func(l struct{ Path, Why string }) bool { return l.Path == key && strings.Contains(l.Why, "keys") }) {
				t.Errorf("of the key it says %v", got.NotProposed)
			}
			for _, path := range proposed.Write {
				if path != w.Path("state") && path != w.Path("state", "runs") && path != w.Path("memory") {
					t.Errorf("it may write %s", path)
				}
			}
			world.Must(t, os.RemoveAll(w.Path("memory", "memory.json")))
			entry["sandbox"] = got.Sandbox
			w.Config(obj{s.name: entry})
			if s.says == "" {
				out, said, err := run("tools", s.name)
				if err != nil || !strings.Contains(out, tool) {
					t.Errorf("with the proposal: %v: %s%s", err, out, said)
				}
				return
			}
			if out, err := call(); err != nil || !strings.Contains(out, s.says) {
				t.Errorf("with the proposal: %v: %s", err, out)
			}
		})
	}
}
