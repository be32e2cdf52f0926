package operation

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"mcphub/e2e/bounds"
	"mcphub/e2e/ide"
	"mcphub/e2e/seeds"
	"mcphub/e2e/world"
)

// What is one session's alone bears c4n and its number: its environment, arguments, answers and questions. A folder bears r4t and
// its number. All that a client is sent, and all that a server is started with or sent, is looked through for the ones of others.
var (
	canaries = regexp.MustCompile(`c4n(\d+)z`)
	folders  = regexp.MustCompile(`r4t(\d+)z`)
)

func canaryOf(id int) string { return fmt.Sprintf("c4n%dz", id) }

func marked(mark *regexp.Regexp, text []byte) (ids []int) {
	for _, m := range mark.FindAllSubmatch(text, -1) {
		id, _ := strconv.Atoi(string(m[1])) // digits
		ids = append(ids, id)
	}
	return ids
}

// islands are clients that share a hub, and must see nothing of each other.
type islands struct {
	*attached
	roots []string // by their number

	mu       sync.Mutex
	all      map[int]*island
	wrong    []string
	done     map[string]int
	crashed  map[string]time.Time // servers
	answered map[string]int
}

// island is one of them.
type island struct {
	*ide.Client
	id, lang int
	mu       sync.Mutex
	given    []int        // its roots
	had      map[int]bool // the ones that it ever had
}

func (m *islands) fail(format string, args ...any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.wrong) < 10 {
		m.wrong = append(m.wrong, fmt.Sprintf(format, args...))
	}
}

// found returns what was wrong so far; it is forgotten.
func (m *islands) found() (wrong []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	wrong, m.wrong = m.wrong, nil
	return wrong
}

// sees looks through what a client is sent.
func (m *islands) sees(i *island, what string, text []byte) {
	for _, id := range marked(canaries, text) {
		if id != i.id {
			m.fail("%s of session %d holds what is session %d's: %.500s", what, i.id, id, text)
		}
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, id := range marked(folders, text) {
		if !i.had[id] {
			m.fail("%s of session %d names folder %d: %.500s", what, i.id, id, text)
		}
	}
}

// gives has a client have other roots from now on.
func (m *islands) gives(i *island, roots []int) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.given = roots
	for _, r := range roots {
		i.had[r] = true
	}
}

func (m *islands) attach(roots []int, lang int) *island {
	m.mu.Lock()
	i := &island{id: len(m.all) + 1, lang: lang, had: map[int]bool{}}
	m.all[i.id] = i
	m.mu.Unlock()
	m.gives(i, roots)
	home := m.roots[roots[0]]
	c, err := ide.Start(ide.Options{Command: world.Hub(m.T), Args: []string{"serve", "--config", m.config, "--log-level", "debug"}, Dir: home,
		Env:          append(slices.Clone(m.env), "CANARY="+canaryOf(i.id), "LANG="+langs[lang]),
		Capabilities: `{"roots":{"listChanged":true},"elicitation":{}}`,
		Saw: func(fromServer bool, line []byte) {
			if fromServer {
				m.sees(i, "what the client is sent", line)
			}
		},
		Answer: func(method string, _ []byte) *ide.Answer {
			if method != "roots/list" {
				return &ide.Answer{Result: fmt.Sprintf(`{"action":"accept","content":{"word":%q}}`, canaryOf(i.id))}
			}
			i.mu.Lock()
			defer i.mu.Unlock()
			var list []string
			for _, r := range i.given {
				name := ""
				if i.id%2 == 0 { // some clients name their folders
					name = fmt.Sprintf(`,"name":%q`, filepath.Base(m.roots[r]))
				}
				list = append(list, fmt.Sprintf(`{"uri":%q%s}`, ide.FileURI(m.roots[r]), name))
			}
			return &ide.Answer{Result: `{"roots":[` + strings.Join(list, ",") + `]}`}
		}})
	world.Must(m.T, err)
	m.T.Cleanup(func() { c.Close(world.StopBound) })
	i.Client = c
	_, err = c.Initialize(m.wait())
	world.Must(m.T, err)
	return i
}

var langs = []string{"C", "C.UTF-8"}

// leaves closes a client, or kills it amid calls, and looks through what its log was.
func (m *islands) leaves(i *island, kill bool) {
	if kill {
		_, _ = i.StartTool("own__sleep", fmt.Sprintf(`{"ms":60000,"x":%q}`, canaryOf(i.id)))
		_, _ = i.StartTool("all__sleep", fmt.Sprintf(`{"ms":100,"x":%q}`, canaryOf(i.id)))
		_ = syscall.Kill(i.PID(), syscall.SIGKILL)
	}
	if e := i.Close(world.StopBound); e.Killed || e.Held || !kill && e.Code != 0 {
		m.fail("session %d ended so: %+v %s", i.id, e, i.Stderr())
	}
	m.sees(i, "the log", []byte(i.Stderr()))
}

// calls makes one call and looks whether the answer is its own.
func (m *islands) calls(i *island, server, what string) {
	own := canaryOf(i.id)
	args, want := fmt.Sprintf(`{"x":%q,"steps":2}`, own), own
	switch what {
	case "whoami", "ask_roots", "progress":
		want = ""
	case "ask":
		args = fmt.Sprintf(`{"hex":%q}`, hex.EncodeToString(fmt.Appendf(nil, `"id":"q%d","method":"elicitation/create","params":{"message":"question for %s","requestedSchema":{"type":"object","properties":{"word":{"type":"string"}}}}`, i.id, own)))
		if server != "own" {
			want = "" // it may not
		}
	}
	params := fmt.Sprintf(`{"name":%q,"arguments":%s,"_meta":{"progressToken":%q}}`, server+"__"+what, args, own)
	r, err := i.Call(m.wait(), "tools/call", params)
	if err != nil {
		m.fail("%s of %s for session %d: %v", what, server, i.id, err)
		return
	}
	failed := r.Error != nil || bytes.Contains(r.Result, []byte(`"isError":true`))
	m.mu.Lock()
	m.done[what]++
	excused := time.Since(m.crashed[server]) < bounds.Patience || what == "ask" && server != "own"
	if !failed {
		m.answered[server]++
	}
	m.mu.Unlock()
	switch {
	case failed && !excused:
		m.fail("%s of %s for session %d: %s %s", what, server, i.id, r.Error, r.Result)
	case !failed && !bytes.Contains(r.Result, []byte(want)):
		m.fail("%s of %s for session %d is answered %s", what, server, i.id, r.Result)
	case !failed && what == "whoami":
		m.started(i, server, r.Result)
	}
}

// started looks at how the server was started that has answered.
func (m *islands) started(i *island, server string, result []byte) {
	var by struct{ StructuredContent world.Started }
	if err := json.Unmarshal(result, &by); err != nil || by.StructuredContent.PID == 0 {
		m.fail("%s says of itself %s", server, result)
		return
	}
	env := by.StructuredContent.Env
	if !slices.Contains(env, "LANG="+langs[i.lang]) {
		m.fail("%s serves session %d in the environment of another one: %q", server, i.id, env)
	}
	text := []byte(strings.Join(append(env, by.StructuredContent.Cwd), "\n"))
	if had := marked(canaries, text); server == "own" != slices.Contains(had, i.id) {
		m.fail("%s was started for %v, and serves session %d: %s", server, had, i.id, text)
	}
	if named := marked(folders, text); server == "all" && len(named) > 0 {
		m.fail("all was started in folders %v: %s", named, text)
	}
}

// records looks through what the servers were sent.
func (m *islands) records() {
	private, err := filepath.Glob(m.Path("records", "own-*.record"))
	world.Must(m.T, err)
	for _, file := range private {
		text, err := os.ReadFile(file)
		world.Must(m.T, err)
		owner := m.all[marked(canaries, []byte(filepath.Base(file)))[0]]
		m.sees(owner, "what the private server was sent", text)
	}
	for n, root := range m.roots {
		text, err := os.ReadFile(filepath.Join(root, "some.record"))
		if os.IsNotExist(err) {
			continue
		}
		world.Must(m.T, err)
		for _, id := range marked(canaries, text) {
			if !m.all[id].had[n] {
				m.fail("the server of folder %d was sent what is session %d's, which never had it", n, id)
			}
		}
	}
	text, err := os.ReadFile(m.Record("all"))
	world.Must(m.T, err)
	if named := marked(folders, text); len(named) > 0 {
		m.fail("the server of all was told of folders %v", named)
	}
}

func newIslands(t *testing.T) *islands {
	a := sharing(t, obj{})
	own, some, all := a.Recorder("own"), a.Recorder("some"), a.Recorder("all")
	own["env"].(obj)["CANARY"], own["env"].(obj)["RECORDER_FILE"] = "${CANARY}", a.Path("records", "own-${CANARY}.record")
	some["share"], some["env"].(obj)["RECORDER_FILE"] = "roots", "${root}/some.record"
	all["share"] = "all"
	a.config = a.Config(obj{"own": own, "some": some, "all": all}, obj{"attach": obj{"mode": "auto", "idle": "2s"}})
	m := &islands{attached: a, all: map[int]*island{}, done: map[string]int{}, crashed: map[string]time.Time{}, answered: map[string]int{}}
	for n := range 3 {
		m.roots = append(m.roots, a.Path(fmt.Sprintf("r4t%dz", n)))
		world.Must(t, os.MkdirAll(m.roots[n], 0o755))
	}
	return m
}

// TestAttachedIslands: clients of the real program attach to a hub, each with its environment, leave and are killed; they change
// roots, call, are asked, and crash servers, at random. No part of one is seen by another, nor by a server that does not serve it.
// MCPHUB_LONG_CASES says how many steps.
func TestAttachedIslands(t *testing.T) {
	t.Parallel()
	m := newIslands(t)
	pick := seeds.Rand(t).IntN
	sets := [][]int{{0}, {1}, {2}, {2, 0}}
	servers := []string{"own", "some", "all"}
	talks := []string{"echo", "echo", "whoami", "ask_roots", "ask", "progress"}
	whats := []string{"attach", "attach", "leave", "kill", "change", "change", "crash", "burst", "burst", "call", "call", "call", "call", "call", "call"}
	places := map[int]*island{}
	began, steps := time.Now(), world.LongCases(t, 150, 100_000)
	var wrong []string
	for step := 0; step < steps && len(wrong) == 0; wrong = m.found() {
		place, what, server := pick(5), whats[pick(len(whats))], servers[pick(3)]
		i := places[place]
		if (i == nil) != (what == "attach") {
			continue
		}
		step++
		m.done[what]++
		switch what {
		case "attach":
			places[place] = m.attach(sets[pick(len(sets))], pick(2))
		case "leave", "kill":
			m.leaves(i, what == "kill")
			delete(places, place)
		case "change":
			m.gives(i, sets[pick(len(sets))])
			world.Must(t, i.RootsChanged())
		case "crash":
			m.mu.Lock()
			m.crashed[server] = time.Now()
			m.mu.Unlock()
			m.calls(i, server, "crash")
		case "burst":
			var all sync.WaitGroup
			for _, place := range slices.Sorted(maps.Keys(places)) {
				one := places[place]
				for _, server := range servers {
					talk := talks[pick(len(talks))]
					all.Go(func() { m.calls(one, server, talk) })
				}
			}
			all.Wait()
		case "call":
			m.calls(i, server, talks[pick(len(talks))])
		}
		if step%1000 == 0 {
			t.Logf("%d steps in %s", step, time.Since(began).Round(time.Second))
		}
	}
	for _, i := range places {
		m.leaves(i, false)
	}
	m.ends()
	m.records()
	if wrong = append(wrong, m.found()...); len(wrong) > 0 {
		t.Fatal(strings.Join(wrong, "\n"))
	}
	starts := map[string]int{}
	for _, server := range servers {
		if starts[server] = len(m.Starts(server)); starts[server] == 0 || m.answered[server] < steps/10 {
			t.Errorf("%s was started %d times and has answered %d calls: nothing is shown", server, starts[server], m.answered[server])
		}
	}
	for _, what := range append(slices.Clone(talks), whats...) {
		if m.done[what] == 0 && what != "call" {
			t.Errorf("never: %s", what)
		}
	}
	t.Logf("%d steps in %s: %d sessions, starts %v, answers %v, done %v", steps, time.Since(began).Round(time.Second), len(m.all), starts, m.answered, m.done)
}

// TestAttachedIslandsNotices is its control: what does cross is noticed, by the client that is sent it and by the server.
func TestAttachedIslandsNotices(t *testing.T) {
	t.Parallel()
	m := newIslands(t)
	one, other := m.attach([]int{0}, 0), m.attach([]int{1}, 1)
	for _, i := range []*island{one, other} {
		for _, server := range []string{"own", "some", "all"} {
			m.calls(i, server, "echo")
			m.calls(i, server, "whoami")
		}
	}
	m.records()
	if wrong := m.found(); len(wrong) > 0 {
		t.Fatalf("rightly served: %q", wrong)
	}
	noticed := func(what string) {
		t.Helper()
		if len(m.found()) == 0 {
			t.Errorf("%s is not noticed", what)
		}
	}
	say := func(server, text string) {
		t.Helper()
		if r, err := one.Tool(m.wait(), server+"__echo", fmt.Sprintf(`{"x":%q}`, text)); err != nil || r.IsError {
			t.Fatal(err, r.Text)
		}
	}
	say("own", canaryOf(other.id))
	noticed("what is another session's, by its client")
	m.records()
	noticed("what is another session's, by a private server")
	say("some", canaryOf(other.id))
	m.found()
	m.records()
	noticed("what is another session's, by a server of other roots")
	say("all", "r4t1z")
	noticed("a folder that a session never had, by its client")
	m.records()
	noticed("a folder, by a server of all")
	m.started(one, "own", fmt.Appendf(nil, `{"structuredContent":{"pid":1,"env":["LANG=%s","CANARY=%s"]}}`, langs[0], canaryOf(other.id)))
	noticed("a private server that was started for another session")
	m.leaves(one, false)
	m.leaves(other, false)
}
