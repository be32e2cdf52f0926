package confinement_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mcphub/children/confinement"
	"mcphub/children/consent"
	"mcphub/children/launch"
	"mcphub/children/program"
	"mcphub/children/sandbox"
)

// relink puts a link instead of whatever is there.
func relink(t *testing.T, to, path string) {
	t.Helper()
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(to, path); err != nil {
		t.Fatal(err)
	}
}

// anew returns the machine as another hub has it, which reads what the first has remembered.
func anew(h launch.Machine) launch.Machine {
	h.Host = h.Anew()
	return h
}

func planOf(t *testing.T, h launch.Machine, prog program.Program) *confinement.Confinement {
	t.Helper()
	l, err := launch.Plan(prog, nil, h)
	if err != nil {
		t.Fatal(err)
	}
	return l.Sandbox
}

func opens(c *confinement.Confinement, path string) bool {
	return c.Profile.AccessAt(path)&sandbox.Read != 0
}

// TestNothingLeadsToKeys: whatever made a link, it opens no key, no client's configuration,
// no part of the hub and no more than one program's files. What else it leads to is opened
// when it is first used, which is the control. What is named itself is what a person wrote.
func TestNothingLeadsToKeys(t *testing.T) {
	for to, open := range map[string]bool{
		"private/x": true, "private": true, ".aws/x": false, ".aws": false, ".ssh/id_ed25519": false, ".ssh": false, "private/.env": false, "private/server.pem": false,
		".claude.json": false, ".cursor/mcp.json": false, ".cursor": false, ".config/gcloud/x": false, ".config": false, ".local/share": false, "": false, "..": false, "../..": false,
		".local/state/mcphub/audit": false, ".cache/mcphub/packages": false, ".config/mcphub/hub.json": false,
		".local/state": false, ".cache": false,
	} {
		names := []string{"named"}
		if strings.HasPrefix(to, "private") && !strings.Contains(to, ".") || to == ".aws" || to == ".aws/x" { // TestLinksThatAreNeverFollowed has why each is never followed
			names = append(names, ".gitconfig", ".ssh/config", ".local/bin", ".kube")
		}
		for _, name := range names {
			t.Run(name+" to "+to, func(t *testing.T) {
				h, home := confinedMachine(t)
				at := func(p string) string { return filepath.Join(home, p) }
				for _, file := range []string{"private/x", ".aws/x", "private/.env", ".claude.json", ".cursor/mcp.json", ".config/gcloud/x", ".local/share/x", ".local/state/mcphub/audit/x", ".cache/mcphub/packages/x", ".config/mcphub/hub.json"} {
					putFile(t, at(file), "[x]\n") // as settings of git are
				}
				putFile(t, at("private/server.pem"), "-----BEGIN PRIVATE KEY-----")
				server := putFile(t, at("tools/node_modules/mcp-server-kubernetes/index.js"), "")
				relink(t, at(to), at(name))
				prog := confinedProgram("node", server)
				prog.Sandbox.Read = []string{at("named")}
				c := planOf(t, h, prog)
				want := open
				if fi, err := os.Stat(at(to)); err != nil {
					t.Fatal(err)
				} else if fi.IsDir() && sandbox.IsFile(at(name), home) {
					want = false
				}
				probe := at(to)
				if to == ".local/share" || to == ".config" {
					probe = at(to + "/x") // the base has folders of programs below
				}
				if got := opens(c, probe); got != want {
					t.Errorf("it is open: %t; it says %q", got, c.Report.Lacks)
				}
				if said := strings.Join(slices.Concat(c.Report.Lacks, c.Report.Closed), "; "); !want && !strings.Contains(said, at(name)+" is not opened") {
					t.Errorf("it says %q", said)
				}
			})
		}
	}
	h, home := confinedMachine(t)
	putFile(t, filepath.Join(home, ".aws/x"), "x")
	prog := confinedProgram("node", filepath.Join(home, "work/server/dist/index.js"))
	prog.Sandbox.Read = []string{filepath.Join(home, ".aws")}
	if c := planOf(t, h, prog); !opens(c, filepath.Join(home, ".aws/x")) {
		t.Errorf("what the operator names himself is closed: %q", c.Report.Lacks)
	}
}

// TestNothingLeadsToFoldersBehindLinks: a link to the hub's own cache opens nothing either if a link leads to that cache. The control is
// the same folder while it is no cache.
func TestNothingLeadsToFoldersBehindLinks(t *testing.T) {
	for _, to := range []string{"elsewhere/mcphub/packages", "elsewhere/mcphub", "elsewhere"} {
		for _, own := range []string{"", ".cache", ".cache/mcphub"} {
			h, home := confinedMachine(t)
			at := func(p string) string { return filepath.Join(home, p) }
			putFile(t, at("elsewhere/mcphub/packages/x"), "x")
			server := putFile(t, at("tools/node_modules/mcp-server-kubernetes/index.js"), "")
			if own != "" {
				if err := os.RemoveAll(at(own)); err != nil {
					t.Fatal(err)
				}
				relink(t, at("elsewhere"+strings.TrimPrefix(own, ".cache")), at(own))
			}
			relink(t, at(to), at("named"))
			prog := confinedProgram("node", server)
			prog.Sandbox.Write = []string{at("named")}
			if c := planOf(t, h, prog); opens(c, at("elsewhere/mcphub/packages/x")) != (own == "") {
				t.Errorf("%s, which %q leads to: open %t; it says %q", to, own, own != "", c.Report.Lacks)
			}
		}
	}
}

// TestWhatProgramsLeadTo: a server of another session has the program of this one in its
// root, and changes what it is told by. It opens nothing more. A memory of nothing is the
// control.
func TestWhatProgramsLeadTo(t *testing.T) {
	for name, tc := range map[string]struct {
		prog   func(home string) program.Program
		change func(t *testing.T, home string)
		kills  bool // it does not start
	}{
		"a link in its place": {
			func(home string) program.Program { return confinedProgram(home + "/proj/srv/run") },
			func(t *testing.T, home string) { relink(t, home+"/private/run", home+"/proj/srv/run") }, true},
		"its folder": {
			func(home string) program.Program { return confinedProgram("sh", home+"/proj/srv/run") },
			func(t *testing.T, home string) { relink(t, home+"/private", home+"/proj/srv") }, true},
		"its first line": {
			func(home string) program.Program { return confinedProgram(home + "/proj/srv/run") },
			func(t *testing.T, home string) { putFile(t, home+"/proj/srv/run", "#!"+home+"/private/run\n") }, false},
		"what tells its package": {
			func(home string) program.Program { return confinedProgram("node", home+"/private/srv/index.js") },
			func(t *testing.T, home string) {
				if err := os.Remove(home + "/private/srv/package.json"); err != nil {
					t.Fatal(err)
				}
			}, true},
		"its modules": {
			func(home string) program.Program {
				return confinedProgram("node", home+"/proj/node_modules/pkg/index.js")
			},
			func(t *testing.T, home string) { relink(t, home+"/private", home+"/proj/node_modules") }, true},
		"a program of its name, where it is found first": {
			func(home string) program.Program { return confinedProgram("node", home+"/work/server/dist/index.js") },
			func(t *testing.T, home string) { relink(t, home+"/private/run", home+"/proj/bin/node") }, true},
		"the same by its first line": {
			func(home string) program.Program { return confinedProgram("node", home+"/work/server/dist/index.js") },
			func(t *testing.T, home string) {
				putFile(t, home+"/proj/bin/node", "#!"+home+"/private/run\n")
			}, true},
		"modules beside a folder of PATH": {
			func(string) program.Program { return confinedProgram("sh") },
			func(t *testing.T, home string) { relink(t, home+"/private", home+"/proj/lib/node_modules") }, false},
	} {
		t.Run(name, func(t *testing.T) {
			h, home := confinedMachine(t)
			putFile(t, home+"/proj/srv/run", "#!/bin/sh\n")
			putFile(t, home+"/proj/srv/package.json", "{}")
			putFile(t, home+"/proj/node_modules/pkg/index.js", "")
			putFile(t, home+"/proj/bin/other", "")
			putFile(t, home+"/private/run", "")
			putFile(t, home+"/private/go.mod", "")
			putFile(t, home+"/private/pkg/index.js", "")
			putFile(t, home+"/private/srv/index.js", "")
			putFile(t, home+"/private/srv/package.json", "{}")
			h.Host = h.WithEnviron("HOME="+home, "PATH="+home+"/proj/bin:"+home+"/.nvm/versions/node/v20/bin:/usr/bin:/bin")
			prog := tc.prog(home)
			secret := putFile(t, home+"/private/secret", "")
			if c := planOf(t, h, prog); opens(c, secret) {
				t.Fatal("it is open before")
			}
			tc.change(t, home)
			l, err := launch.Plan(prog, nil, anew(h))
			switch {
			case err != nil != tc.kills:
				t.Errorf("it starts: %v", err)
			case err == nil && opens(l.Sandbox, secret):
				t.Errorf("it is open: %v", l.Sandbox.Profile.Rules)
			}
			said := ""
			if err != nil {
				said = err.Error()
			} else {
				said = strings.Join(slices.Concat(l.Sandbox.Report.Lacks, l.Sandbox.Report.Closed), "; ")
			}
			if !strings.Contains(said, "mcphub status") {
				t.Errorf("it says %q", said)
			}
			if err := os.Remove(memoryAt(t, h)); err != nil {
				t.Fatal(err)
			}
			if c := planOf(t, anew(h), prog); !opens(c, secret) {
				t.Errorf("nothing is remembered, and it is closed, so this shows nothing: %v", c.Profile.Rules)
			}
		})
	}
}

// TestUpgradesAreNoQuestion: what version managers and package managers relink opens as
// before, and no one is asked.
func TestUpgradesAreNoQuestion(t *testing.T) {
	for name, tc := range map[string]struct {
		home   string
		before func(t *testing.T, at func(string) string)
		after  func(t *testing.T, at func(string) string)
		prog   func(at func(string) string) program.Program
		opens  string
	}{
		"nvm": {
			before: func(t *testing.T, at func(string) string) {
				relink(t, "versions/node/v20", at(".nvm/current"))
			},
			after: func(t *testing.T, at func(string) string) {
				putFile(t, at(".nvm/versions/node/v22/bin/node"), "")
				relink(t, "versions/node/v22", at(".nvm/current"))
			},
			prog: func(at func(string) string) program.Program {
				return confinedProgram(at(".nvm/current/bin/node"), at("work/server/dist/index.js"))
			},
			opens: ".nvm/versions/node/v22/bin/node",
		},
		"mise": {
			before: func(t *testing.T, at func(string) string) {
				putFile(t, at(".local/share/mise/installs/python/3.12.1/bin/python"), "")
				relink(t, "3.12.1", at(".local/share/mise/installs/python/3.12"))
				relink(t, at(".local/share/mise/installs/python/3.12/bin/python"), at("work/venv/bin/python"))
			},
			after: func(t *testing.T, at func(string) string) {
				putFile(t, at(".local/share/mise/installs/python/3.12.4/bin/python"), "")
				relink(t, "3.12.4", at(".local/share/mise/installs/python/3.12"))
			},
			prog: func(at func(string) string) program.Program {
				return confinedProgram(at("work/venv/bin/python"), at("work/bare/run.py"))
			},
			opens: ".local/share/mise/installs/python/3.12.4/bin/python",
		},
		"pyenv, and then uv": {
			before: func(t *testing.T, at func(string) string) {
				putFile(t, at(".pyenv/versions/3.12/bin/python"), "")
				relink(t, at(".pyenv/versions/3.12/bin/python"), at("work/venv/bin/python"))
			},
			after: func(t *testing.T, at func(string) string) {
				putFile(t, at(".local/share/uv/python/cpython-3.13/bin/python"), "")
				relink(t, at(".local/share/uv/python/cpython-3.13/bin/python"), at("work/venv/bin/python"))
			},
			prog: func(at func(string) string) program.Program {
				return confinedProgram(at("work/venv/bin/python"), at("work/bare/run.py"))
			},
			opens: ".local/share/uv/python/cpython-3.13/bin/python",
		},
		"npm with a prefix": {
			before: func(t *testing.T, at func(string) string) {
				putFile(t, at(".npm-global/lib/node_modules/tool/old/cli.js"), "#!/usr/bin/env node\n")
				relink(t, "../lib/node_modules/tool/old/cli.js", at(".npm-global/bin/tool"))
			},
			after: func(t *testing.T, at func(string) string) {
				putFile(t, at(".npm-global/lib/node_modules/tool/new/cli.js"), "#!/usr/bin/env node\n")
				relink(t, "../lib/node_modules/tool/new/cli.js", at(".npm-global/bin/tool"))
			},
			prog:  func(func(string) string) program.Program { return confinedProgram("tool") },
			opens: ".npm-global/lib/node_modules/tool/new/cli.js",
		},
		"a program that keeps its versions": {
			before: func(t *testing.T, at func(string) string) {
				putFile(t, at(".local/share/claude/versions/1"), "")
				relink(t, at(".local/share/claude/versions/1"), at(".local/bin/claude"))
			},
			after: func(t *testing.T, at func(string) string) {
				putFile(t, at(".local/share/claude/versions/2"), "")
				relink(t, at(".local/share/claude/versions/2"), at(".local/bin/claude"))
			},
			prog:  func(func(string) string) program.Program { return confinedProgram("claude") },
			opens: ".local/share/claude/versions/2",
		},
		"brew": {
			before: func(t *testing.T, at func(string) string) {
				putFile(t, at("brew/Cellar/node/22.1/bin/node"), "")
				relink(t, "../Cellar/node/22.1/bin/node", at("brew/bin/node"))
			},
			after: func(t *testing.T, at func(string) string) {
				putFile(t, at("brew/Cellar/node/23.0/bin/node"), "")
				relink(t, "../Cellar/node/23.0/bin/node", at("brew/bin/node"))
			},
			prog: func(at func(string) string) program.Program {
				return confinedProgram(at("brew/bin/node"), at("work/server/dist/index.js"))
			},
			opens: "brew/Cellar/node/23.0/bin/node",
		},
		"settings that a repository has": {
			before: func(t *testing.T, at func(string) string) {
				putFile(t, at("dotfiles/gitconfig"), "[x]\n")
				relink(t, "dotfiles/gitconfig", at(".gitconfig"))
			},
			after: func(t *testing.T, at func(string) string) { putFile(t, at("dotfiles/gitconfig"), "[another]\n") },
			prog:  func(func(string) string) program.Program { return confinedProgram("sh") },
			opens: "dotfiles/gitconfig",
		},
		"a file that was not there": {
			before: func(t *testing.T, at func(string) string) {
				if err := os.Remove(at(".gitconfig")); err != nil {
					t.Fatal(err)
				}
			},
			after: func(t *testing.T, at func(string) string) { putFile(t, at(".gitconfig"), "[x]\n") },
			prog:  func(func(string) string) program.Program { return confinedProgram("sh") },
			opens: ".gitconfig",
		},
		"a link to what was not there": {
			before: func(t *testing.T, at func(string) string) { relink(t, "dotfiles/gitconfig", at(".gitconfig")) },
			after:  func(t *testing.T, at func(string) string) { putFile(t, at("dotfiles/gitconfig"), "[x]\n") },
			prog:   func(func(string) string) program.Program { return confinedProgram("sh") },
			opens:  "dotfiles/gitconfig",
		},
	} {
		t.Run(name, func(t *testing.T) {
			h, home := confinedMachine(t)
			at := func(p string) string { return filepath.Join(home, p) }
			tc.before(t, at)
			h.RememberLinks(tc.prog(at))
			planOf(t, h, tc.prog(at))
			tc.after(t, at)
			again := anew(h)
			if c := planOf(t, again, tc.prog(at)); !opens(c, at(tc.opens)) || len(c.Report.Lacks)+len(c.Report.Closed) > 0 {
				t.Errorf("it is open: %t; it says %q", opens(c, at(tc.opens)), c.Report.Lacks)
			}
			if asked := questions(t, again); len(asked) > 0 {
				t.Errorf("it asks %v", asked)
			}
		})
	}
}

// TestAnswers: a change is one question, and its answer holds for all hubs. Only what was
// shown is answered. What a person must have made is no question.
func TestAnswers(t *testing.T) {
	h, home := confinedMachine(t)
	at := func(p string) string { return filepath.Join(home, p) }
	for _, p := range []string{"dotfiles/a", "dotfiles/b", "dotfiles/c"} {
		putFile(t, at(p), "")
	}
	relink(t, "dotfiles/a", at(".gitconfig"))
	planOf(t, h, confinedProgram("sh"))
	relink(t, "dotfiles/b", at(".gitconfig"))
	if c := planOf(t, h, confinedProgram("sh")); opens(c, at("dotfiles/b")) {
		t.Error("it is open before it is answered")
	}
	asked := questions(t, h)
	if len(asked) != 1 || !strings.Contains(asked[0].Title, at(".gitconfig")+" led to "+at("dotfiles/a")+" and leads to "+at("dotfiles/b")) {
		t.Fatalf("it asks %v", asked)
	}
	relink(t, "dotfiles/c", at(".gitconfig"))
	planOf(t, h, confinedProgram("sh"))
	store := h.Store()
	if err := store.Accept(asked[0].ID, asked[0].Digest); err == nil {
		t.Error("an answer to what was shown counts for what came later")
	}
	asked = questions(t, h)
	if err := store.Accept(asked[0].ID, asked[0].Digest); err != nil {
		t.Fatal(err)
	}
	for name, m := range map[string]launch.Machine{"this hub": h, "another": anew(h)} {
		if c := planOf(t, m, confinedProgram("sh")); !opens(c, at("dotfiles/c")) || len(questions(t, m)) > 0 {
			t.Errorf("%s: it is closed after the answer: %v", name, questions(t, m))
		}
	}
	relink(t, "dotfiles/a", at(".gitconfig"))
	if c := planOf(t, h, confinedProgram("sh")); opens(c, at("dotfiles/a")) || len(questions(t, h)) != 1 {
		t.Errorf("what it led to once is open again, or nobody is asked: %v", questions(t, h))
	}
	relink(t, "dotfiles/c", at(".gitconfig"))
	if c := planOf(t, anew(h), confinedProgram("sh")); !opens(c, at("dotfiles/c")) || len(questions(t, h)) != 0 {
		t.Errorf("a question of a former hub stays though nothing has changed: %v", questions(t, h))
	}
}

// memoryAt returns the file of what names have led to.
func memoryAt(t *testing.T, h launch.Machine) string {
	t.Helper()
	dir, err := h.Store().Folder()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, confinement.MemoryName)
}

// questions returns what waits for a person.
func questions(t *testing.T, h launch.Machine) []consent.Question {
	t.Helper()
	list, err := h.Store().Questions()
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestAMemoryThatCannotBeRead: what names led to cannot be known, so nothing opens by them.
// A line that was not written whole takes nothing else along.
func TestAMemoryThatCannotBeRead(t *testing.T) {
	h, home := confinedMachine(t)
	file := memoryAt(t, h)
	gitconfig := filepath.Join(home, ".gitconfig")
	if c := planOf(t, h, confinedProgram("sh")); !opens(c, gitconfig) {
		t.Fatal("it is closed at first")
	}
	if fi, err := os.Stat(file); err != nil || fi.Mode().Perm() != 0o600 {
		t.Fatalf("%v, %v", fi.Mode(), err)
	}
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		put  func() error
		open bool
	}{
		"torn":     {func() error { return os.WriteFile(file, append(whole, `{"path":"`...), 0o600) }, true},
		"a link":   {func() error { return os.Symlink("/dev/null", file) }, false},
		"a folder": {func() error { return os.Mkdir(file, 0o700) }, false},
		"full":     {func() error { return os.WriteFile(file, make([]byte, confinement.MaxMemory), 0o600) }, false},
	} {
		if err := os.RemoveAll(file); err != nil {
			t.Fatal(err)
		}
		if err := tc.put(); err != nil {
			t.Fatal(err)
		}
		c := planOf(t, anew(h), confinedProgram("sh"))
		if opens(c, gitconfig) != tc.open {
			t.Errorf("%s: it is open: %t", name, !tc.open)
		}
		if said := strings.Join(slices.Concat(c.Report.Lacks, c.Report.Closed), "; "); !tc.open && !strings.Contains(said, "cannot be remembered") {
			t.Errorf("%s: it says %q", name, said)
		}
	}
}

// TestAnEntryIsSettledBeforeItStarts: what an entry names is remembered when it is read. A
// server that starts before its own cannot relink it.
func TestAnEntryIsSettledBeforeItStarts(t *testing.T) {
	for _, settled := range []bool{true, false} {
		h, home := confinedMachine(t)
		secret := putFile(t, filepath.Join(home, "private/x"), "")
		conf := filepath.Join(home, "conf")
		putFile(t, filepath.Join(conf, "app"), "")
		prog := confinedProgram("sh")
		prog.Sandbox.Read = []string{conf}
		if settled {
			h.RememberLinks(prog)
		}
		relink(t, filepath.Dir(secret), conf)
		if c := planOf(t, h, prog); opens(c, secret) == settled {
			t.Errorf("settled: %t, and it is open: %t", settled, !settled)
		}
	}
}

// A path that an entry reads, and that it has never used before, is followed by a link that a server of any hub could have made only inside of
// what that server could write, or once a person has accepted it. The control is a link that no server could write.
func TestAFirstUseByALinkOfAServer(t *testing.T) {
	for _, reaches := range []bool{false, true} {
		h, home := confinedMachine(t)
		at := func(p string) string { return filepath.Join(home, p) }
		putFile(t, at("private/x"), "")
		putFile(t, at("dev/real/x"), "")
		relink(t, at("private"), at("dev/out"))
		relink(t, at("dev/real"), at("dev/in"))
		relink(t, at("private"), at("dev/srv/node_modules/out"))
		relink(t, at("dev/real"), at("dev/srv/node_modules/in"))
		putFile(t, at("dev/srv/package.json"), "{}")
		putFile(t, at("dev/srv/run.js"), "")
		if reaches {
			if err := h.Store().Reach().Add(at("dev")); err != nil {
				t.Fatal(err)
			}
		}
		prog := confinedProgram("node", at("dev/srv/run.js"))
		prog.Sandbox.Read = []string{at("dev/out"), at("dev/in")}
		c := planOf(t, h, prog)
		if opens(c, at("private/x")) == reaches || !opens(c, at("dev/real/x")) {
			t.Errorf("servers write there: %t; it is open: %t, and the folder inside: %t: %q", reaches, opens(c, at("private/x")), opens(c, at("dev/real/x")), slices.Concat(c.Report.Lacks, c.Report.Closed))
		}
		if !reaches {
			continue
		}
		all, err := h.Store().Questions()
		if err != nil || len(all) != 2 { // the link, and the module
			t.Fatalf("%+v %v", all, err)
		}
		folder, err := h.Store().Folder()
		if err != nil {
			t.Fatal(err)
		}
		if text, _ := os.ReadFile(filepath.Join(folder, "links")); strings.Contains(string(text), "node_modules/in") {
			t.Errorf("what leads inside is remembered: %s", text)
		}
		for _, q := range all {
			if err := h.Store().Accept(q.ID, q.Digest); err != nil {
				t.Fatal(err)
			}
		}
		if c = planOf(t, anew(h), prog); !opens(c, at("private/x")) {
			t.Errorf("it was accepted, and is closed: %q", slices.Concat(c.Report.Lacks, c.Report.Closed))
		}
	}
}

// A server of another session plants 66 links beside a program at each of 20 starts, with names as long as names can be. Taken away again,
// they are forgotten, and the program's next module opens. The control is that they stay: then nothing new opens to this entry.
func TestPlantedLinksThatGoDoNotFillTheMemory(t *testing.T) {
	for _, stay := range []bool{false, true} {
		h, home := confinedMachine(t)
		at := func(p string) string { return filepath.Join(home, p) }
		putFile(t, at("lib/x"), "")
		putFile(t, at("dev/srv/package.json"), "{}")
		putFile(t, at("dev/srv/run.js"), "")
		prog := confinedProgram("node", at("dev/srv/run.js"))
		planOf(t, h, prog)
		for start := range 20 {
			planted := make([]string, 66)
			for n := range planted {
				name := fmt.Sprintf("%02d%02d", 99-start, n) + strings.Repeat("x", 240) // before the ones of former starts
				planted[n] = at("dev/srv/node_modules/" + name)
				relink(t, "/usr/share", planted[n])
			}
			planOf(t, anew(h), prog)
			for _, link := range planted {
				if stay {
					break
				}
				if err := os.Remove(link); err != nil {
					t.Fatal(err)
				}
			}
		}
		relink(t, at("lib"), at("dev/srv/node_modules/0"+strings.Repeat("x", 250)))
		if open := opens(planOf(t, anew(h), prog), at("lib/x")); open == stay {
			t.Errorf("the links stay: %t; what is linked next is open: %t", stay, open)
		}
	}
}

// A module that a server could have linked stays closed, and so does what lies in the module and leads on, which no server could have
// written. The control is the same link in a place that no server could write.
func TestWhatIsClosedLeadsNowhere(t *testing.T) {
	for _, reaches := range []bool{false, true} {
		h, home := confinedMachine(t)
		at := func(p string) string { return filepath.Join(home, p) }
		putFile(t, at("private/project/package.json"), "{}")
		putFile(t, at("private/packages/lib/x"), "")
		relink(t, "../../packages/lib", at("private/project/node_modules/lib"))
		putFile(t, at("dev/srv/package.json"), "{}")
		putFile(t, at("dev/srv/run.js"), "")
		relink(t, at("private/project"), at("dev/srv/node_modules/out"))
		if reaches {
			if err := h.Store().Reach().Add(at("dev")); err != nil {
				t.Fatal(err)
			}
		}
		c := planOf(t, h, confinedProgram("node", at("dev/srv/run.js")))
		for _, path := range []string{"private/project/package.json", "private/packages/lib/x"} {
			if opens(c, at(path)) == reaches {
				t.Errorf("servers write there: %t; %s is open: %t", reaches, path, reaches)
			}
		}
		if all := questions(t, h); reaches && len(all) != 1 {
			t.Errorf("it asks %+v", all)
		}
	}
}

// A folder of modules that an entry names is replaced by a link: it stays closed, and so does what lies in the folder behind the link and
// leads on. The control is the same link when it is first used.
func TestWhatIsChangedLeadsNowhere(t *testing.T) {
	for _, changed := range []bool{false, true} {
		h, home := confinedMachine(t)
		at := func(p string) string { return filepath.Join(home, p) }
		putFile(t, at("private/project/package.json"), "{}")
		putFile(t, at("private/packages/lib/x"), "")
		relink(t, "../../packages/lib", at("private/project/node_modules/lib"))
		putFile(t, at("dev/mods/x"), "")
		prog := served(home)
		prog.Env = map[string]string{"NODE_PATH": at("dev/mods") + ":" + at("own")}
		putFile(t, at("other/x"), "")
		relink(t, at("other"), at("own/node_modules/other"))
		if changed {
			planOf(t, h, prog)
		}
		relink(t, at("private/project"), at("dev/mods"))
		c := planOf(t, anew(h), prog)
		for _, path := range []string{"private/project/package.json", "private/packages/lib/x"} {
			if opens(c, at(path)) == changed {
				t.Errorf("it is changed: %t; %s is open: %t", changed, path, changed)
			}
		}
		if !opens(c, at("other/x")) {
			t.Errorf("it is changed: %t; a module of another folder is closed", changed)
		}
	}
}
