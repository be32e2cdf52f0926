package operation

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"mcphub/e2e/bounds"
	"mcphub/e2e/seeds"
	"mcphub/e2e/world"
)

// A crowd is how many of what a hub has.
type crowd struct{ sessions, principals, rules, calls int }

// figures are what was measured of a hub under a load.
type figures struct {
	start, reload, status, revoked time.Duration
	starting, reloading            time.Duration // CPU of the hub
	opened, called                 time.Duration // CPU of the hub, of each
	memory                         int64         // bytes of the hub with all sessions
	lines                          int           // of mcphub status
}

// measured is one hub under a load.
type measured struct {
	w                *world.World
	load             crowd
	rng              *rand.Rand
	config, metrics  string
	url              string
	web              *http.Client
	sessions, tokens []string // a session and the token of its principal
}

// principalName returns the name of a principal.
func principalName(i int) string { return fmt.Sprintf("p%d", i) }

// writeConfig writes hub.json for the principals but the first ones, each with its share of the rules.
func (m *measured) writeConfig(without int) {
	var tokens, rules []obj
	for i := range m.load.principals {
		if i >= without {
			tokens = append(tokens, obj{"name": principalName(i), "file": filepath.Join("tokens", principalName(i)), "roots": []string{m.w.Path("srv", principalName(i))}})
		}
	}
	for i := range m.load.rules {
		of := i % m.load.principals
		rules = append(rules, obj{"name": fmt.Sprintf("r%d", i), "then": "deny", "if": obj{"principals": []string{principalName(of)}, "paths": obj{"within": m.w.Path("srv", principalName(of), fmt.Sprintf("secret%d", i))}}})
	}
	rec := m.w.Recorder("rec")
	rec["share"], rec["sandbox"] = "all", "off"
	m.config = m.w.Write("hub.json", world.Raw(m.w.T, obj{
		"mcpServers": obj{"rec": rec}, "policy": obj{"rules": rules}, "metrics": obj{"listen": m.metrics},
		"limits": obj{"sessions": 100_000, "principal": obj{"sessions": 100_000}}, "http": obj{"tokens": tokens},
	}))
}

// post sends a message of a principal, and returns the answer.
func (m *measured) post(of int, session, frame string) (status int, newSession, text string) {
	r, err := http.NewRequestWithContext(m.w.T.(*testing.T).Context(), http.MethodPost, m.url, strings.NewReader(frame))
	world.Must(m.w.T, err)
	r.Header.Set("Authorization", "Bearer "+m.tokens[of])
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if session != "" {
		r.Header.Set("Mcp-Session-Id", session)
	}
	resp, err := m.web.Do(r)
	world.Must(m.w.T, err)
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	world.Must(m.w.T, err)
	return resp.StatusCode, resp.Header.Get("Mcp-Session-Id"), string(b)
}

// use returns the CPU time and the memory that the hub has taken.
func (m *measured) use() (cpu time.Duration, memory int64) {
	resp, err := m.web.Get("http://" + m.metrics + "/metrics")
	world.Must(m.w.T, err)
	defer func() { _ = resp.Body.Close() }()
	page, err := io.ReadAll(resp.Body)
	world.Must(m.w.T, err)
	value := func(name string) float64 {
		found := regexp.MustCompile(`(?m)^` + name + ` (\S+)$`).FindSubmatch(page)
		if found == nil {
			m.w.T.Fatalf("no %s", name)
		}
		v, err := strconv.ParseFloat(string(found[1]), 64)
		world.Must(m.w.T, err)
		return v
	}
	return time.Duration(value("process_cpu_seconds_total") * float64(time.Second)), int64(value("process_resident_memory_bytes"))
}

// ask runs a command of the program for this hub.
func (m *measured) ask(args ...string) (out string, took time.Duration) {
	began := time.Now()
	cmd := exec.Command(world.Hub(m.w.T), args...)
	cmd.Env, cmd.Dir = m.w.Env(), m.w.Dir
	b, err := cmd.CombinedOutput()
	if err != nil {
		m.w.T.Fatalf("mcphub %s: %v\n%s", strings.Join(args, " "), err, b)
	}
	return string(b), time.Since(began)
}

// callOf returns a call whose path is below the directory of a principal.
func (m *measured) callOf(of int, elem ...string) string {
	return echoOf(1, m.w.Path(append([]string{"srv", principalName(of)}, elem...)...), "x")
}

// measure runs a hub under a load.
func measure(t *testing.T, l crowd) (f figures) {
	m := &measured{w: world.New(t), load: l, rng: seeds.Rand(t), metrics: "127.0.0.1:" + world.FreePort(t), web: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 8}}}
	defer m.web.CloseIdleConnections()
	world.Must(t, os.MkdirAll(m.w.Path("tokens"), 0o700))
	for i := range l.principals {
		world.Must(t, os.MkdirAll(m.w.Path("srv", principalName(i)), 0o700))
		m.tokens = append(m.tokens, fmt.Sprintf("the secret of %s, which is long enough", principalName(i)))
		world.Must(t, os.WriteFile(m.w.Path("tokens", principalName(i)), []byte(m.tokens[i]), 0o600))
	}
	m.writeConfig(0)
	began := time.Now()
	m.url = m.w.Listening(exec.Command(world.Hub(t), "serve", "--http", "127.0.0.1:0", "--config", m.config, "--log-level", "error"), regexp.MustCompile(`serving (http://\S+/mcp)`))
	f.start = time.Since(began)

	before, _ := m.use()
	f.starting = before
	for i := range l.sessions {
		of := i % l.principals
		status, session, text := m.post(of, "", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
		if status != http.StatusOK {
			t.Fatalf("session %d: %d %s", i, status, text)
		}
		if status, _, text := m.post(of, session, `{"jsonrpc":"2.0","method":"notifications/initialized"}`); status != http.StatusAccepted {
			t.Fatalf("session %d: %d %s", i, status, text)
		}
		m.sessions = append(m.sessions, session)
	}
	after, memory := m.use()
	f.opened, f.memory = (after-before)/time.Duration(l.sessions), memory

	for i := range l.principals { // the server starts, and what a principal may do is made out at its first call
		m.call(t, i)
	}
	before, _ = m.use()
	m.callAll(t, l.calls)
	after, _ = m.use()
	f.called = (after - before) / time.Duration(l.calls)
	last := (l.rules - 1) % l.principals
	if _, _, text := m.post(last, m.sessions[last], m.callOf(last, fmt.Sprintf("secret%d", l.rules-1), "x")); !strings.Contains(text, fmt.Sprintf("r%d", l.rules-1)) {
		t.Errorf("the last rule denies nothing: %s", text)
	}

	out, took := m.ask("status")
	f.status, f.lines = took, strings.Count(out, "\n")
	m.writeConfig(1)
	before, _ = m.use()
	began = time.Now()
	if _, f.reload = m.ask("reload"); l.principals > 1 {
		if !world.Within(bounds.Of(time.Second), func() bool {
			status, _, _ := m.post(0, m.sessions[0], m.callOf(0, "a"))
			return status == http.StatusUnauthorized
		}) {
			t.Error("a token that was taken out counts")
		}
		f.revoked = time.Since(began)
		after, _ = m.use()
		f.reloading = after - before
		if status, _, text := m.post(1, m.sessions[1], m.callOf(1, "a")); status != http.StatusOK || !strings.Contains(text, `"result"`) {
			t.Errorf("the session of another principal: %d %s", status, text)
		}
	}
	return f
}

// callAll makes calls with a path in sessions at random, one after the other.
func (m *measured) callAll(t *testing.T, n int) {
	for range n {
		m.call(t, m.rng.IntN(len(m.sessions)))
	}
}

// call makes a call in a session, which is allowed.
func (m *measured) call(t *testing.T, session int) {
	of := session % m.load.principals
	if status, _, text := m.post(of, m.sessions[session], m.callOf(of, "notes", "today.md")); status != http.StatusOK || !strings.Contains(text, `"result"`) || strings.Contains(text, `"isError":true`) {
		t.Fatalf("a call: %d %s", status, text)
	}
}

// TestScale: under many sessions, principals and rules a call takes at most three times as much CPU, an opening twice, mcphub status stays short, and a token that is taken out ends
// with the reload. The path of the call stands in a member that the tool does not declare, which is judged in each way.
// MCPHUB_E2E_LONG makes them 10,000, 1,000 and 10,000, and prints the table of docs/limits.md.
func TestScale(t *testing.T) {
	t.Parallel()
	few, many := crowd{2, 2, 10, 300}, crowd{200, 20, 400, 300}
	if world.Long {
		few, many = crowd{100, 2, 10, 5000}, crowd{10_000, 1_000, 10_000, 5000}
	}
	a, b := measure(t, few), measure(t, many)
	if bound := bounds.Of(3 * a.called); b.called > bound {
		t.Errorf("a call takes %s of CPU, want at most %s", b.called, bound)
	}
	if bound := bounds.Of(2 * a.opened); b.opened > bound {
		t.Errorf("an opening takes %s of CPU, want at most %s", b.opened, bound)
	}
	if b.lines > 100 {
		t.Errorf("mcphub status prints %d lines", b.lines)
	}
	ms := func(d time.Duration) string { return fmt.Sprintf("%.2f ms", float64(d)/float64(time.Millisecond)) }
	table := "\n| | few | many |\n|---|---|---|\n"
	for _, row := range []struct {
		what   string
		figure func(l crowd, f figures) string
	}{
		{"sessions, principals, rules", func(l crowd, _ figures) string { return fmt.Sprintf("%d, %d, %d", l.sessions, l.principals, l.rules) }},
		{"from the start of the hub until it serves", func(_ crowd, f figures) string { return ms(f.start) }},
		{"CPU of the hub for that", func(_ crowd, f figures) string { return ms(f.starting) }},
		{"CPU of the hub for each session that is opened", func(_ crowd, f figures) string { return ms(f.opened) }},
		{"memory of the hub with all sessions open", func(_ crowd, f figures) string { return fmt.Sprintf("%.0f MiB", float64(f.memory)/(1<<20)) }},
		{"CPU of the hub for each call with a path, after the first one of its principal", func(_ crowd, f figures) string { return ms(f.called) }},
		{"`mcphub status`", func(_ crowd, f figures) string { return fmt.Sprintf("%s, %d lines", ms(f.status), f.lines) }},
		{"`mcphub reload`, with a token taken out", func(_ crowd, f figures) string { return ms(f.reload) }},
		{"from `mcphub reload` until the session of that token is refused", func(_ crowd, f figures) string { return ms(f.revoked) }},
		{"CPU of the hub for that", func(_ crowd, f figures) string { return ms(f.reloading) }},
	} {
		table += fmt.Sprintf("| %s | %s | %s |\n", row.what, row.figure(few, a), row.figure(many, b))
	}
	t.Log(table)
}
