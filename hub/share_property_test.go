package hub

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"mcphub/children/spec"
	"mcphub/e2e/childtest"
	"mcphub/e2e/seeds"
)

// step is one thing that happens to a Hub in the model.
type step struct {
	what    string // open, close, change, call, wait, reload, restart
	session int
	roots   int // index of a list of roots
	around  int // index of surroundings
	child   string
	wait    time.Duration
}

// theater is the Hub beside the model of what must hold.
type theater struct {
	t          *testing.T
	h          *Hub
	s          *stage
	lists      [][]string // of roots
	configured string
	open       map[int]*actress
	owner      map[*actor]int // whose own process it is
	called     int
	variants   map[spec.Entry]bool // that there were
	cfg        Config
	args       string           // that the children have by now
	since      map[string]int64 // when each was last restarted, as stage.launched counts
	wrong      []string
}

// environs are the environs of sessions: the hub's own; two that only a terminal tells apart; another.
var environs = [][]string{nil, {"LANG=a", "TERM=1"}, {"TERM=2", "LANG=a"}, {"LANG=b", "TERM=1"}}

// inAny reads settings in other surroundings.
func inAny(cfg Config) func(*Surroundings) (Config, error) {
	return func(a *Surroundings) (Config, error) {
		in := cfg
		in.Environ, in.Dir = a.Environ, a.Dir
		return in, nil
	}
}

// of returns the value of a variable in some surroundings.
func (m *theater) of(name string, environ []string) string {
	if environ == nil {
		environ = m.cfg.Environ
	}
	for _, pair := range environ {
		if value, ok := strings.CutPrefix(pair, name+"="); ok {
			return value
		}
	}
	return ""
}

// actress is one open session.
type actress struct {
	id    int // no two sessions have the same
	c     *testClient
	leave func()
	roots []string
	env   []string
}

func (m *theater) fail(format string, args ...any) {
	m.wrong = append(m.wrong, fmt.Sprintf(format, args...))
}

func (m *theater) do(st step) {
	a := m.open[st.session]
	switch {
	case st.what == "wait":
		time.Sleep(st.wait)
	case st.what == "open" && a == nil:
		a = &actress{id: m.called, roots: m.lists[st.roots], env: environs[st.around]}
		a.c, a.leave = enterFrom(m.t, m.h, Surroundings{Environ: a.env}, a.roots...)
		a.c.handshake(declared)
		m.open[st.session] = a
	case st.what == "reload":
		m.args = strconv.Itoa(m.called)
		cfg := m.cfg
		cfg.Children = slices.Clone(cfg.Children)
		for i := range cfg.Children {
			cfg.Children[i].Spec.Args = []string{m.args}
		}
		cfg.ForSurroundings = inAny(cfg)
		if _, err := m.h.Apply(m.t.Context(), cfg); err != nil {
			m.fail("%v", err)
		}
	case st.what == "restart":
		n, _ := m.s.count("")
		if _, err := m.h.RestartServer(m.t.Context(), st.child); err != nil {
			m.fail("%v", err)
		}
		m.since[st.child] = int64(n)
	case a == nil:
	case st.what == "close":
		a.leave()
		delete(m.open, st.session)
	case st.what == "change":
		a.roots = m.lists[st.roots]
		a.c.change(a.roots...)
	case st.what == "call":
		m.call(a, st.child)
	}
	m.called++
	for _, st := range m.h.sup.Status() {
		m.variants[st.Entry()] = true
	}
	m.instances(st.what == "wait" && st.wait > 16*time.Minute)
}

// call makes a call without a path, which only sharing sends anywhere, and
// checks by whom it was served.
func (m *theater) call(a *actress, child string) {
	tag := strconv.Itoa(m.called)
	msg, bad := text(a.c.raw("tools/call", toolCall(child+"__echo", fmt.Sprintf(`{"tag":%q}`, tag))))
	got := m.s.who(tag)
	if bad || got == nil {
		m.fail("%s: not served: %s", child, msg)
		return
	}
	if was, is := m.of("LANG", got.env), m.of("LANG", a.env); was != is || child == "own" && m.of("TERM", got.env) != m.of("TERM", a.env) {
		m.fail("%s: a session in %q was served by a process in %q", child, a.env, got.env)
	}
	if m.args != strings.Join(got.args, " ") {
		m.fail("%s: served by %q after a reload to %s", child, got.args, m.args)
	}
	if at := m.s.number(got); at < m.since[child] {
		m.fail("%s: served by run %d, restarted after %d", child, at, m.since[child])
	}
	mine := strings.Join(a.roots, "\n")
	switch child {
	case "own":
		if by, known := m.owner[got]; known && by != a.id {
			m.fail("the process of session %d served session %d", by, a.id)
		}
		m.owner[got] = a.id
	case "roots":
		if got.roots != mine {
			m.fail("a session with roots %q was served by a process with %q", mine, got.roots)
		}
	case "all":
		if got.roots != m.configured {
			m.fail("what serves everybody has roots %q", got.roots)
		}
	}
}

// instances checks that what runs is held, or not yet idle for its time.
func (m *theater) instances(settled bool) {
	if !settled {
		return
	}
	synctest.Wait()
	want := map[string]bool{}
	for _, a := range m.open {
		want["own "+strconv.Itoa(a.id)] = true
		want["all in "+m.of("LANG", a.env)] = true
		want["roots in "+m.of("LANG", a.env)+" "+strings.Join(a.roots, "\n")] = true
	}
	if got := m.h.sup.Status(); len(got) != len(want) {
		m.fail("%d instances where %d sessions need %d: %v", len(got), len(m.open), len(want), got)
	}
}

// act plays steps and returns what was wrong.
func act(t *testing.T, steps []step, lists [][]string, configured string, mutate func(specs []spec.Spec)) (wrong []string) {
	specs := []spec.Spec{
		played("own", spec.ShareSession, childtest.Script{AskRoots: true}),
		played("roots", spec.ShareRoots, childtest.Script{}),
		played("all", spec.ShareAll, childtest.Script{AskRoots: true}),
	}
	if mutate != nil {
		mutate(specs)
	}
	playWith(t, specs, playOptions{fallback: configured}, func(t *testing.T, h *Hub, s *stage) {
		cfg := h.currentConfiguration().Settings
		cfg.ForSurroundings = inAny(cfg)
		if _, err := h.Apply(t.Context(), cfg); err != nil {
			t.Fatal(err)
		}
		m := &theater{t: t, h: h, s: s, cfg: cfg, variants: map[spec.Entry]bool{}, since: map[string]int64{}, lists: lists, configured: configured, open: map[int]*actress{}, owner: map[*actor]int{}}
		for _, st := range steps {
			m.do(st)
		}
		for i := range m.open {
			m.do(step{what: "close", session: i})
		}
		m.do(step{what: "wait", wait: 17 * time.Minute})
		nothingLeft(t, h, s)
		if n, _ := h.surroundings.Counts(); n != 0 {
			m.fail("%d surroundings are left of sessions that have ended", n)
		}
		for of := range m.variants {
			if of.Variant != "" && h.sup.Join(spec.Key{Child: of.Child, Variant: of.Variant}) != 0 {
				m.fail("%s could be started in surroundings that nobody has any more", of.Child)
			}
		}
		wrong = m.wrong
	})
	return wrong
}

// rootLists are lists of roots that differ in what they hold, and in order.
func rootLists(t *testing.T) (lists [][]string, configured string) {
	one, two := t.TempDir(), t.TempDir()
	return [][]string{{one}, {two}, {one, two}, {two, one}, {}}, t.TempDir()
}

// TestSharingProperty opens and closes sessions, changes their roots and makes
// calls right behind, at random. MCPHUB_LONG_CASES says how many runs.
func TestSharingProperty(t *testing.T) {
	lists, configured := rootLists(t)
	cases := seeds.Cases(t, 100)
	one := rapid.Custom(func(t *rapid.T) step {
		return step{
			what:    rapid.SampledFrom([]string{"open", "open", "open", "close", "change", "change", "call", "call", "call", "call", "call", "call", "wait", "reload", "restart"}).Draw(t, "what"),
			session: rapid.IntRange(0, 4).Draw(t, "session"),
			roots:   rapid.IntRange(0, len(lists)-1).Draw(t, "roots"),
			around:  rapid.IntRange(0, len(environs)-1).Draw(t, "around"),
			child:   rapid.SampledFrom([]string{"own", "roots", "roots", "all"}).Draw(t, "child"),
			wait:    rapid.SampledFrom([]time.Duration{time.Millisecond, time.Second, 10 * time.Minute, 17 * time.Minute}).Draw(t, "wait"),
		}
	})
	steps := rapid.SliceOfN(one, 1, 60)
	for n := range cases {
		drawn := seeds.Example(t, steps, n)
		if wrong := act(t, drawn, lists, configured, nil); len(wrong) > 0 || t.Failed() {
			t.Fatalf("run %d: %s\n%+v", n, strings.Join(wrong, "\n"), drawn)
		}
	}
}

// TestSharingPropertyNotices is its control: the same checks over Hubs that
// share what they must not.
func TestSharingPropertyNotices(t *testing.T) {
	lists, configured := rootLists(t)
	steps := []step{
		{what: "open", session: 0, roots: 0}, {what: "open", session: 1, roots: 1},
		{what: "call", session: 0, child: "own"}, {what: "call", session: 1, child: "own"},
		{what: "call", session: 0, child: "roots"}, {what: "call", session: 1, child: "roots"},
		{what: "change", session: 0, roots: 1}, {what: "call", session: 0, child: "roots"},
		{what: "call", session: 0, child: "all"}, {what: "wait", wait: 17 * time.Minute},
	}
	if wrong := act(t, steps, lists, configured, nil); len(wrong) > 0 {
		t.Fatalf("rightly shared: %q", wrong)
	}
	for i, c := range []struct {
		child string
		share spec.Share // that it must not have
		want  string
	}{
		{"own", spec.ShareAll, "process of session"},
		{"roots", spec.ShareAll, "was served by a process with"},
		{"all", spec.ShareRoots, "serves everybody"},
	} {
		wrong := act(t, steps, lists, configured, func(specs []spec.Spec) {
			specs[i].Share, specs[i].IdleTimeout = c.share, 15*time.Minute
		})
		if got := strings.Join(wrong, "\n"); !strings.Contains(got, c.want) {
			t.Errorf("%s shared by %s: %q, want something about %q", c.child, c.share, got, c.want)
		}
	}
}
