package hub

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"mcphub/children/childtest"
	"mcphub/children/spec"
	"mcphub/hub/approval"
	"mcphub/internal/audit"
	"mcphub/internal/audit/trail"
	"mcphub/internal/jsonrpc"
	"mcphub/rootsmgr/platform"
	"mcphub/validate"
	"mcphub/validate/access"
	"mcphub/validate/policy"
)

// A file opens itself: not what lies beside it, not for another role, another
// server or another session. The control is the directory, which opens what lies
// beside it.
func TestAFileOpensItselfAlone(t *testing.T) {
	for name, answer := range map[string]string{"file": yesFile, "directory": yes} {
		t.Run(name, func(t *testing.T) {
			specs := []spec.Spec{
				played("kid", spec.ShareSession, childtest.Script{AskRoots: true}),
				played("other", spec.ShareSession, childtest.Script{AskRoots: true}),
			}
			approving(t, specs, func(a *askedHub) {
				config, key := a.at("ssh", "config"), a.at("ssh", "id_rsa")
				write(a, config)
				write(a, key)
				p := saying(answer)
				c, _ := a.client(p)
				a.passes(c, "kid__echo", reading(config))
				a.passes(c, "kid__echo", reading(config)) // it is asked about once
				a.asks(p, 1)
				p.says = func(context.Context, *jsonrpc.Message) string { return no }
				if name == "directory" {
					a.passes(c, "kid__echo", reading(key))
				} else {
					a.refused(c, "kid__echo", reading(key), "the person said no")
				}
				want := approval.GrantReport{URI: platform.Host().FormatURI(config), Server: "kid", Lifetime: "session", Roles: []string{"read"}, File: true}
				if name == "directory" {
					want.URI, want.File, want.Served = platform.Host().FormatURI(a.at("ssh")), false, true
				}
				if got := c.grants(t); fmt.Sprint(got) != fmt.Sprint([]approval.GrantReport{want}) {
					t.Errorf("grants %+v, want %+v", got, want)
				}
				served, _ := text(c.raw("tools/call", toolCall("kid__roots", `{}`)))
				if strings.Contains(served, "ssh") != (name == "directory") {
					t.Errorf("the child has the roots %s", served)
				}
				a.refused(c, "kid__echo", writing(config), "the person said no")
				a.refused(c, "other__echo", reading(config), "the person said no")
				d, _ := a.client(p)
				a.refused(d, "kid__echo", reading(config), "the person said no")
			})
		})
	}
}

// A link in the place of a granted file, or of its folder, is not followed: what
// was granted is the file that the question named. The control is the same call
// before the link was there.
func TestALinkInThePlaceOfAGrantedFile(t *testing.T) {
	for name, swap := range map[string]func(a *askedHub) error{
		"the file": func(a *askedHub) error {
			if err := os.Remove(a.at("ssh", "config")); err != nil {
				return err
			}
			return os.Symlink(a.at("ssh", "id_rsa"), a.at("ssh", "config"))
		},
		"the file to another place": func(a *askedHub) error {
			if err := os.Remove(a.at("ssh", "config")); err != nil {
				return err
			}
			return os.Symlink(a.at("data", "one", "1.txt"), a.at("ssh", "config"))
		},
		"its folder": func(a *askedHub) error {
			if err := os.Rename(a.at("ssh"), a.at("moved")); err != nil {
				return err
			}
			write(a, a.at("data", "one", "config"))
			return os.Symlink(a.at("data", "one"), a.at("ssh"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			approving(t, nil, func(a *askedHub) {
				config := a.at("ssh", "config")
				write(a, config)
				write(a, a.at("ssh", "id_rsa"))
				p := saying(yesFile)
				c, _ := a.client(p)
				a.passes(c, "kid__echo", reading(config))
				p.says = func(context.Context, *jsonrpc.Message) string { return no }
				a.passes(c, "kid__echo", reading(config)) // the control
				if err := swap(a); err != nil {
					t.Fatal(err)
				}
				a.refused(c, "kid__echo", reading(config), "the person said no")
				a.asks(p, 2)
			})
		})
	}
}

// Between the question and the answer the file becomes another one, or a link:
// nothing is opened.
func TestAFileThatIsReplacedWhileAPersonIsAsked(t *testing.T) {
	for name, plant := range map[string]func(a *askedHub, at string) error{
		"as it was":    func(*askedHub, string) error { return nil },
		"another file": func(a *askedHub, at string) error { write(a, at); return nil },
		"a link":       func(a *askedHub, at string) error { return os.Symlink(a.at("kept", "k.txt"), at) },
		"nothing":      func(*askedHub, string) error { return nil },
		"a directory":  func(_ *askedHub, at string) error { return os.Mkdir(at, 0o700) },
	} {
		t.Run(name, func(t *testing.T) {
			approving(t, nil, func(a *askedHub) {
				path := a.at("data", "one", "1.txt")
				p := saying(yesFile)
				p.says = func(context.Context, *jsonrpc.Message) string {
					if name == "as it was" {
						return yesFile
					}
					if err := os.Rename(path, a.at("moved")); err != nil {
						t.Error(err)
					}
					if err := plant(a, path); err != nil {
						t.Error(err)
					}
					return yesFile
				}
				c, _ := a.client(p)
				if name == "as it was" { // the control
					a.passes(c, "kid__echo", reading(path))
					return
				}
				a.refused(c, "kid__echo", reading(path), "Access denied")
				if got := c.grants(t); len(got) != 0 {
					t.Errorf("open: %+v", got)
				}
			})
		})
	}
}

// A path with blanks may stand for another one, at which there is nothing. That
// is opened alone, whatever is chosen, and the path that is meant can be allowed.
func TestAPathWithBlanksIsAskedAbout(t *testing.T) {
	for name, answer := range map[string]string{"file": yesFile, "directory": yes} {
		t.Run(name, func(t *testing.T) {
			approving(t, nil, func(a *askedHub) {
				path := a.at("data", "my letters", "1.txt")
				write(a, path)
				p := saying(answer)
				c, _ := a.client(p)
				a.passes(c, "kid__echo", reading(path))
				a.asks(p, 1)
				for _, g := range c.grants(t) {
					if g.URI == platform.Host().FormatURI(a.at("data")) || g.URI == platform.Host().FormatURI(a.at("data", "my")) && !g.File {
						t.Errorf("open: %+v", g)
					}
				}
				p.says = func(context.Context, *jsonrpc.Message) string { return no }
				a.refused(c, "kid__echo", reading(a.at("data", "one", "1.txt")), "the person said no")
				write(a, a.at("data", "my", "secret.txt")) // what was nothing is a directory now
				a.refused(c, "kid__echo", reading(a.at("data", "my")), "the person said no")
				a.refused(c, "kid__echo", reading(a.at("data", "my", "secret.txt")), "the person said no")
			})
		})
	}
}

// Of a call that names several files each is granted for its own roles.
func TestSeveralFilesAndRoles(t *testing.T) {
	approving(t, nil, func(a *askedHub) {
		p := saying(yesFile)
		c, _ := a.client(p)
		one, two := a.at("data", "one", "1.txt"), a.at("data", "two", "2.txt")
		a.passes(c, "kid__echo", fmt.Sprintf(`{"path":%q,"also":%q,"gone":%q}`, one, two, one))
		a.asks(p, 1)
		p.says = func(context.Context, *jsonrpc.Message) string { return no }
		a.passes(c, "kid__echo", deleting(one))
		a.passes(c, "kid__echo", reading(two))
		a.refused(c, "kid__echo", deleting(two), "the person said no")
		a.refused(c, "kid__echo", writing(one), "the person said no")
	})
}

// What the question gives as the rule that allows the call always does so, and
// nothing wider: not another tool, role or directory. The control is the same
// call without the rule, which is asked about.
func TestTheRuleThatAllowsItAlways(t *testing.T) {
	var judged validate.Config
	approving(t, []spec.Spec{played("kid", spec.ShareSession, childtest.Script{AskRoots: true})}, func(a *askedHub) {
		dir := a.at("data", "odd_<name_é\u202e")
		write(a, filepath.Join(dir, "1.txt"))
		p := saying(no)
		c, _ := a.client(p)
		a.refused(c, "kid__echo", reading(filepath.Join(dir, "1.txt")), "the person said no")
		_, line, ok := strings.Cut(strings.Join(p.asked(), ""), `before the rule "ask":`+"\n")
		if !ok || strings.Contains(line, "\n") {
			a.Fatalf("asked %q", p.asked())
		}
		for _, r := range line {
			if r < 0x20 || r > 0x7e {
				t.Errorf("the rule holds %q: %s", r, line)
			}
		}
		cfg := a.h.now().Settings
		judged.Policy.Rules = slices.Insert(slices.Clone(judged.Policy.Rules), 3, ruleOf(t, line))
		var err error
		if cfg.Checker, err = validate.NewChecker(judged); err != nil {
			t.Fatal(err)
		}
		apply(a.T, a.h, cfg)
		a.passes(c, "kid__echo", reading(filepath.Join(dir, "1.txt")))
		a.asks(p, 1)
		a.refused(c, "kid__env", reading(filepath.Join(dir, "1.txt")), "the person said no")
		a.refused(c, "kid__echo", writing(filepath.Join(dir, "1.txt")), "the person said no")
	}, func(_ *Config, v *validate.Config) { judged = *v })
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

// The record tells what an answer has opened, by what it is, and nothing where
// it was a no.
func TestTheRecordSaysWhatWasGranted(t *testing.T) {
	for name, tc := range map[string]struct {
		answer string
		want   func(a *askedHub) string
	}{
		"file": {yesFile, func(a *askedHub) string {
			return fmt.Sprint([]audit.Granted{{File: a.at("data", "one", "1.txt"), Roles: "read"}})
		}},
		"directory": {yes, func(a *askedHub) string {
			return fmt.Sprint([]audit.Granted{{Directory: a.at("data", "one"), Roles: "read"}})
		}},
		"deny": {no, func(*askedHub) string { return "[]" }},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "audit")
			var want string
			synctest.Test(t, func(t *testing.T) {
				a := &askedHub{T: t, s: newStage()}
				cfg := a.config([]spec.Spec{played("kid", spec.ShareSession, childtest.Script{AskRoots: true})})
				cfg.Launcher = a.s
				cfg.Audit.Recorder = audit.NewRecorder(audit.Options{Dir: dir}, nil)
				if err := cfg.Audit.Recorder.Open(); err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithCancel(context.Background())
				done := make(chan error, 1)
				go func() { done <- cfg.Audit.Recorder.Run(ctx) }()
				t.Cleanup(func() { // after the hub, which ends first
					cancel()
					if err := <-done; err != nil {
						t.Error(err)
					}
				})
				a.h = runHub(t, cfg)
				c, _ := a.client(saying(tc.answer))
				_, _, _ = a.try(c, "kid__echo", reading(a.at("data", "one", "1.txt")))
				want = tc.want(a)
			})
			all, err := trail.Decisions(dir, trail.Filter{})
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
			if questions != 2 || fmt.Sprint(granted) != want {
				t.Errorf("%d questions, granted %v, want %s", questions, granted, want)
			}
		})
	}
}
