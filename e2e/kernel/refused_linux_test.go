package kernel

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"mcphub/e2e/ide"
	"mcphub/e2e/needs"
	"mcphub/e2e/world"
)

// whyReason is what `mcphub why --json` prints of a refusal.
type whyReason struct {
	By, Server, Path, NamedBy, Opens, Why, Mend, Command string
	Times                                                int
}

// why runs `mcphub why` in a folder.
func why(w *world.World, dir, config string, flags ...string) (all []whyReason, text string) {
	w.T.Helper()
	run := func(more ...string) []byte {
		cmd := exec.CommandContext(w.T.Context(), world.Hub(w.T), append(append([]string{"why", "--config", config}, flags...), more...)...)
		cmd.Env, cmd.Dir = w.Env(), dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			w.T.Fatalf("mcphub why: %v: %s", err, out)
		}
		return out
	}
	world.Must(w.T, json.Unmarshal(run("--json"), &all))
	return all, string(run())
}

// paste runs a command line as a person who pastes it.
func paste(w *world.World, line string) (string, error) {
	cmd := exec.CommandContext(w.T.Context(), "bash", "-c", line)
	cmd.Dir = w.Project
	cmd.Env = append(w.Env(), "PATH="+filepath.Dir(world.Hub(w.T))+":"+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// TestARefusalOfTheKernelIsToldToTheRightOne: real programs in a server that the kernel holds are refused something. The client
// reads which path, and no command that opens it; `mcphub why` prints that to a person, and it works when it is pasted. Each has
// its control: what the program says once that is open. children/hints holds what is read in the words of other programs.
func TestARefusalOfTheKernelIsToldToTheRightOne(t *testing.T) {
	t.Parallel()
	world.RequireLandlock(t)
	hostile := "out side\n$(touch oops) 'x\" -f"
	for name, tc := range map[string]struct {
		entry   func(w *world.World, entry obj)
		prepare func(w *world.World)
		command string // OUT is the folder outside, HOME the home folder
		closed  string // what is told to be closed
		opens   string // what the command opens; "" there is none
		works   string // what the command says once that is open
		kept    bool   // it is told that a person alone opens it, and not what it is
	}{
		"a vault of notes": {
			prepare: func(w *world.World) { w.Write("outside/vault/note.md", "the note") },
			command: `node -e 'try { console.log(require("fs").readdirSync("OUT/vault")) } catch (e) { console.log("Error: " + e.message) }'`,
			closed:  "OUT/vault", opens: "OUT/vault", works: "note.md",
		},
		"a file of the home folder that is replaced": {
			prepare: func(w *world.World) { w.Write("home/mem.json", "{}") },
			entry:   func(w *world.World, entry obj) { entry["env"] = obj{"MEMORY": w.Path("home", "mem.json")} },
			command: "cp HOME/mem.json HOME/tmp8f3a && mv HOME/tmp8f3a HOME/mem.json && echo replaced", // which is no name beside the file
			closed:  "HOME/tmp8f3a",                                                                    // and the folder of its own that it is to have is said
		},
		"a name that a shell would run": {
			prepare: func(w *world.World) { w.Write("outside/"+hostile+"/f", "read it") },
			command: `cat "$EVIL"/f`,
			entry: func(w *world.World, entry obj) {
				entry["env"] = obj{"EVIL": "${file:" + w.Write("evil", w.Path("outside", hostile)) + "}"}
			},
			closed: "", // the text of cat holds it in pieces
		},
		"a name with blanks and quotes": {
			prepare: func(w *world.World) { w.Write("outside/a b $(touch oops) -f/it's", "read it") },
			command: `node -e 'try { console.log(require("fs").readFileSync("OUT/a b $(touch oops) -f/it\x27s", "utf8")) } catch (e) { console.log(e.message.replace(/it.s/, "it\x27s").replace(/\x27\/.*/, (p) => JSON.stringify(p.slice(1, -1)))) }'`,
			closed:  "OUT/a b $(touch oops) -f/it's", opens: "OUT/a b $(touch oops) -f/it's", works: "read it",
		},
		"a key": {
			prepare: func(w *world.World) { w.Write("home/.aws/credentials", "the key") },
			command: "cat HOME/.aws/credentials",
			kept:    true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			needs.Program(t, "bash") // of the person
			needs.Line(t, tc.command)
			w := world.New(t)
			if tc.prepare != nil {
				tc.prepare(w)
			}
			fill := strings.NewReplacer("OUT", w.Outside, "HOME", w.Home).Replace
			entry := obj{"command": world.Bin.Opener, "args": []string{}, "paths": obj{"mode": "off"}}
			if tc.entry != nil {
				tc.entry(w, entry)
			}
			config := w.Config(obj{"kid": entry})
			s := w.Start(ide.Options{Apart: true, Command: world.Hub(t), Args: []string{"serve", "--config", config}, Env: w.Env(), Roots: ide.Folders(w.Project)})
			s.Handshake()
			s.AwaitTool("kid__shell")
			call := func() (blocks []string) {
				t.Helper()
				var r struct{ Content []struct{ Text string } }
				world.Must(t, json.Unmarshal(s.MustCall("kid__shell", world.Raw(t, obj{"command": fill(tc.command)})).Result, &r))
				for _, b := range r.Content {
					blocks = append(blocks, b.Text)
				}
				return blocks
			}
			got := call()
			if tc.kept {
				if len(got) != 2 || !strings.Contains(got[1], "closed to all servers, unless a person opens it") || strings.Contains(got[1], "aws") {
					t.Errorf("the client is told %q", got)
				}
				return
			}
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
			s.End(world.StopBound) // why works after the hub has ended
			all, text := why(w, w.Project, config)
			if len(all) != 1 || all[0].By != "kernel" || all[0].Path != fill(tc.closed) || !strings.Contains(text, "closed") && !strings.Contains(text, "was refused") {
				t.Fatalf("why says %+v\n%s", all, text)
			}
			if elsewhere, _ := why(w, w.Other, config); len(elsewhere) != 0 {
				t.Errorf("in another folder why says %+v", elsewhere)
			}
			if tc.opens == "" {
				if !strings.Contains(all[0].Command, "mcphub learn kid --confirm ") || !strings.Contains(all[0].Mend, "a folder of its own") {
					t.Errorf("why says %+v", all[0])
				}
				return
			}
			if all[0].Opens != fill(tc.opens) || !strings.Contains(text, "run: "+all[0].Command+"\n") {
				t.Errorf("why says %+v\n%s", all[0], text)
			}
			if out, err := paste(w, all[0].Command); err != nil {
				t.Fatalf("%s: %v: %s", all[0].Command, err, out)
			}
			if _, err := os.Stat(w.Path("project", "oops")); err == nil {
				t.Error("the name was run")
			}
			s = w.Start(ide.Options{Apart: true, Command: world.Hub(t), Args: []string{"serve", "--config", config}, Env: w.Env(), Roots: ide.Folders(w.Project)})
			s.Handshake()
			s.AwaitTool("kid__shell")
			if got := call(); len(got) != 1 || !strings.Contains(got[0], tc.works) {
				t.Errorf("after that it says %q", got)
			}
		})
	}
}

// mcphub runs a command of the hub's, and returns what it prints.
func mcphub(w *world.World, args ...string) string {
	cmd := exec.CommandContext(w.T.Context(), world.Hub(w.T), args...)
	cmd.Env, cmd.Dir = w.Env(), w.Project
	out, _ := cmd.CombinedOutput() // a server that does not start is an error
	return string(out)
}

// TestAServerThatTheKernelKeepsFromStarting: the client reads why, without a command; doctor, status and why print the one that
// mends it, and with it the server starts.
func TestAServerThatTheKernelKeepsFromStarting(t *testing.T) {
	t.Parallel()
	world.RequireLandlock(t)
	needs.Program(t, "bash") // of the person
	w := world.New(t)
	secret := w.Path("outside", "secret.txt")
	script := w.Write("server/run.sh", "#!/bin/sh\ncat "+secret+" >/dev/null || exit 1\nexec "+world.Bin.Opener+"\n")
	world.Must(t, os.Chmod(script, 0o700))
	config := w.Config(obj{"kid": obj{"command": script, "args": []string{}, "sandbox": obj{"mode": "auto", "read": []string{world.Bin.Opener}}}})
	s := w.Start(ide.Options{Apart: true, Command: world.Hub(t), Args: []string{"serve", "--config", config}, Env: w.Env(), Roots: ide.Folders(w.Project)})
	s.Handshake()
	told := string(s.MustRequest("tools/call", ide.ToolParams("call-tool", `{"serverName":"kid","toolName":"shell","toolArgs":{"command":"true"}}`)).Raw)
	if !strings.Contains(told, "the kernel holds this server, and '"+secret+"' is closed to it") || !strings.Contains(told, "`mcphub why`") {
		t.Errorf("the client is told %s", told)
	}
	line := "mcphub allow kid " + secret + " --config " + config
	said := mcphub(w, "status")
	for range 50 { // while it starts again, status tells about that
		if strings.Contains(said, line) {
			break
		}
		said = mcphub(w, "status")
	}
	if !strings.Contains(said, line) {
		t.Errorf("status says %s", said)
	}
	s.End(world.StopBound)
	if _, said := why(w, w.Project, config); !strings.Contains(said, "run: "+line+"\n") {
		t.Errorf("why says %s", said)
	}
	said = mcphub(w, "doctor", "kid", "--config", config, "--root", w.Project)
	if !strings.Contains(said, "run:  "+line+"\n") || strings.Contains(said, "mcphub disable") {
		t.Errorf("doctor says %s", said)
	}
	if out, err := paste(w, line); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if said := mcphub(w, "doctor", "kid", "--config", config, "--root", w.Project); !strings.Contains(said, "ok: 1 server") {
		t.Errorf("after that doctor says %s", said)
	}
}

// TestWhatAnEntryWillNotGet: validate says it before anything starts.
func TestWhatAnEntryWillNotGet(t *testing.T) {
	t.Parallel()
	world.RequireLandlock(t)
	w := world.New(t)
	w.Write("home/other", "")
	config := w.Config(obj{"kid": obj{"command": world.Bin.Opener, "args": []string{"--data", w.Home}}})
	said := mcphub(w, "validate", "--config", config)
	if want := "the kernel will not let kid open " + w.Home; !strings.Contains(said, want) {
		t.Errorf("it does not say %q: %s", want, said)
	}
	if strings.Contains(said, "mcphub allow") {
		t.Errorf("the home folder is offered: %s", said)
	}
}
