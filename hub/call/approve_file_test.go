package call_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mcphub/hub/approval"
	"mcphub/hub/audit"
	"mcphub/hub/audit/trail"
	"mcphub/internal/jsonrpc"
	"mcphub/rootsmgr/platform"
	"mcphub/validate"
	"mcphub/validate/access"
	"mcphub/validate/policy"
)

// A file opens itself: not what lies beside it, not for another role or another
// server. The control is the directory, which opens what lies
// beside it.
func TestAFileOpensItselfAlone(t *testing.T) {
	for name, answer := range map[string]string{"file": yes, "directory": yesDirectory} {
		t.Run(name, func(t *testing.T) {
			approving(t, func(a *askedCall) {
				config, key := a.at("ssh", "config"), a.at("ssh", "id_rsa")
				put(a.T, config)
				put(a.T, key)
				p := saying(answer)
				a.isAsked(p)
				a.passes("kid__echo", readArgs(config))
				a.passes("kid__echo", readArgs(config)) // it is asked about once
				a.asks(p, 1)
				p.says = func(context.Context) string { return no }
				if name == "directory" {
					a.passes("kid__echo", readArgs(key))
				} else {
					a.refused("kid__echo", readArgs(key), "the person said no")
				}
				want := approval.GrantReport{URI: platform.Host().FormatURI(config), Server: "kid", Lifetime: "session", Roles: []string{"read"}, File: true}
				if name == "directory" {
					want.URI, want.File, want.Served = platform.Host().FormatURI(a.at("ssh")), false, true
				}
				got := a.grants()
				if len(got) == 1 {
					want.Name, want.Since, want.By, want.Rules = got[0].Name, got[0].Since, approval.AskedClient, []string{"ask"}
				}
				if fmt.Sprint(got) != fmt.Sprint([]approval.GrantReport{want}) {
					t.Errorf("grants %+v, want %+v", got, want)
				}
				a.refused("kid__echo", writeArgs(config), "the person said no")
				a.refused("other__echo", readArgs(config), "the person said no")
			}, func(with *staging, _ *validate.Config) {
				with.scripts = append(with.scripts, scriptedChild{name: "other"})
			})
		})
	}
}

// A link instead of a granted file, or of its folder, is not followed: what was
// granted is the file that the question named. The control is the same call
// before the link was there.
func TestALinkInThePlaceOfAGrantedFile(t *testing.T) {
	for name, swap := range map[string]func(a *askedCall) error{
		"the file": func(a *askedCall) error {
			if err := os.Remove(a.at("ssh", "config")); err != nil {
				return err
			}
			return os.Symlink(a.at("ssh", "id_rsa"), a.at("ssh", "config"))
		},
		"the file to another place": func(a *askedCall) error {
			if err := os.Remove(a.at("ssh", "config")); err != nil {
				return err
			}
			return os.Symlink(a.at("data", "one", "1.txt"), a.at("ssh", "config"))
		},
		"its folder": func(a *askedCall) error {
			if err := os.Rename(a.at("ssh"), a.at("moved")); err != nil {
				return err
			}
			put(a.T, a.at("data", "one", "config"))
			return os.Symlink(a.at("data", "one"), a.at("ssh"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			approving(t, func(a *askedCall) {
				config := a.at("ssh", "config")
				put(a.T, config)
				put(a.T, a.at("ssh", "id_rsa"))
				p := saying(yes)
				a.isAsked(p)
				a.passes("kid__echo", readArgs(config))
				p.says = func(context.Context) string { return no }
				a.passes("kid__echo", readArgs(config)) // the control
				if err := swap(a); err != nil {
					t.Fatal(err)
				}
				a.refused("kid__echo", readArgs(config), "the person said no")
				a.asks(p, 2)
			})
		})
	}
}

// Between the question and the answer the file becomes another one, or a link:
// nothing is opened.
func TestAFileThatIsReplacedWhileAPersonIsAsked(t *testing.T) {
	for name, plant := range map[string]func(a *askedCall, at string) error{
		"as it was":    func(*askedCall, string) error { return nil },
		"another file": func(a *askedCall, at string) error { put(a.T, at); return nil },
		"a link":       func(a *askedCall, at string) error { return os.Symlink(a.at("kept", "k.txt"), at) },
		"nothing":      func(*askedCall, string) error { return nil },
		"a directory":  func(_ *askedCall, at string) error { return os.Mkdir(at, 0o700) },
	} {
		t.Run(name, func(t *testing.T) {
			approving(t, func(a *askedCall) {
				path := a.at("data", "one", "1.txt")
				p := saying(yes)
				p.says = func(context.Context) string {
					if name == "as it was" {
						return yes
					}
					if err := os.Rename(path, a.at("moved")); err != nil {
						t.Error(err)
					}
					if err := plant(a, path); err != nil {
						t.Error(err)
					}
					return yes
				}
				a.isAsked(p)
				if name == "as it was" { // the control
					a.passes("kid__echo", readArgs(path))
					return
				}
				a.refused("kid__echo", readArgs(path), "Access denied")
				if got := a.grants(); len(got) != 0 {
					t.Errorf("open: %+v", got)
				}
			})
		})
	}
}

// A path with blanks may stand for another one, at which there is nothing. That
// is opened alone, whatever is chosen, and the path that is meant can be allowed.
func TestAPathWithBlanksIsAskedAbout(t *testing.T) {
	for name, answer := range map[string]string{"file": yes, "directory": yesDirectory} {
		t.Run(name, func(t *testing.T) {
			approving(t, func(a *askedCall) {
				path := a.at("data", "my letters", "1.txt")
				put(a.T, path)
				p := saying(answer)
				a.isAsked(p)
				a.passes("kid__echo", readArgs(path))
				a.asks(p, 1)
				for _, g := range a.grants() {
					if g.URI == platform.Host().FormatURI(a.at("data")) || g.URI == platform.Host().FormatURI(a.at("data", "my")) && !g.File {
						t.Errorf("open: %+v", g)
					}
				}
				p.says = func(context.Context) string { return no }
				a.refused("kid__echo", readArgs(a.at("data", "one", "1.txt")), "the person said no")
				put(a.T, a.at("data", "my", "secret.txt")) // what was nothing is a directory now
				a.refused("kid__echo", readArgs(a.at("data", "my")), "the person said no")
				a.refused("kid__echo", readArgs(a.at("data", "my", "secret.txt")), "the person said no")
			})
		})
	}
}

// Of a call that names several files each is granted for its own roles.
func TestSeveralFilesAndRoles(t *testing.T) {
	approving(t, func(a *askedCall) {
		p := saying(yes)
		a.isAsked(p)
		one, two := a.at("data", "one", "1.txt"), a.at("data", "two", "2.txt")
		a.passes("kid__echo", fmt.Sprintf(`{"path":%q,"also":%q,"gone":%q}`, one, two, one))
		a.asks(p, 1)
		p.says = func(context.Context) string { return no }
		a.passes("kid__echo", deleting(one))
		a.passes("kid__echo", readArgs(two))
		a.refused("kid__echo", deleting(two), "the person said no")
		a.refused("kid__echo", writeArgs(one), "the person said no")
	})
}

// What the question gives as the rule that allows the call always does so, and
// nothing wider: not another tool, role or directory. The control is the same
// call without the rule, which is asked about.
func TestTheRuleThatAllowsItAlways(t *testing.T) {
	approving(t, func(a *askedCall) {
		dir := a.at("data", "odd_<name_é\u202e")
		put(a.T, filepath.Join(dir, "1.txt"))
		p := saying(no)
		a.isAsked(p)
		a.refused("kid__echo", readArgs(filepath.Join(dir, "1.txt")), "the person said no")
		_, line, ok := strings.Cut(strings.Join(p.asked(), ""), `before the rule "ask":`+"\n")
		if !ok || strings.Contains(line, "\n") {
			a.Fatalf("asked %q", p.asked())
		}
		for _, r := range line {
			if r < 0x20 || r > 0x7e {
				t.Errorf("the rule holds %q: %s", r, line)
			}
		}
		a.rules = slices.Insert(slices.Clone(a.rules), 3, ruleOf(t, line))
		a.reload(nil)()
		a.passes("kid__echo", readArgs(filepath.Join(dir, "1.txt")))
		a.asks(p, 1)
		a.refused("kid__env", readArgs(filepath.Join(dir, "1.txt")), "the person said no")
		a.refused("kid__echo", writeArgs(filepath.Join(dir, "1.txt")), "the person said no")
	})
}

// ruleOf reads a rule as hub.json has it.
func ruleOf(t *testing.T, line string) policy.Rule {
	t.Helper()
	list := func(raw []byte) (out []string) {
		if err := jsonrpc.Elements(raw, func(e []byte) bool {
			s, ok := jsonrpc.String(e)
			if !ok {
				t.Errorf("no string: %s", e)
			}
			out = append(out, s)
			return true
		}); err != nil {
			t.Fatal(err)
		}
		return out
	}
	at := jsonrpc.Get([]byte(line), "if")
	paths := jsonrpc.Get(at, "paths")
	within, ok := jsonrpc.String(jsonrpc.Get(paths, "within"))
	if !ok || string(jsonrpc.Get([]byte(line), "then")) != `"allow"` || fmt.Sprint(list(jsonrpc.Get(paths, "roles"))) != "[read]" {
		t.Fatalf("the rule is %s", line)
	}
	return policy.Rule{
		Name: "always", Then: policy.Allow, Servers: list(jsonrpc.Get(at, "servers")), Tools: list(jsonrpc.Get(at, "tools")),
		Paths: &policy.PathRule{Roles: []access.Role{access.Read}, Within: strings.ReplaceAll(within, "$${", "${")},
	}
}

// The record tells what an answer has opened, by what it is, and nothing if it
// was a no.
func TestTheRecordSaysWhatWasGranted(t *testing.T) {
	for name, tc := range map[string]struct {
		answer string
		want   func(a *askedCall) []audit.Granted
	}{
		"file": {yes, func(a *askedCall) []audit.Granted {
			return []audit.Granted{{File: a.at("data", "one", "1.txt"), Roles: "read"}}
		}},
		"directory": {yesDirectory, func(a *askedCall) []audit.Granted {
			return []audit.Granted{{Directory: a.at("data", "one"), Roles: "read"}}
		}},
		"deny": {no, func(*askedCall) []audit.Granted { return nil }},
	} {
		t.Run(name, func(t *testing.T) {
			approving(t, func(a *askedCall) {
				a.isAsked(saying(tc.answer))
				_, _, _ = a.try("kid__echo", readArgs(a.at("data", "one", "1.txt")))
				all, err := trail.Decisions(a.recorder.State().Dir, trail.Filter{})
				if err != nil {
					t.Fatal(err)
				}
				var granted []audit.Granted
				questions := 0
				for _, d := range all {
					if d.Kind == audit.KindQuestion {
						questions++
						granted = append(granted, d.Granted...)
					} else if len(d.Granted) > 0 {
						t.Errorf("no question: %s", d.Raw)
					}
				}
				if want := tc.want(a); questions != 2 || !slices.Equal(granted, want) {
					t.Errorf("%d questions, granted %v, want %v", questions, granted, want)
				}
			}, func(with *staging, _ *validate.Config) { with.recorded = true })
		})
	}
}
