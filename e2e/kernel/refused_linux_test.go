package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"mcphub/e2e/ide"
)

// whyReason is what `mcphub why --json` prints of a refusal.
type whyReason struct {
	By, Server, Path, NamedBy, Opens, Why, Mend, Command string
	Times                                                int
}

// why runs `mcphub why` in a folder.
func (w *world) why(dir, config string, flags ...string) (all []whyReason, text string) {
	w.t.Helper()
	run := func(more ...string) []byte {
		cmd := exec.CommandContext(w.t.Context(), mcphub(w.t), append(append([]string{"why", "--config", config}, flags...), more...)...)
		cmd.Env, cmd.Dir = w.env(), dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			w.t.Fatalf("mcphub why: %v: %s", err, out)
		}
		return out
	}
	must(w.t, json.Unmarshal(run("--json"), &all))
	return all, string(run())
}

// paste runs a command line as a person who pastes it.
func (w *world) paste(line string) (string, error) {
	cmd := exec.CommandContext(w.t.Context(), "bash", "-c", line)
	cmd.Dir = w.project
	cmd.Env = append(w.env(), "PATH="+filepath.Dir(mcphub(w.t))+":"+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// TestARefusalOfTheKernelIsToldToTheRightOne: real programs in a server that the kernel holds are refused something. The client
// reads which path, and no command that opens it; `mcphub why` prints that to a person, and it works when it is pasted. Each has
// its control: what the program says without the kernel.
func TestARefusalOfTheKernelIsToldToTheRightOne(t *testing.T) {
	t.Parallel()
	requireLandlock(t)
	hostile := "out side\n$(touch oops) 'x\" -f"
	for name, tc := range map[string]struct {
		needs   string // a program
		entry   func(w *world, entry obj)
		prepare func(w *world)
		command string // OUT is the folder outside, HOME the home folder
		closed  string // what is told to be closed
		opens   string // what the command opens; "" there is none
		works   string // what the command says once that is open
	}{
		"a vault of notes": {
			needs:   "node",
			prepare: func(w *world) { w.write("outside/vault/note.md", "the note") },
			command: `node -e 'try { console.log(require("fs").readdirSync("OUT/vault")) } catch (e) { console.log("Error: " + e.message) }'`,
			closed:  "OUT/vault", opens: "OUT/vault", works: "note.md",
		},
		"a folder of Node's that is missing": {
			needs:   "node",
			command: `node -e 'require("fs").mkdirSync("HOME/.mongo/mcp/logs", {recursive: true}); console.log("made it")'`,
			closed:  "HOME/.mongo", opens: "HOME/.mongo/", works: "made it",
		},
		"a module that is linked": {
			needs: "node",
			prepare: func(w *world) {
				w.write("outside/linked/package.json", `{"name":"linked","main":"index.js"}`)
				w.write("outside/linked/index.js", `module.exports = "the module"`)
				must(w.t, os.MkdirAll(w.path("project", "node_modules"), 0o700))
				must(w.t, os.Symlink(w.path("outside", "linked"), w.path("project", "node_modules", "linked")))
			},
			command: `cd PROJECT && node -e 'console.log(require("linked"))'`,
			closed:  "PROJECT/node_modules/linked/package.json", opens: "OUT/linked", works: "the module",
		},
		"a worktree whose repository does not know it": {
			needs: "git",
			prepare: func(w *world) {
				out, err := exec.CommandContext(w.t.Context(), "bash", "-c", "set -e; cd "+w.outside+"; git init -q main; cd main; git -c user.name=a -c user.email=a@b commit -q --allow-empty -m first; git worktree add -q ../wt; cp -r ../wt "+w.project+"/wt").CombinedOutput()
				if err != nil {
					w.t.Fatalf("%v: %s", err, out)
				}
			},
			command: "git -C PROJECT/wt log --oneline",
			closed:  "OUT/main/.git/worktrees/wt",
			opens:   "OUT/main/.git/worktrees/wt",
		},
		"a database": {
			needs:   "sqlite3",
			prepare: func(w *world) { must(w.t, os.MkdirAll(w.path("outside", "db"), 0o700)) },
			command: `sqlite3 OUT/db/test.db "create table t(x); insert into t values('a row'); select x from t"`,
			closed:  "OUT/db/test.db", opens: "OUT/db", works: "a row",
		},
		"a file of the home folder that is replaced": {
			prepare: func(w *world) { w.write("home/mem.json", "{}") },
			entry:   func(w *world, entry obj) { entry["env"] = obj{"MEMORY": w.path("home", "mem.json")} },
			command: "cp HOME/mem.json HOME/mem.json.8f3a.tmp && mv HOME/mem.json.8f3a.tmp HOME/mem.json && echo replaced",
			closed:  "HOME/mem.json", // and the folder of its own that it is to have is said
		},
		"a name that a shell would run": {
			prepare: func(w *world) { w.write("outside/"+hostile+"/f", "read it") },
			command: `cat "$EVIL"/f`,
			entry: func(w *world, entry obj) {
				entry["env"] = obj{"EVIL": "${file:" + w.write("evil", w.path("outside", hostile)) + "}"}
			},
			closed: "", // the text of cat holds it in pieces
		},
		"a name with blanks and quotes": {
			prepare: func(w *world) { w.write("outside/a b $(touch oops) -f/it's", "read it") },
			command: `node -e 'try { console.log(require("fs").readFileSync("OUT/a b $(touch oops) -f/it\x27s", "utf8")) } catch (e) { console.log(e.message.replace(/it.s/, "it\x27s").replace(/\x27\/.*/, (p) => JSON.stringify(p.slice(1, -1)))) }'`,
			needs:   "node",
			closed:  "OUT/a b $(touch oops) -f/it's", opens: "OUT/a b $(touch oops) -f/it's", works: "read it",
		},
		"a key": {
			prepare: func(w *world) { w.write("home/.aws/credentials", "the key") },
			command: "cat HOME/.aws/credentials",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath(tc.needs); tc.needs != "" && err != nil && inCI() {
				t.Fatal(err)
			} else if tc.needs != "" && err != nil {
				t.Skip(err)
			}
			w := newWorld(t)
			if tc.prepare != nil {
				tc.prepare(w)
			}
			fill := strings.NewReplacer("OUT", w.outside, "HOME", w.home, "PROJECT", w.project).Replace
			entry := obj{"command": bin.opener, "args": []string{}, "paths": obj{"mode": "off"}}
			if tc.entry != nil {
				tc.entry(w, entry)
			}
			config := w.config(obj{"kid": entry})
			s := w.start(ide.Options{Command: mcphub(t), Args: []string{"serve", "--config", config}, Env: w.env(), Roots: ide.Folders(w.project)})
			s.initialize()
			s.awaitTool("kid__shell")
			call := func() (blocks []string) {
				t.Helper()
				var r struct{ Content []struct{ Text string } }
				must(t, json.Unmarshal(s.call("kid__shell", raw(t, obj{"command": fill(tc.command)})).Result, &r))
				for _, b := range r.Content {
					blocks = append(blocks, b.Text)
				}
				return blocks
			}
			got := call()
			if tc.closed == "" {
				if len(got) != 1 {
					t.Errorf("the client is told %q", got)
				}
				return
			}
			said := "mcphub: the kernel holds this server, and '" + fill(tc.closed) + "' is closed to it"
			if len(got) != 2 || !strings.HasPrefix(got[1], said) || !strings.HasSuffix(got[1], "Ask your user to run `mcphub why`.") {
				t.Fatalf("the client is told %q, want %q", got, said)
			}
			s.end(stopBound) // why works after the hub has ended
			all, text := w.why(w.project, config)
			if len(all) != 1 || all[0].By != "kernel" || all[0].Path != fill(tc.closed) || !strings.Contains(text, "closed") && !strings.Contains(text, "was refused") {
				t.Fatalf("why says %+v\n%s", all, text)
			}
			if elsewhere, _ := w.why(w.other, config); len(elsewhere) != 0 {
				t.Errorf("in another folder why says %+v", elsewhere)
			}
			if tc.opens == "" {
				if all[0].Command != "" || !strings.Contains(all[0].Mend, "a folder of its own") {
					t.Errorf("why says %+v", all[0])
				}
				return
			}
			if all[0].Opens != fill(tc.opens) || !strings.Contains(text, "run: "+all[0].Command+"\n") {
				t.Errorf("why says %+v\n%s", all[0], text)
			}
			if out, err := w.paste(all[0].Command); err != nil {
				t.Fatalf("%s: %v: %s", all[0].Command, err, out)
			}
			if _, err := os.Stat(w.path("project", "oops")); err == nil {
				t.Error("the name was run")
			}
			if tc.works == "" {
				return
			}
			s = w.start(ide.Options{Command: mcphub(t), Args: []string{"serve", "--config", config}, Env: w.env(), Roots: ide.Folders(w.project)})
			s.initialize()
			s.awaitTool("kid__shell")
			if got := call(); len(got) != 1 || !strings.Contains(got[0], tc.works) {
				t.Errorf("after that it says %q", got)
			}
		})
	}
}

// mcphub runs a command of the hub's, and returns what it prints.
func (w *world) mcphub(args ...string) string {
	cmd := exec.CommandContext(w.t.Context(), mcphub(w.t), args...)
	cmd.Env, cmd.Dir = w.env(), w.project
	out, _ := cmd.CombinedOutput() // a server that does not start is an error
	return string(out)
}

// TestAServerThatTheKernelKeepsFromStarting: the client reads why, without a command; doctor, status and why print the one that
// mends it, and with it the server starts.
func TestAServerThatTheKernelKeepsFromStarting(t *testing.T) {
	t.Parallel()
	requireLandlock(t)
	w := newWorld(t)
	secret := w.path("outside", "secret.txt")
	script := w.write("server/run.sh", "#!/bin/sh\ncat "+secret+" >/dev/null || exit 1\nexec "+bin.opener+"\n")
	must(t, os.Chmod(script, 0o700))
	config := w.config(obj{"kid": obj{"command": script, "args": []string{}, "sandbox": obj{"mode": "auto", "read": []string{bin.opener}}}})
	s := w.start(ide.Options{Command: mcphub(t), Args: []string{"serve", "--config", config}, Env: w.env(), Roots: ide.Folders(w.project)})
	s.initialize()
	told := string(s.request("tools/call", ide.ToolParams("call-tool", `{"serverName":"kid","toolName":"shell","toolArgs":{"command":"true"}}`)).Raw)
	if !strings.Contains(told, "the kernel holds this server, and '"+secret+"' is closed to it") || !strings.Contains(told, "`mcphub why`") {
		t.Errorf("the client is told %s", told)
	}
	line := "mcphub allow kid " + secret + " --config " + config
	said := w.mcphub("status")
	for range 50 { // while it starts once more, status tells of that
		if strings.Contains(said, line) {
			break
		}
		said = w.mcphub("status")
	}
	if !strings.Contains(said, line) {
		t.Errorf("status says %s", said)
	}
	s.end(stopBound)
	if _, said := w.why(w.project, config); !strings.Contains(said, "run: "+line+"\n") {
		t.Errorf("why says %s", said)
	}
	said = w.mcphub("doctor", "kid", "--config", config, "--root", w.project)
	if !strings.Contains(said, "run:  "+line+"\n") || strings.Contains(said, "mcphub disable") {
		t.Errorf("doctor says %s", said)
	}
	if out, err := w.paste(line); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if said := w.mcphub("doctor", "kid", "--config", config, "--root", w.project); !strings.Contains(said, "ok: 1 server") {
		t.Errorf("after that doctor says %s", said)
	}
}

// TestWhatAnEntryWillNotGet: validate says it before anything starts.
func TestWhatAnEntryWillNotGet(t *testing.T) {
	t.Parallel()
	requireLandlock(t)
	w := newWorld(t)
	w.write("home/test.db", "")
	w.write("home/other", "")
	config := w.config(obj{"kid": obj{"command": bin.opener, "args": []string{"--db=" + w.path("home", "test.db"), "--data", w.home}}})
	said := w.mcphub("validate", "--config", config)
	for _, want := range []string{w.path("home", "test.db") + ", and make no files beside it", "a folder of its own", "the kernel will not let kid open " + w.home} {
		if !strings.Contains(said, want) {
			t.Errorf("it does not say %q: %s", want, said)
		}
	}
	if strings.Contains(said, "mcphub allow") {
		t.Errorf("the home folder is offered: %s", said)
	}
}
