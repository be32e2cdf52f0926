package setup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rs/zerolog"

	"mcphub/children/spec"
	"mcphub/e2e/childtest"
	"mcphub/hub"
	"mcphub/internal/caller"
	"mcphub/internal/jsonrpc"
)

// A party is a hub of a hub.json, which clients in different surroundings come to.
type party struct {
	t    *testing.T
	src  Source
	h    *hub.Hub
	home string
	log  *lines
}

// lines is a log.
type lines struct {
	mu  sync.Mutex
	all strings.Builder
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.Write(b)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.String()
}

// invite runs a hub of this hub.json, in an environment of these variables and HOME alone.
func invite(t *testing.T, text string, environ ...string) *party {
	t.Helper()
	p := &party{t: t, home: t.TempDir(), log: &lines{}}
	for _, pair := range os.Environ() {
		name, value, _ := strings.Cut(pair, "=")
		t.Setenv(name, value) // it is put back
		if err := os.Unsetenv(name); err != nil {
			t.Fatal(err)
		}
	}
	for _, pair := range append(environ, "HOME="+p.home) {
		name, value, _ := strings.Cut(pair, "=")
		t.Setenv(name, value)
	}
	p.src = Source{Version: "test", Config: filepath.Join(p.home, "hub.json")}
	p.write(text)
	var err error
	if p.h, err = hub.New(p.build().Hub); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- p.h.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return p
}

func (p *party) write(text string) {
	p.t.Helper()
	if err := os.WriteFile(p.src.Config, []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

func (p *party) build() Result {
	p.t.Helper()
	r, err := p.src.Read(io.Discard, zerolog.New(p.log))
	if err != nil {
		p.t.Fatal(err)
	}
	return r
}

// reload has the hub take another hub.json.
func (p *party) reload(text string) {
	p.t.Helper()
	p.write(text)
	if _, err := p.h.Apply(p.t.Context(), p.build().Hub); err != nil {
		p.t.Fatal(err)
	}
}

// A guest is a client without roots.
type guest struct {
	t     *testing.T
	conn  *jsonrpc.Conn
	leave func()
	over  chan error // why the hub has ended it
}

func (*guest) ServeRequest(context.Context, *jsonrpc.Message) jsonrpc.Answer {
	return jsonrpc.ErrorAnswer(jsonrpc.CodeMethodNotFound, "it has nothing")
}
func (*guest) ServeNotification(*jsonrpc.Message) {}

func (p *party) come(a hub.Surroundings) *guest {
	p.t.Helper()
	toHub, fromClient := io.Pipe()
	toClient, fromHub := io.Pipe()
	g := &guest{t: p.t, over: make(chan error, 1)}
	g.conn = jsonrpc.NewConn(toClient, fromClient, g, jsonrpc.ConnOptions{})
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		switch err := p.h.ServeStdio(context.Background(), toHub, fromHub, a); {
		case errors.Is(err, hub.ErrSurroundings):
			g.over <- err
		case err != nil && !errors.Is(err, io.ErrClosedPipe):
			p.t.Error(err)
		}
	})
	wg.Go(func() { _ = g.conn.Run(ctx) })
	g.leave = sync.OnceFunc(func() {
		cancel()
		wg.Wait()
	})
	p.t.Cleanup(g.leave)
	g.ask("initialize", `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"guest","version":"1"}}`)
	if err := g.conn.Notify(ctx, "notifications/initialized"); err != nil {
		p.t.Fatal(err)
	}
	return g
}

// around returns the environment with HOME and the PATH that the tests run by.
func (p *party) around(dir string, environ ...string) hub.Surroundings {
	return hub.Surroundings{Environ: append([]string{"HOME=" + p.home}, environ...), Dir: dir}
}

func (g *guest) ask(method, params string) []byte {
	g.t.Helper()
	r, err := g.conn.Call(context.Background(), method, []byte(params))
	if err != nil {
		g.t.Fatal(err)
	}
	defer r.Release()
	if r.Error != nil {
		g.t.Fatalf("%s %s: %s", method, params, r.Error)
	}
	return slices.Clone(r.Result)
}

// A found is what a child says about itself.
type found struct {
	Env  []string
	Cwd  string
	Args []string
	PID  int
}

func (f found) get(name string) string {
	for _, pair := range f.Env {
		if value, ok := strings.CutPrefix(pair, name+"="); ok {
			return value
		}
	}
	return "unset"
}

func (g *guest) look(child string) (f found) {
	g.t.Helper()
	result := g.ask("tools/call", fmt.Sprintf(`{"name":"%s__env","arguments":{}}`, child))
	if err := json.Unmarshal(jsonrpc.Get(result, "structuredContent"), &f); err != nil || f.PID == 0 {
		g.t.Fatalf("%s: %v: %s", child, err, result)
	}
	return f
}

// kid returns an entry of a child that runs.
func kid(more string) string {
	exe, _ := os.Executable()
	env, _ := json.Marshal(childtest.Script{}.Env())
	return fmt.Sprintf(`{"command": %q, "env": %s, "sandbox": "off"%s}`, exe, env, more)
}

func servers(of ...string) string {
	var b strings.Builder
	for i := 0; i < len(of); i += 2 {
		fmt.Fprintf(&b, "%s%q: %s", strings.Repeat(",", min(i, 1)), of[i], of[i+1])
	}
	return `"mcpServers": {` + b.String() + `}`
}

// TestSessionsInTheirSurroundings: each session is served as a hub of its own would, and shares what it can.
func TestSessionsInTheirSurroundings(t *testing.T) {
	one, two, hubs := t.TempDir(), t.TempDir(), t.TempDir()
	text := func(more string) string {
		return `{` + servers(
			"own", kid(`, "inherit": ["CANARY"], "args": ["${WORD:-none}"]`),
			"roots", kid(`, "share": "roots"`),
			"all", kid(`, "share": "all", "inherit": ["CANARY"]`),
			"said", kid(`, "share": "roots", "args": ["${WORD:-none}"]`),
			"needs", kid(`, "args": ["${TOKEN}"]`),
		) + `, "roots": {"fallback": [{"path": "${PROJECT}"}], "when": {"unsupported": "allow"}}` + more + `}`
	}
	p := invite(t, text(""), "PROJECT="+hubs, "HELD=/tmp")
	path := "PATH=/usr/bin:/bin"
	a := p.come(p.around(one, path, "LANG=a", "TERM=ta", "PROJECT="+one, "CANARY=aaaa-canary", "TOKEN=token-of-a", "WORD=same", "HELD=/tmp"))
	b := p.come(p.around(two, path, "LANG=a", "TERM=tb", "PROJECT="+two, "CANARY=bbbb-canary"))
	// Another window on the project of a, that differs in nothing that counts.
	c := p.come(p.around(one, "TERM=tc", "DISPLAY=:7", "XDG_SESSION_ID=9", "SHLVL=3", "PATH=/usr/bin:/bin:/no/such/folder:/usr/bin", "LANG=a", "WORD=same", "PROJECT="+one, "CANARY=aaaa-canary"))
	d := p.come(p.around(one, path, "LANG=d", "TERM=ta", "PROJECT="+one, "CANARY=dddd-canary"))
	ran := map[string]bool{}
	look := func(g *guest, child string) found {
		t.Helper()
		f := g.look(child)
		ran[child] = true
		return f
	}

	for _, own := range []struct {
		g                     *guest
		term, canary, dir, is string
	}{{a, "ta", "aaaa-canary", one, "same"}, {b, "tb", "bbbb-canary", two, "none"}, {c, "tc", "aaaa-canary", one, "same"}, {d, "ta", "dddd-canary", one, "none"}} {
		if f := look(own.g, "own"); f.get("TERM") != own.term || f.get("CANARY") != own.canary || f.Cwd != own.dir || !slices.Equal(f.Args, []string{own.is}) {
			t.Errorf("its own is %s %s in %s %q, want %+v", f.get("TERM"), f.get("CANARY"), f.Cwd, f.Args, own)
		}
	}
	for _, child := range []string{"roots", "said"} {
		fa, fb, fc, fd := look(a, child), look(b, child), look(c, child), look(d, child)
		if fa.PID != fc.PID || fa.PID == fb.PID || fa.PID == fd.PID || fb.PID == fd.PID {
			t.Errorf("%s: processes %d %d %d %d", child, fa.PID, fb.PID, fc.PID, fd.PID)
		}
		if fa.get("LANG") != "a" || fd.get("LANG") != "d" || fa.get("CANARY") != "unset" || !slices.Contains([]string{"ta", "tc"}, fa.get("TERM")) { // of a or c, whose was started first
			t.Errorf("%s: %q and %q", child, fa.Env, fd.Env)
		}
	}
	fa, fb, fc := look(a, "all"), look(b, "all"), look(c, "all")
	if fa.PID != fc.PID || fa.PID == fb.PID {
		t.Errorf("all: processes %d %d %d", fa.PID, fb.PID, fc.PID)
	}
	if got := fb.get("MCP_ROOTS_PATHS"); got != hubs || fa.get("MCP_ROOTS_PATHS") != hubs {
		t.Errorf("what serves everybody is served roots of a session: %s", got)
	}
	for _, child := range []string{"own", "roots", "all", "said"} {
		if f := look(b, child); strings.Contains(strings.Join(append(f.Env, f.Args...), "\n"), "aaaa") || strings.Contains(f.Cwd, one) {
			t.Errorf("%s of b knows a: %+v", child, f)
		}
	}

	// Another set of roots, so another process, of the variant that a has started: its window is the window of who starts it.
	f := p.come(p.around(two, path, "LANG=a", "TERM=tf", "PROJECT="+hubs, "WORD=same"))
	if got := look(f, "roots").get("TERM"); got != "tf" {
		t.Errorf("its TERM is %s", got)
	}
	f.leave()

	// What only a can run.
	if f := look(a, "needs"); !slices.Equal(f.Args, []string{"token-of-a"}) {
		t.Errorf("%q", f.Args)
	}
	if got := string(b.ask("tools/call", `{"name":"needs__env","arguments":{}}`)); !strings.Contains(got, "TOKEN") || strings.Contains(got, "token-of-a") {
		t.Errorf("b: %s", got)
	}
	for _, child := range []string{"own", "roots", "all", "said", "needs"} {
		if !ran[child] {
			t.Errorf("%s never ran", child)
		}
	}

	st := p.h.Status()
	text1, _ := json.Marshal(st)
	for _, secret := range []string{"canary", "token-of-a"} {
		if strings.Contains(string(text1), secret) {
			t.Errorf("status tells %s", secret)
		}
	}
	if len(st.NotServed) != 0 || !strings.Contains(string(text1), `"notServed":[{"server":"needs"`) {
		t.Errorf("not served: %v in %s", st.NotServed, text1)
	}
	apart := map[string]string{}
	for _, c := range st.Children {
		apart[c.Server] += strings.Join(c.Apart, ",") + ";"
	}
	if !strings.Contains(apart["roots"], "LANG;") || strings.Contains(apart["roots"], "TERM") || !strings.Contains(apart["said"], "LANG,args;") || !strings.Contains(apart["all"], "CANARY") || strings.Trim(apart["own"], ";") != "" {
		t.Errorf("apart by %v", apart)
	}

	// A reload that needs what only the hub and a have: the others end, and none goes on under what held before.
	before := map[string]int{"roots": look(a, "roots").PID, "own": look(a, "own").PID, "b": look(b, "own").PID, "d": look(d, "roots").PID}
	changed := strings.Replace(text(`, "policy": {"protected": ["${HELD}/no-such"]}`), `"args": ["${WORD:-none}"]`, `"args": ["anew", "${WORD:-none}"]`, 1)
	p.reload(changed)
	if f := look(a, "own"); f.PID == before["own"] || !slices.Equal(f.Args, []string{"anew", "same"}) {
		t.Errorf("after the reload a has %+v", f)
	}
	if f := look(a, "roots"); f.PID != before["roots"] {
		t.Errorf("what has not changed was started anew")
	}
	for _, g := range []*guest{b, c, d} {
		if err := <-g.over; !strings.Contains(err.Error(), "HELD") {
			t.Error(err)
		}
		g.leave()
	}
	if !strings.Contains(p.log.String(), "HELD") {
		t.Errorf("nothing is said of b: %s", p.log)
	}
	p.reload(text(""))
	b = p.come(p.around(two, path, "LANG=a", "TERM=tb", "PROJECT="+two, "CANARY=bbbb-canary"))
	c = p.come(p.around(one, path, "LANG=a", "TERM=tc", "PROJECT="+one, "WORD=same", "CANARY=aaaa-canary"))
	d = p.come(p.around(one, path, "LANG=d", "TERM=ta", "PROJECT="+one, "CANARY=dddd-canary"))
	if f := look(b, "own"); !slices.Equal(f.Args, []string{"none"}) || f.get("TERM") != "tb" {
		t.Errorf("b is served by %+v", f)
	}
	if f := look(d, "roots"); f.PID == 0 || f.get("LANG") != "d" {
		t.Errorf("d is served by %+v", f)
	}

	// Restart reaches the processes of all surroundings, and the ones that come later.
	if r, err := p.h.RestartServer(t.Context(), "roots"); err != nil || r.Processes < 3 || r.Ready != r.Processes {
		t.Errorf("%+v %v", r, err)
	}
	fa = look(a, "roots")
	if fa.PID == before["roots"] || look(c, "roots").PID != fa.PID {
		t.Errorf("after the restart: %d, was %d", fa.PID, before["roots"])
	}
	a.leave()
	c.leave()
	e := p.come(p.around(one, path, "LANG=a", "TERM=te", "PROJECT="+one, "WORD=same"))
	if f := look(e, "roots"); f.PID != fa.PID {
		t.Errorf("who comes while nobody holds it gets another process")
	}
}

// TestWhereASessionWorks: without roots a session's own child works in the folder of its client.
func TestWhereASessionWorks(t *testing.T) {
	one, two := t.TempDir(), t.TempDir()
	p := invite(t, `{`+servers("own", kid(""), "all", kid(`, "share": "all"`))+`}`, "PATH=/bin")
	for _, dir := range []string{one, two} {
		g := p.come(p.around(dir, "PATH=/bin"))
		if f := g.look("own"); f.Cwd != dir {
			t.Errorf("it works in %s, want %s", f.Cwd, dir)
		}
		if f := g.look("all"); f.Cwd == one || f.Cwd == two || strings.HasPrefix(f.Cwd, p.home) {
			t.Errorf("what all share works in %s", f.Cwd)
		}
	}
}

// TestRefusedSurroundings: what one hub cannot be for several, it says, with what mends it.
func TestRefusedSurroundings(t *testing.T) {
	dir := t.TempDir()
	p := invite(t, `{`+servers("own", kid(""))+`, "logs": {"dir": "${PLACE:-/logs}"}, "roots": {"resources": ["${SCHEME:-https}://example.com/"]}}`, "PATH=/bin")
	for _, tc := range []struct {
		around hub.Surroundings
		want   []string
	}{
		{p.around(dir, "PLACE=/other"), []string{"logs.dir", "variable PLACE"}},
		{p.around(dir, "MCPHUB_AUDIT__ARGUMENTS=true"), []string{"audit.arguments", "variable MCPHUB_AUDIT__ARGUMENTS"}},
		{p.around(dir, "SCHEME=http", "PLACE="), []string{"roots.resources", "variable SCHEME"}},
		{p.around(dir, `MCPHUB_MCPSERVERS={"own": {"share": "all"}}`), []string{"mcpServers.own", "variable MCPHUB_MCPSERVERS"}},
		{p.around(dir, "XDG_STATE_HOME=/elsewhere"), []string{"XDG_STATE_HOME"}},
		{p.around(dir, "MCPHUB_ROOTS=/no/such/folder"), []string{"MCPHUB_ROOTS", "/no/such/folder"}},
		{hub.Surroundings{Environ: []string{"HOME=" + dir}}, []string{"HOME"}},
		{hub.Surroundings{Roots: "/no/such/folder", RootsGiven: true}, []string{"--roots"}},
	} {
		in, _ := io.Pipe()
		_, out := io.Pipe()
		err := p.h.ServeStdio(t.Context(), in, out, tc.around)
		if !errors.Is(err, hub.ErrSurroundings) {
			t.Fatalf("%q: %v", tc.around.Environ, err)
		}
		for _, word := range tc.want {
			if !strings.Contains(err.Error(), word) {
				t.Errorf("%q is not in %v", word, err)
			}
		}
		if _, err := out.Write([]byte("x")); err == nil {
			t.Error("the streams are open")
		}
	}
}

// TestReadOnceForTheSame: an environment in which all that is looked up is the same is not read again, and whom nothing tells
// apart goes by one configuration.
func TestReadOnceForTheSame(t *testing.T) {
	p := invite(t, `{`+servers("own", kid(`, "args": ["${WORD:-none}"]`))+`}`, "PATH=/bin")
	cfg := p.build().Hub
	in := func(environ ...string) hub.Config {
		t.Helper()
		a := p.around("/", environ...)
		got, err := cfg.ForSurroundings(&a)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	first, again, other, plain := in("WORD=a", "X=1"), in("X=2", "WORD=a"), in("WORD=b"), in()
	if &first.Children[0] != &again.Children[0] || first.Checker != again.Checker || !slices.Equal(first.Environ, again.Environ) {
		t.Error("it is read again")
	}
	if other.Children[0].Spec.Args[0] != "b" || first.Children[0].Spec.Args[0] != "a" || &plain.Children[0] != &cfg.Children[0] || plain.Checker != cfg.Checker {
		t.Errorf("%q %q", other.Children[0].Spec.Args, first.Children[0].Spec.Args)
	}
}

// TestSharedByDefaultAnywhere: what a profile lets sessions share they share in all surroundings, under the same rules.
func TestSharedByDefaultAnywhere(t *testing.T) {
	p := invite(t, `{`+servers("files", `{"builtin": "files"}`, "own", kid(`, "args": ["${WORD:-none}"]`))+`}`, "PATH=/bin")
	p.src.Shares = true
	cfg := p.build().Hub
	a := p.around("/", "WORD=other")
	in, err := cfg.ForSurroundings(&a)
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range in.Children {
		if want := cfg.Children[i].Spec.Share; c.Spec.Share != want || (want == spec.ShareRoots) != (c.Spec.Name == "files") {
			t.Errorf("%s is shared by %s, and by %s in the hub's own", c.Spec.Name, c.Spec.Share, want)
		}
	}
}

// BenchmarkAttach is what a session in surroundings of its own costs before its first message, with many servers.
func BenchmarkAttach(b *testing.B) {
	var of []string
	for i := range 34 {
		of = append(of, fmt.Sprintf("server%d", i), fmt.Sprintf(`{"command": "npx", "args": ["-y", "some-server-%d", "${WORD:-none}"], "share": "roots"}`, i))
	}
	home := b.TempDir()
	b.Setenv("HOME", home)
	path := filepath.Join(home, "hub.json")
	if err := os.WriteFile(path, []byte(`{`+servers(of...)+`}`), 0o600); err != nil {
		b.Fatal(err)
	}
	made, err := (&Source{Version: "test", Config: path}).Read(io.Discard, zerolog.Nop())
	if err != nil {
		b.Fatal(err)
	}
	for _, c := range []struct{ name, differs string }{{"the same", ""}, {"another LANG", "LANG"}, {"other arguments", "WORD"}} {
		b.Run(c.name, func(b *testing.B) {
			h, err := hub.New(made.Hub)
			if err != nil {
				b.Fatal(err)
			}
			for i := 0; b.Loop(); i++ {
				in, out := io.Pipe()
				go out.Close()
				a := hub.Surroundings{Environ: append(os.Environ(), fmt.Sprintf("%s=%d", c.differs, i)), Dir: home}
				_ = h.ServeStdio(b.Context(), in, io.Discard, a)
			}
		})
	}
}

// TestStatusTellsWhose: folder and processes of a session, and the log that its lines go to.
func TestStatusTellsWhose(t *testing.T) {
	dir := t.TempDir()
	p := invite(t, `{`+servers("own", kid(""))+`}`, "PATH=/bin")
	its := &lines{}
	log := zerolog.New(its)
	a := p.around(dir, "PATH=/bin")
	a.Client, a.Adapter, a.Log = caller.Process{PID: 7001, Start: 3}, caller.Process{PID: 7002}, &log
	p.come(a)
	st := p.h.Status().Sessions
	if len(st) != 1 || st[0].Folder != dir || st[0].Process != 7001 || st[0].Adapter != 7002 {
		t.Errorf("%+v", st)
	}
	if got := p.h.ClientProcesses(); len(got) != 1 || got[0] != a.Client {
		t.Errorf("%v", got)
	}
	if !strings.Contains(its.String(), "client connected") || strings.Contains(p.log.String(), "client connected") {
		t.Errorf("its log: %s; the hub's: %s", its, p.log)
	}
}
