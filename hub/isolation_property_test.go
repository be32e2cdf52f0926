package hub

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
	"pgregory.net/rapid"

	"mcphub/children/launch"
	"mcphub/children/link"
	"mcphub/children/process"
	"mcphub/children/spec"
	"mcphub/e2e/childtest"
	"mcphub/e2e/seeds"
	"mcphub/internal/jsonrpc"
)

// Whatever is one session's alone bears its name, secretOf, in this test: its arguments, answers, questions, environment, log, and
// what its servers say. Whatever names a folder of its roots bears that folder's mark. All that goes to a client or to a server is
// looked through for names that it may not see.
const (
	secretMark = "c4n"
	folderMark = "r4t"
)

func secretOf(id int) string { return fmt.Sprintf("%s%dz", secretMark, id) }

// named returns the numbers behind a mark.
func named(text []byte, mark string) (ids []int) {
	for {
		_, rest, found := bytes.Cut(text, []byte(mark))
		if !found {
			return ids
		}
		text = rest
		if digits, _, whole := bytes.Cut(rest[:min(len(rest), 12)], []byte("z")); whole {
			if id, err := strconv.Atoi(string(digits)); err == nil {
				ids = append(ids, id)
			}
		}
	}
}

// islands are sessions of one Hub, each in surroundings of its own.
type islands struct {
	*askedHub
	*stage
	cfg   Config
	lists [][]string // of roots

	mu      sync.Mutex
	all     map[int]*island // that there ever were
	open    map[int]*island // by their place
	watched []*watched
	args    int
	bursts  int
	wrong   []string
	done    map[string]int
}

// island is one session.
type island struct {
	id       int
	c        *testClient
	leave    func()
	lang     string
	roots    []string
	had      map[string]bool // every list of roots that it had
	folders  map[int]bool    // those in them
	granted  map[string]bool
	approved int    // questions of the hub
	says     string // what its person answers when asked about a file
	about    string // in that folder
}

func (m *islands) fail(format string, args ...any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.wrong) < 10 {
		m.wrong = append(m.wrong, fmt.Sprintf(format, args...))
	}
}

// found reports whether a trip has shown anything, and notes which it was.
func (m *islands) found(n int, one trip) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.wrong) > 0 {
		m.wrong[0] = fmt.Sprintf("trip %d (%+v): %s", n, one, m.wrong[0])
	}
	return len(m.wrong) > 0
}

// sees looks through what goes to the client or to the log of a session.
func (m *islands) sees(i *island, what string, text []byte) {
	for _, id := range named(text, secretMark) {
		if id != i.id {
			m.fail("%s of session %d holds what is session %d's: %.500s", what, i.id, id, text)
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, folder := range named(text, folderMark) {
		if !i.folders[folder] {
			m.wrong = append(m.wrong, fmt.Sprintf("%s of session %d names folder %d: %.500s", what, i.id, folder, text))
		}
	}
}

// eyes look through a stream. A name may lie across two pieces.
type eyes struct {
	m    *islands
	i    *island
	what string
	mu   sync.Mutex // a log is written to by many
	rest []byte
}

func (e *eyes) Write(b []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	text := append(e.rest, b...)
	e.m.sees(e.i, e.what, text)
	e.rest = bytes.Clone(text[max(0, len(text)-20):])
	return len(b), nil
}

// teed is a stream that is looked through.
type teed struct {
	io.Reader
	io.Closer
}

// watched is one run of a server, and what it is sent.
type watched struct {
	*actor
	m     *islands
	owner int    // whose it is alone; -1: it is shared
	roots string // that it serves of a client
	crash context.CancelFunc
	ctx   context.Context

	mu     sync.Mutex
	stderr string
}

// Launch plays a server that is looked at.
func (m *islands) Launch(l launch.Launch, s spec.Spec, h jsonrpc.Handler, log zerolog.Logger) (link.ChildConnection, error) {
	w := &watched{m: m, owner: -1}
	w.ctx, w.crash = context.WithCancel(context.Background())
	run, err := m.stage.Launch(l, s, overheard{h, w}, log)
	if err != nil {
		return nil, err
	}
	w.actor = run.(*actor)
	w.roots = strings.Join(slices.DeleteFunc(strings.Split(w.actor.roots, "\n"), func(path string) bool { return !strings.Contains(path, folderMark) }), "\n")
	env := []byte(strings.Join(slices.Concat(l.Env, l.Args, []string{l.Dir, string(l.RootsFile)}), "\n"))
	ids := named(env, secretMark)
	switch {
	case s.Name == "own" && len(ids) > 0:
		w.owner = ids[0]
	case s.Name == "own":
		m.fail("a private server does not have what its session lets through: %s", env)
	}
	w.sees("the start", env)
	if said := l.OnStderr; said != nil {
		said(0, "started for "+secretOf(w.owner))
	}
	m.mu.Lock()
	m.watched = append(m.watched, w)
	m.done["start of "+s.Name]++
	m.mu.Unlock()
	return w, nil
}

// sees looks through what a server is sent.
func (w *watched) sees(what string, text []byte) {
	m, name := w.m, w.actor.child
	for _, id := range named(text, secretMark) {
		m.mu.Lock()
		i := m.all[id]
		m.mu.Unlock()
		switch {
		case name == "own" && id != w.owner, name != "own" && what == "the start":
			m.fail("%s of a server %s of %d holds what is session %d's: %.500s", what, name, w.owner, id, text)
		case name == "roots" && !i.hasHad(m, w.roots):
			m.fail("%s of a server with roots %q holds what is session %d's, which never had them", what, w.roots, id)
		}
		w.mu.Lock()
		w.stderr = "last words for " + secretOf(id)
		w.mu.Unlock()
	}
	for _, folder := range named(text, folderMark) {
		allowed := name == "roots" && slices.Contains(named([]byte(w.roots), folderMark), folder)
		if name == "own" {
			m.mu.Lock()
			i := m.all[w.owner]
			allowed = i != nil && i.folders[folder]
			m.mu.Unlock()
		}
		if !allowed {
			m.fail("%s of a server %s (of %d, roots %q) names folder %d: %.500s", what, name, w.owner, w.roots, folder, text)
		}
	}
}

func (i *island) hasHad(m *islands, roots string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return i != nil && i.had[roots]
}

func (w *watched) Run(ctx context.Context) error {
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(w.ctx, cancel)()
	err := w.actor.Run(inner)
	if ctx.Err() == nil && w.ctx.Err() != nil {
		return &process.ExitError{Text: "was killed", Code: -1}
	}
	return err
}

func (w *watched) Call(ctx context.Context, method string, params ...[]byte) (*jsonrpc.Response, error) {
	w.sees(method, slices.Concat(params...))
	return w.actor.Call(ctx, method, params...)
}

func (w *watched) Notify(ctx context.Context, method string, params ...[]byte) error {
	w.sees(method, slices.Concat(params...))
	return w.actor.Notify(ctx, method, params...)
}

func (w *watched) Facts() link.ConnectionFacts {
	f := w.actor.Facts()
	w.mu.Lock()
	defer w.mu.Unlock()
	f.Stderr = w.stderr
	return f
}

// overheard looks through what a server is answered.
type overheard struct {
	jsonrpc.Handler
	w *watched
}

func (o overheard) ServeRequest(ctx context.Context, m *jsonrpc.Message) jsonrpc.Answer {
	method := m.Method
	answer := o.Handler.ServeRequest(ctx, m)
	o.w.sees("the answer to "+method, slices.Concat(answer.Result, answer.Error))
	return answer
}

// trip is one thing that happens.
type trip struct {
	what    string
	session int
	roots   int
	lang    int
	child   string
	data    string // the folder of a call that is asked about
	says    string // by the person
	wait    time.Duration
}

var talks = []string{"echo", "echo", "ask", "say", "progress", "roots", "noticed", "path"}

func (m *islands) do(t trip) {
	i := m.open[t.session]
	m.mu.Lock()
	m.done[t.what]++
	m.mu.Unlock()
	switch {
	case t.what == "wait":
		time.Sleep(t.wait)
	case t.what == "open" && i == nil:
		m.enter(t)
	case t.what == "reload":
		m.args++
		cfg := m.cfg
		cfg.Children = slices.Clone(cfg.Children)
		for k := range cfg.Children {
			cfg.Children[k].Spec.Args = []string{strconv.Itoa(m.args)}
		}
		cfg.ForSurroundings = inAny(cfg)
		if _, err := m.h.Apply(m.T.Context(), cfg); err != nil {
			m.fail("%v", err)
		}
	case t.what == "restart":
		if _, err := m.h.RestartServer(m.T.Context(), t.child); err != nil {
			m.fail("%v", err)
		}
	case t.what == "crash":
		m.crash(t.child)
		m.calm()
	case t.what == "burst":
		m.burst(t)
		m.calm()
	case i == nil:
	case t.what == "leave":
		m.exit(t)
	case t.what == "break off":
		m.mu.Lock()
		i.had[""] = true // if it is not told its roots any more, it has none
		m.mu.Unlock()
		for _, child := range []string{"own", "roots", "all"} {
			go func() {
				_, _ = i.c.conn.Call(context.Background(), "tools/call", []byte(toolCall(child+"__sleep", fmt.Sprintf(`{"x":%q}`, secretOf(i.id)))))
			}()
		}
		m.exit(t)
	case t.what == "change":
		m.gives(i, m.lists[t.roots])
		i.c.change(i.roots...)
	default:
		m.talk(i, t, t.what, t.child, false)
	}
}

func (m *islands) exit(t trip) {
	m.open[t.session].leave()
	delete(m.open, t.session)
}

// gives has a session have other roots from now on.
func (m *islands) gives(i *island, roots []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	i.roots = roots
	i.had[strings.Join(roots, "\n")] = true
	for _, folder := range named([]byte(strings.Join(roots, "\n")), folderMark) {
		i.folders[folder] = true
	}
}

func (m *islands) enter(t trip) {
	m.mu.Lock()
	i := &island{id: len(m.all) + 1, lang: []string{"a", "b"}[t.lang], had: map[string]bool{}, folders: map[int]bool{}, granted: map[string]bool{}}
	m.all[i.id] = i
	m.mu.Unlock()
	m.gives(i, m.lists[t.roots])
	log := zerolog.New(&eyes{m: m, i: i, what: "the log"}).Level(zerolog.DebugLevel)
	around := Surroundings{Environ: []string{"LANG=" + i.lang, "CANARY=" + secretOf(i.id), "TERM=vt100"}, Dir: m.at("home"), Log: &log}
	toHub, fromClient := io.Pipe()
	toClient, fromHub := io.Pipe()
	i.c = &testClient{t: m.T, hub: m.h, raws: fromClient, notes: make(chan string, 1000), progress: make(chan string, 1000)}
	i.c.hears = func(*jsonrpc.Message) {}
	i.c.asks = func(_ context.Context, _ *testClient, q *jsonrpc.Message) jsonrpc.Answer {
		if text, _ := jsonrpc.String(q.Param("message")); strings.Contains(text, "question for "+secretMark) {
			return jsonrpc.ResultAnswer([]byte(fmt.Sprintf(`{"action":"accept","content":{"word":%q}}`, secretOf(i.id))))
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		i.approved++
		if i.says != no {
			i.granted[i.about] = true
		}
		return jsonrpc.ResultAnswer([]byte(i.says))
	}
	i.c.setRoots(i.roots...)
	i.c.conn = jsonrpc.NewConn(teed{io.TeeReader(toClient, &eyes{m: m, i: i, what: "what the client gets"}), toClient}, fromClient, i.c, jsonrpc.ConnOptions{})
	i.leave = i.c.join(func() { _ = m.h.ServeStdio(context.Background(), toHub, fromHub, around) })
	i.c.handshake(`{"roots":{"listChanged":true},"elicitation":{}}`)
	m.open[t.session] = i
}

// crash kills a run of a server.
func (m *islands) crash(child string) {
	m.mu.Lock()
	var all []*watched
	for _, w := range m.watched {
		if w.actor.child == child && w.ctx.Err() == nil {
			all = append(all, w)
		}
	}
	m.watched = slices.DeleteFunc(m.watched, func(w *watched) bool { return w.ctx.Err() != nil })
	m.mu.Unlock()
	if len(all) > 0 {
		all[len(all)-1].crash()
	}
}

// calm waits until what happened has been noticed, and a server that crashed may start again.
func (m *islands) calm() {
	synctest.Wait()
	time.Sleep(3 * time.Minute)
}

// burst has all sessions call at a time, and a server crash meanwhile.
func (m *islands) burst(t trip) {
	m.bursts++
	var wg sync.WaitGroup
	crashes := m.bursts%3 == 0
	for _, i := range m.open {
		for k, child := range []string{"all", "roots", "own", t.child} {
			wg.Go(func() { m.talk(i, t, talks[(k+i.id+m.bursts)%len(talks)], child, crashes) })
		}
	}
	if crashes {
		wg.Go(func() { m.crash(t.child) })
	}
	wg.Wait()
}

// talk makes one call, and looks whether the answer is its own.
func (m *islands) talk(i *island, t trip, what, child string, mayFail bool) {
	secret := secretOf(i.id)
	var params string
	want := secret
	switch what {
	case "ask":
		params = toolCall(child+"__ask", fmt.Sprintf(`{"method":"elicitation/create","params":{"message":"question for %s","requestedSchema":{"type":"object","properties":{"word":{"type":"string"}}}}}`, secret))
		if child != "own" {
			want = "" // it may not
		}
	case "say":
		params = toolCall(child+"__say", fmt.Sprintf(`{"method":"notifications/message","params":{"level":"error","data":%q},"times":2}`, secret))
		want = ""
	case "progress":
		params = fmt.Sprintf(`{"name":%q,"arguments":{"Steps":2,"x":%q},"_meta":{"progressToken":%q}}`, child+"__progress", secret, secret)
		want = ""
	case "roots":
		params, want = toolCall(child+"__roots", `{}`), ""
	case "noticed":
		if child != "own" { // it would tell what it was told by others
			return
		}
		params, want = toolCall(child+"__noticed", `{}`), ""
	case "path":
		m.path(i, t)
		return
	default:
		params = toolCall(child+"__echo", fmt.Sprintf(`{"x":%q}`, secret))
	}
	resp, err := i.c.conn.Call(context.Background(), "tools/call", []byte(params))
	if err != nil {
		m.fail("%s of %s for session %d: %v", what, child, i.id, err)
		return
	}
	m.mu.Lock()
	m.done[what+" answered"]++
	m.mu.Unlock()
	got := string(resp.Result)
	if e := resp.Err(); e != nil {
		got = e.Message
	}
	if !strings.Contains(got, want) && !mayFail {
		m.fail("%s of %s for session %d: %s", what, child, i.id, got)
	}
}

// path makes a call that a person is asked about, unless this session has leave.
func (m *islands) path(i *island, t trip) {
	m.mu.Lock()
	i.says, i.about = t.says, t.data
	before := i.approved
	m.mu.Unlock()
	resp, err := i.c.conn.Call(context.Background(), "tools/call", []byte(toolCall("own__echo", fmt.Sprintf(`{"path":%q,"x":%q}`, m.at("data", t.data, map[string]string{"one": "1.txt", "two": "2.txt"}[t.data]), secretOf(i.id)))))
	if err != nil {
		m.fail("a call with a path: %v", err)
		return
	}
	_, bad := text(string(resp.Result))
	served := resp.Err() == nil && !bad
	m.mu.Lock()
	asked := i.approved > before
	leave := i.granted[t.data]
	m.done[fmt.Sprintf("path served %t asked %t", served, asked)]++
	m.mu.Unlock()
	if served && !leave {
		m.fail("session %d may use %s, and nobody has allowed it that", i.id, t.data)
	}
}

// voyage plays trips and returns what was wrong, and how often what was done.
func voyage(t *testing.T, trips []trip, mutate func(specs []spec.Spec)) (wrong []string, done map[string]int) {
	if runtime.GOOS == "windows" {
		t.Skip("these are paths of Unix")
	}
	specs := []spec.Spec{
		played("own", spec.ShareSession, childtest.Script{AskRoots: true, Asks: true}),
		played("roots", spec.ShareRoots, childtest.Script{Asks: true}),
		played("all", spec.ShareAll, childtest.Script{AskRoots: true, Asks: true}),
	}
	specs[0].Inherit = []string{"CANARY"}
	if mutate != nil {
		mutate(specs)
	}
	synctest.Test(t, func(t *testing.T) {
		a := &askedHub{T: t, s: newStage()}
		m := &islands{askedHub: a, stage: a.s, all: map[int]*island{}, open: map[int]*island{}, done: map[string]int{}}
		cfg := a.config(specs)
		cfg.Launcher = m
		var dirs []string
		for k := range 3 {
			dir := a.at(fmt.Sprintf("%s%dz", folderMark, k))
			if err := os.MkdirAll(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			dirs = append(dirs, filepath.Clean(dir))
		}
		m.lists = [][]string{dirs[:1], dirs[1:2], dirs[:2], dirs[2:], {}}
		m.cfg = cfg
		cfg.ForSurroundings = inAny(cfg)
		a.h = runHub(t, cfg)
		for n, one := range trips {
			m.do(one)
			if m.found(n, one) {
				break
			}
		}
		for place := range m.open {
			m.exit(trip{session: place})
		}
		m.mu.Lock()
		wrong, done = m.wrong, m.done
		m.mu.Unlock()
	})
	return wrong, done
}

// TestIslandsProperty: sessions in surroundings of their own come and go, change roots, call, ask, are approved and break off, while
// servers that are shared by all, by roots or by no one run, crash and restart: no part of one session is seen by another one's client,
// log or private server; a server that all share sees roots of none. MCPHUB_LONG_CASES says how many steps.
func TestIslandsProperty(t *testing.T) {
	steps := seeds.Cases(t, 1500)
	one := rapid.Custom(func(t *rapid.T) trip {
		return trip{
			what: rapid.SampledFrom([]string{"open", "open", "open", "leave", "break off", "change", "change", "reload", "restart", "crash", "crash", "burst", "burst", "burst", "wait",
				"echo", "echo", "ask", "ask", "say", "progress", "roots", "noticed", "path", "path", "path"}).Draw(t, "what"),
			session: rapid.IntRange(0, 4).Draw(t, "session"),
			roots:   rapid.IntRange(0, 4).Draw(t, "roots"),
			lang:    rapid.IntRange(0, 1).Draw(t, "lang"),
			child:   rapid.SampledFrom([]string{"own", "roots", "all"}).Draw(t, "child"),
			data:    rapid.SampledFrom([]string{"one", "two"}).Draw(t, "data"),
			says:    rapid.SampledFrom([]string{yes, yesFile, no}).Draw(t, "says"),
			wait:    rapid.SampledFrom([]time.Duration{time.Millisecond, time.Second, time.Minute, 17 * time.Minute}).Draw(t, "wait"),
		}
	})
	trips := rapid.SliceOfN(one, 200, 300)
	all := map[string]int{}
	began, taken := time.Now(), 0
	for n := range max(steps/200, 1) { // each has 200 steps at least, and a series of its own, so that one is repeated alone
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			drawn := seeds.Example(t, trips, 0)
			wrong, done := voyage(t, drawn, nil)
			if len(wrong) > 0 {
				t.Fatal(strings.Join(wrong, "\n"))
			}
			for _, server := range []string{"own", "roots", "all"} {
				if done["start of "+server] == 0 {
					t.Fatalf("%s was never started: nothing is shown", server)
				}
			}
			for what, n := range done {
				all[what] += n
			}
			if taken += len(drawn); taken/20_000 != (taken-len(drawn))/20_000 {
				t.Logf("%d steps in %s", taken, time.Since(began).Round(time.Second))
			}
		})
		if t.Failed() {
			return
		}
	}
	for _, what := range []string{"ask answered", "path served true asked true", "path served true asked false", "path served false asked true", "break off", "crash", "restart"} {
		if all[what] == 0 {
			t.Errorf("never: %s", what)
		}
	}
	t.Logf("%d steps in %s: %v", taken, time.Since(began).Round(time.Second), all)
}

// TestIslandsPropertyNotices is its control: the same looks over Hubs that share what they must not.
func TestIslandsPropertyNotices(t *testing.T) {
	trips := []trip{{what: "open"}, {what: "open", session: 1, roots: 1}, {what: "echo", child: "own"}, {what: "echo", session: 1, child: "own"},
		{what: "echo", child: "roots"}, {what: "echo", session: 1, child: "roots"}, {what: "echo", child: "all"}, {what: "echo", session: 1, child: "all"}, {what: "roots", child: "all"}}
	if wrong, _ := voyage(t, trips, nil); len(wrong) > 0 {
		t.Fatalf("rightly shared: %q", wrong)
	}
	for name, mutate := range map[string]func(specs []spec.Spec){
		"own is shared by all":          func(specs []spec.Spec) { specs[0].Share, specs[0].Inherit = spec.ShareAll, nil },
		"roots is shared by all":        func(specs []spec.Spec) { specs[1].Share = spec.ShareAll },
		"all is shared by roots":        func(specs []spec.Spec) { specs[2].Share = spec.ShareRoots },
		"all has what is a session's":   func(specs []spec.Spec) { specs[2].Inherit = []string{"CANARY"} },
		"roots has what is a session's": func(specs []spec.Spec) { specs[1].Inherit = []string{"CANARY"} },
	} {
		if wrong, _ := voyage(t, trips, mutate); len(wrong) == 0 {
			t.Errorf("%s: nothing is noticed", name)
		}
	}
}
