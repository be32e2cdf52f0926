package call_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"mcphub/e2e/childtest"
	"mcphub/hub/approval"
	"mcphub/internal/jsonrpc"
	"mcphub/validate"
	"mcphub/validate/access"
	"mcphub/validate/declare"
	"mcphub/validate/policy"
)

// An askedCall is a stage with a policy that escalates, and a tree to call it about:
// root (the client's), open (a rule lets it be read), data and home (reading and
// writing them is asked about), never (a rule denies it), kept (protected).
type askedCall struct {
	*stage
	rules []policy.Rule
}

func (a *askedCall) at(names ...string) string {
	return filepath.Join(append([]string{a.base}, names...)...)
}

// put makes a file, and the directories that it is in.
func put(t testing.TB, path string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
}

// approving runs a test in a time of its own.
func approving(t *testing.T, test func(a *askedCall), change ...func(*staging, *validate.Config)) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("these are paths of Unix")
	}
	t.Parallel()
	with := oneChild(childtest.Script{})
	for _, f := range change {
		f(&with, nil)
	}
	a := &askedCall{}
	with.judge = func(s *stage, judged *validate.Config) {
		if a.stage == nil { // the first time
			a.stage = s
			for _, name := range []string{"root/in.txt", "open/o.txt", "data/one/1.txt", "data/two/2.txt", "home/h.txt", "home/sub/s.txt", "never/n.txt", "kept/k.txt"} {
				put(s.T, a.at(filepath.FromSlash(name)))
			}
			a.rules = []policy.Rule{
				{Name: "never", Then: policy.Deny, Paths: &policy.PathRule{Within: a.at("never")}},
				{Name: "read-open", Then: policy.Allow, Paths: &policy.PathRule{Roles: []access.Role{access.Read}, Within: a.at("open")}},
				{Name: "deny-open", Then: policy.Deny, Paths: &policy.PathRule{Within: a.at("open")}},
				{Name: "ask", Then: policy.Escalate, Paths: &policy.PathRule{Outside: true}},
				{Name: "ask-env", Then: policy.Escalate, Tools: []string{"env"}},
			}
		}
		judged.Home, judged.Protected, judged.Policy.Rules = a.at("home"), []string{a.at("kept")}, a.rules
		for i := range judged.Children {
			judged.Children[i].Args = map[string]map[string]declare.ArgRule{
				"*": {"/path": {Role: access.Read}, "/also": {Role: access.Read}, "/out": {Role: access.Write}, "/gone": {Role: access.Delete}},
			}
		}
		for _, f := range change {
			f(&staging{}, judged)
		}
	}
	onStage(t, with, func(s *stage) { test(a) })
}

// A person answers the questions of a client and keeps them.
type person struct {
	mu    sync.Mutex
	texts []string
	seen  chan struct{} // one for each question
	// says answers; "" leaves the question standing.
	says func(ctx context.Context) string
}

const (
	yesDirectory = `{"action":"accept","content":{"decision":"directory"}}`
	yesCall      = `{"action":"accept","content":{"decision":"call"}}`
)

func saying(answer string) *person {
	return &person{seen: make(chan struct{}, 1000), says: func(context.Context) string { return answer }}
}

// silent returns a person who does not answer, until let go with what they say then.
func silent() (p *person, letGo func(answer string)) {
	answers := make(chan string, 1000)
	p = saying("")
	p.says = func(ctx context.Context) string {
		select {
		case a := <-answers:
			return a
		case <-ctx.Done():
			return ""
		}
	}
	return p, func(answer string) { answers <- answer }
}

func (p *person) ask(ctx context.Context, params string) string {
	message, _ := jsonrpc.String(jsonrpc.Get([]byte(params), "message"))
	p.mu.Lock()
	p.texts = append(p.texts, message)
	p.mu.Unlock()
	p.seen <- struct{}{}
	return p.says(ctx)
}

func (p *person) asked() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.texts)
}

// isAsked has a person answer for the client.
func (a *askedCall) isAsked(p *person) { a.client.form, a.client.messenger.asks = true, p.ask }

// try makes a call and tells what came back and whether the child saw it.
func (a *askedCall) try(tool, args string) (msg string, denied, reached bool) {
	a.Helper()
	before := len(a.children.messagesSent("tools/call"))
	msg = a.callWaiting(fmt.Sprintf(`{"name":%q,"arguments":%s}`, tool, args))
	return msg, strings.Contains(msg, `"isError":true`), len(a.children.messagesSent("tools/call")) > before
}

// passes wants a call to reach the child, refused wants it not to, and a text.
func (a *askedCall) passes(tool, args string) {
	a.Helper()
	if msg, denied, reached := a.try(tool, args); denied || !reached {
		a.Errorf("%s %s: denied (reached %v): %s", tool, args, reached, msg)
	}
}

func (a *askedCall) refused(tool, args, want string) {
	a.Helper()
	msg, denied, reached := a.try(tool, args)
	if !denied || reached || !strings.Contains(msg, want) {
		a.Errorf("%s %s: denied %v, reached %v, want %q in: %s", tool, args, denied, reached, want, msg)
	}
}

// begin makes a call and does not wait for it.
func (a *askedCall) begin(ctx context.Context, tool, args string) (answer <-chan string) {
	out := make(chan string, 1)
	m := request(a.T, "tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, tool, args))
	go func() {
		msg := answerText(a.ServeTool(ctx, m))
		if !strings.Contains(msg, `"isError":true`) {
			msg = "ok"
		}
		out <- msg
	}()
	return out
}

func tagged(tag, args string) string {
	return fmt.Sprintf(`{"tag":%q,%s`, tag, strings.TrimPrefix(args, "{"))
}

func deleting(path string) string { return fmt.Sprintf(`{"gone":%q}`, path) }

// asks wants a number of questions so far.
func (a *askedCall) asks(p *person, n int) {
	a.Helper()
	if got := p.asked(); len(got) != n {
		a.Errorf("%d questions, want %d: %q", len(got), n, got)
	}
}

// grants returns what is open by what a person has allowed.
func (a *askedCall) grants() []approval.GrantReport { return a.Approvals.Report().Grants }

// TestTheQuestionNamesWhereALinkLeads holds that a path through a link is shown with its target, and that the target is opened.
func TestTheQuestionNamesWhereALinkLeads(t *testing.T) {
	approving(t, func(a *askedCall) {
		if err := os.Symlink(a.at("data", "one"), a.at("link")); err != nil {
			a.Fatal(err)
		}
		if err := os.Symlink(a.at("kept"), a.at("bad")); err != nil {
			a.Fatal(err)
		}
		p := saying(yesDirectory)
		a.isAsked(p)
		a.passes("kid__echo", readArgs(a.at("link", "1.txt")))
		a.asks(p, 1)
		if want := fmt.Sprintf("- to read: %q, given as %q\n", a.at("data", "one", "1.txt"), a.at("link", "1.txt")); len(p.asked()) == 1 && !strings.Contains(p.asked()[0], want) {
			a.Errorf("asked %s", p.asked()[0])
		}
		a.passes("kid__echo", readArgs(a.at("data", "one", "1.txt")))
		a.asks(p, 1)
		a.refused("kid__echo", readArgs(a.at("bad", "k.txt")), "protects")
		a.asks(p, 1)
	})
}

// What a person is never asked about: nothing could be allowed, or nothing
// that can be said exactly.
func TestNobodyIsAskedInVain(t *testing.T) {
	approving(t, func(a *askedCall) {
		p := saying(yesDirectory)
		a.isAsked(p)
		for args, want := range map[string]string{
			readArgs(a.at("never", "n.txt")):             "never",
			readArgs(a.at("kept", "k.txt")):              "protects",
			deleting(a.base):                             "",
			writeArgs(a.at("data", "not", "there", "x")): "does not exist",
			readArgs(a.at("data", "one", "not-there")):   "there is nothing at",
			deleting(a.at("home")):                       "",
			fmt.Sprintf(`{"path":%q,"also":%q}`, a.at("data", "one", "1.txt"), a.at("never", "n.txt")): "never",
			readArgs("/" + strings.Repeat("../", 2000) + "etc/hosts"):                                  "",
		} {
			a.refused("kid__echo", args, want)
		}
		a.asks(p, 0)
		if got := a.grants(); len(got) != 0 {
			t.Errorf("grants: %+v", got)
		}
		a.passes("kid__echo", readArgs(a.at("data", "one", "1.txt"))) // the control
		a.asks(p, 1)
	})
}

// A grant opens a directory, and neither what is protected below it nor what a
// rule denies there.
func TestAGrantOpensNothingThatIsDenied(t *testing.T) {
	approving(t, func(a *askedCall) {
		p := saying(yesDirectory)
		a.isAsked(p)
		put(a.T, a.at("data", "one", "kept", "k.txt"))
		put(a.T, a.at("data", "two", "never", "n.txt"))
		a.refused("kid__echo", readArgs(a.at("data", "one", "1.txt")), "without one of the answers") // its directory holds a protected one
		a.passes("kid__echo", readArgs(a.at("data", "two", "2.txt")))
		a.asks(p, 2)
		a.refused("kid__echo", readArgs(a.at("data", "one", "kept", "k.txt")), "protects")
		a.refused("kid__echo", readArgs(a.at("data", "two", "never", "n.txt")), "rule-deny")
		a.asks(p, 2)
	}, func(_ *staging, v *validate.Config) {
		if v == nil {
			return
		}
		base := filepath.Dir(v.Home)
		v.Protected = append(v.Protected, filepath.Join(base, "data", "one", "kept"))
		v.Policy.Rules = append([]policy.Rule{{Name: "inner", Then: policy.Deny, Paths: &policy.PathRule{Within: filepath.Join(base, "data", "two", "never")}}}, v.Policy.Rules...)
	})
}

// Between the question and the answer the path becomes a link, or its directory
// another one: the call is judged afresh, and nothing stays open.
func TestWhatChangesBetweenQuestionAndAnswer(t *testing.T) {
	for name, plant := range map[string]func(a *askedCall) error{
		"file to a link": func(a *askedCall) error {
			return os.Symlink(a.at("kept", "k.txt"), a.at("data", "one", "x"))
		},
		"file to a link elsewhere": func(a *askedCall) error {
			return os.Symlink(a.at("data", "two", "2.txt"), a.at("data", "one", "x"))
		},
		"directory to a link": func(a *askedCall) error {
			return os.Symlink(a.at("data", "two"), a.at("data", "one"))
		},
		"directory to another": func(a *askedCall) error {
			put(a.T, a.at("data", "one", "x"))
			return nil
		},
		"": nil, // the control
	} {
		t.Run("to "+name, func(t *testing.T) {
			approving(t, func(a *askedCall) {
				p := saying(yesDirectory)
				put(a.T, a.at("data", "one", "x"))
				put(a.T, a.at("data", "two", "x"))
				p.says = func(context.Context) string {
					if plant == nil {
						return yesDirectory
					}
					gone := a.at("data", "one")
					if strings.HasPrefix(name, "file") {
						gone = a.at("data", "one", "x")
					}
					if err := os.Rename(gone, a.at("moved")); err != nil {
						t.Error(err)
					}
					if err := plant(a); err != nil {
						t.Error(err)
					}
					return yesDirectory
				}
				a.isAsked(p)
				if plant == nil {
					a.passes("kid__echo", readArgs(a.at("data", "one", "x")))
					return
				}
				a.refused("kid__echo", readArgs(a.at("data", "one", "x")), "Access denied")
				a.asks(p, 1)
				if got := a.grants(); len(got) != 0 {
					t.Errorf("open: %+v", got)
				}
			})
		})
	}
}

// A rule about calls is lifted for the call that asked, and for no other.
func TestACallWithoutPathsIsAllowedOnce(t *testing.T) {
	approving(t, func(a *askedCall) {
		p := saying(yesCall)
		a.isAsked(p)
		a.passes("kid__env", `{"name":"HOME"}`)
		a.passes("kid__env", `{"name":"HOME"}`)
		a.asks(p, 2)
		if !strings.Contains(p.asked()[0], "this very call is made, once") {
			t.Errorf("asked %q", p.asked()[0])
		}
		// With a path as well, and with one that another rule asks about.
		a.passes("kid__env", readArgs(a.at("root", "in.txt")))
		a.passes("kid__env", readArgs(a.at("root", "in.txt")))
		a.asks(p, 4)
		if want := fmt.Sprintf("It also names what needs no approval of its own:\n- to read: %q\n\nIts arguments are: {\"path\":", a.at("root", "in.txt")); !strings.Contains(p.asked()[3], want) {
			a.Errorf("asked %s", p.asked()[3])
		}
		if got := a.grants(); len(got) != 0 {
			t.Errorf("grants: %+v", got)
		}
		p.says = func(context.Context) string { return yes }
		a.refused("kid__env", `{"name":"HOME"}`, "without one of the answers") // there is no directory to it
		a.passes("kid__env", fmt.Sprintf(`{"path":%q,"also":%q}`, a.at("root", "in.txt"), a.at("data", "one", "1.txt")))
		a.asks(p, 6)
		if got := a.grants(); len(got) != 1 {
			t.Errorf("grants: %+v", got)
		}
		p.says = func(context.Context) string { return no }
		a.refused("kid__env", `{"name":"HOME"}`, "the person said no")
		a.refused("kid__env", fmt.Sprintf(`{"name":%q}`, strings.Repeat("x", 4000)), "too long to be shown")
		a.asks(p, 7)
	})
}

func TestPathsThatCannotBeShownWholeAreNotAskedAbout(t *testing.T) {
	approving(t, func(a *askedCall) {
		p := saying(yesDirectory)
		a.isAsked(p)
		long := a.at("data")
		for range 4 {
			long = filepath.Join(long, strings.Repeat("n", 200))
		}
		put(t, filepath.Join(long, "x"))
		a.refused("kid__echo", readArgs(filepath.Join(long, "x")), "too long to be shown")
		var all []string
		for i := range 13 { // one more than a question names
			path := a.at("data", fmt.Sprint(i), "x")
			put(t, path)
			all = append(all, fmt.Sprintf("%q", path))
		}
		a.refused("kid__echo", `{"paths":[`+strings.Join(all, ",")+`]}`, "more than a person can look over")
		a.asks(p, 0)
		odd := a.at("data", "a\nAllow everything\u202e")
		if err := os.MkdirAll(odd, 0o700); err != nil {
			if runtime.GOOS == "windows" {
				t.Skip(err) // no such names there
			}
			t.Fatal(err)
		}
		put(t, filepath.Join(odd, "x"))
		_, _, _ = a.try("kid__echo", readArgs(filepath.Join(odd, "x")))
		for _, said := range p.asked() {
			if strings.Contains(said, "\nAllow everything") || strings.Contains(said, "\u202e") {
				t.Errorf("asked %q", said)
			}
		}
	})
}
