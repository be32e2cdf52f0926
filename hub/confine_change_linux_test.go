package hub

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"mcphub/children/sandbox"
	"mcphub/e2e/childtest"
	"mcphub/e2e/seeds"
	"mcphub/internal/jsonrpc"
	"mcphub/validate"
	"mcphub/validate/access"
	"mcphub/validate/declare"
	"mcphub/validate/policy"
)

// changing is a hub with a confined server whose boundary a test changes, and what may
// be opened by now.
type changing struct {
	*testClient
	t      *testing.T
	dir    map[string]string
	judged validate.Config
	cfg    Config
	r      *rand.Rand

	roots   map[string]bool // of dir
	rules   int             // of the policy: none; docs may be read; also, what lies in asked is asked about
	search  bool            // paths are looked for in calls
	granted bool            // asked/file
	moved   []string        // what was once instead of something
}

func newChanging(t *testing.T) *changing {
	m := &changing{t: t, r: seeds.Rand(t), roots: map[string]bool{"a": true}}
	m.testClient, m.dir = confinedHub(t, sandbox.Required, func(v *validate.Config, _ map[string]string) { m.judged = *v })
	m.dir["asked"] = filepath.Join(filepath.Dir(m.dir["a"]), "asked")
	m.dir["single"] = filepath.Join(m.dir["box"], "file") // a root that is one file
	m.must(os.Mkdir(m.dir["asked"], 0o700), os.WriteFile(m.dir["asked"]+"/file", []byte("canary"), 0o600))
	m.cfg = m.hub.currentConfiguration().Settings
	m.asks = func(context.Context, *testClient, *jsonrpc.Message) jsonrpc.Answer {
		return jsonrpc.ResultAnswer([]byte(yesFile))
	}
	m.handshake(canAsk)
	return m
}

func (m *changing) must(errs ...error) {
	m.t.Helper()
	if err := errors.Join(errs...); err != nil {
		m.t.Fatal(err)
	}
}

// file returns what is read to see whether something is open.
func (m *changing) file(name string) string {
	if name == "single" {
		return m.dir[name]
	}
	return cmp.Or(m.dir[name], name) + "/file"
}

// open reports whether something is to be open.
func (m *changing) open(name string) bool {
	switch name {
	case "docs":
		return m.rules > 0
	case "asked":
		return m.granted
	}
	return m.roots[name]
}

// cat returns what the server reads. What its shell is sent is not searched for paths.
func (m *changing) cat(path string) string {
	out, _ := m.shell("cat " + path)
	return out
}

// change changes something at random, and says what.
func (m *changing) change() (what string) {
	names := []string{"a", "b", "single"}
	switch n := m.r.IntN(10); {
	case n < 4: // wider, narrower, or both
		what = "roots"
		for _, name := range names {
			m.roots[name] = m.r.IntN(2) == 0
		}
		var dirs []string
		for _, name := range names {
			if m.roots[name] {
				dirs = append(dirs, m.dir[name])
			}
		}
		m.setRoots(dirs...)
		m.must(m.conn.Notify(context.Background(), "notifications/roots/list_changed"))
	case n < 6:
		m.rules, m.search = m.r.IntN(3), m.r.IntN(2) == 0
		what = fmt.Sprintf("policy %d, paths %t", m.rules, m.search)
		m.granted = m.granted && m.rules == 2
		m.apply()
	case n < 7:
		what = "grant"
		m.rules, m.search = 2, true
		m.apply()
		if !m.granted {
			if out, failed := m.callText("kid__echo", `{"path":"`+m.file("asked")+`"}`); failed {
				m.t.Errorf("it was not granted: %s", out)
			}
			m.granted = true
		}
	case n < 8: // as an editor does
		name := []string{"single", "asked"}[m.r.IntN(2)]
		what = "another file " + name
		next := filepath.Join(m.dir["out"], "next")
		m.must(os.WriteFile(next, []byte("canary"), 0o600), os.Rename(next, m.file(name)))
	default:
		name := names[m.r.IntN(2)]
		what = "another directory " + name
		away := filepath.Join(m.dir["out"], strconv.Itoa(len(m.moved)))
		m.must(os.Rename(m.dir[name], away), os.Mkdir(m.dir[name], 0o700), os.WriteFile(m.file(name), []byte("canary"), 0o600))
		m.moved = append(m.moved, away)
	}
	return what
}

// apply puts the policy in force.
func (m *changing) apply() {
	m.t.Helper()
	v := m.judged
	v.Children = slices.Clone(v.Children)
	v.Children[0].Mode = declare.ModeOff
	v.Children[0].Args = map[string]map[string]declare.ArgRule{"*": {"/path": {Role: access.Read}, "/Name": {Role: access.None}}}
	if m.search {
		v.Children[0].Mode = declare.ModeStrict
	}
	rules := []policy.Rule{
		{Name: "docs", Then: policy.Allow, Paths: &policy.PathRule{Within: m.dir["docs"], Roles: []access.Role{access.Read}}},
		{Name: "ask", Then: policy.Escalate, Paths: &policy.PathRule{Within: m.dir["asked"]}},
	}
	v.Policy.Rules = rules[:m.rules]
	cfg := m.cfg
	var err error
	if cfg.Checker, err = validate.NewChecker(v); err != nil {
		m.t.Fatal(err)
	}
	apply(m.t, m.hub, cfg)
}

// check reports what can be opened and is not to be, or the other way round.
func (m *changing) check() (wrong []string) {
	for _, name := range append([]string{"a", "b", "single", "docs", "out", "asked"}, m.moved[max(0, len(m.moved)-2):]...) {
		path := m.file(name)
		if m.search { // what a call names is looked at
			out, failed := m.callText("kid__echo", `{"path":"`+path+`"}`)
			if name == "asked" && m.rules == 2 && !failed {
				m.granted = true // the person has said so again
			}
			if !failed != m.open(name) {
				wrong = append(wrong, fmt.Sprintf("%s is to be open %t, and naming it is answered %s", name, m.open(name), out))
			}
		}
		if out := m.cat(path); strings.Contains(out, "canary") != m.open(name) {
			wrong = append(wrong, fmt.Sprintf("%s is to be open %t, and reading it is answered %s", name, m.open(name), out))
		}
	}
	return wrong
}

// TestConfinedChanges changes roots, policy and grants at random, puts other files and
// directories in their place, and has others call meanwhile. No call is lost, and none
// that follows a change opens what is not open any more, or misses what is. What counts
// is what the server has opened. MCPHUB_LONG_CASES says how many changes.
func TestConfinedChanges(t *testing.T) {
	changes := seeds.Cases(t, 12)
	m := newChanging(t)
	m.apply()
	m.cat(m.file("a"))
	ctx, endCalls := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	var mu sync.Mutex
	var lost []string
	for _, params := range []string{toolCall("kid__echo", `{"text":"x"}`), toolCall("kid__shell", `{"Name":"for i in $(seq 999); do :; done; cat /none; echo"}`)} {
		wg.Go(func() {
			for ctx.Err() == nil {
				resp, err := m.conn.Call(context.Background(), "tools/call", []byte(params))
				if err != nil || resp.Err() != nil || strings.Contains(string(resp.Result), `"isError":true`) {
					mu.Lock()
					lost = append(lost, fmt.Sprint(err, resp))
					mu.Unlock()
					return
				}
				resp.Release()
			}
		})
	}
	seen := map[string]int{}
	for i := range changes {
		what := m.change()
		seen[strings.Fields(what)[0]]++
		for _, wrong := range m.check() {
			t.Errorf("change %d, %s: %s", i, what, wrong)
		}
		if t.Failed() {
			break
		}
	}
	endCalls()
	wg.Wait()
	if len(lost) > 0 {
		t.Errorf("calls were lost: %q", lost)
	}
	t.Log(slices.Sorted(maps.Keys(seen)), seen)
}

// TestConfinedHubAsAnotherUser runs a hub with confined servers as a user without rights.
func TestConfinedHubAsAnotherUser(t *testing.T) {
	t.Parallel()
	childtest.AsAnotherUser(t,
		"TestTheKernelHoldsTheBoundary", "TestTheKernelCannotHold", "TestAGrantedFileIsOpened",
		"TestConfinedChanges", "TestWithoutLandlock")
}
