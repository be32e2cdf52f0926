package operation

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"mcphub/e2e/needs"
	"mcphub/e2e/world"
)

// A program that stands before two hubs, by a configuration of docs/examples.
type front struct {
	address string // of the endpoint
	restart func()
}

// documented runs a program by its configuration in docs/examples, with the addresses of two hubs
// instead of the ones that stand there.
func documented(t *testing.T, program string, hubs []*replica, change ...string) *front {
	file, args := "haproxy.cfg", []string{"-db", "-f"}
	if program == "nginx" {
		file, args = "nginx.conf", []string{"-g", "daemon off; error_log stderr; pid " + hubs[0].w.Path("nginx.pid") + ";", "-c"}
	}
	path := needs.Program(t, program)
	raw, err := os.ReadFile(filepath.Join("../../docs/examples", file))
	world.Must(t, err)
	port, text := world.FreePort(t), string(raw)
	swap := func(from, to string) {
		t.Helper()
		if !strings.Contains(text, from) {
			t.Fatalf("%s does not say %q", file, from)
		}
		text = strings.ReplaceAll(text, from, to)
	}
	swap("0.0.0.0:8080", "127.0.0.1:"+port)
	swap("10.0.0.1:8080", hubs[0].addr)
	swap("10.0.0.2:8080", hubs[1].addr)
	for i := 0; i < len(change); i += 2 {
		swap(change[i], change[i+1])
	}
	if program == "nginx" { // it has folders of the system for its work
		work := hubs[0].w.Path("nginx")
		world.Must(t, os.MkdirAll(work, 0o700))
		var paths strings.Builder
		for _, of := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
			fmt.Fprintf(&paths, "\n  %s_temp_path %s;", of, filepath.Join(work, of))
		}
		swap("http {", "http {\n  access_log off;"+paths.String())
		if os.Geteuid() == 0 {
			text = "user root;\n" + text
		}
	}
	config := hubs[0].w.Write(file, text)
	f := &front{address: "http://127.0.0.1:" + port + "/mcp"}
	var cmd *exec.Cmd
	var said bytes.Buffer
	var read sync.WaitGroup
	stop := func() {
		_ = cmd.Process.Signal(os.Interrupt)
		read.Wait()
		_ = cmd.Wait()
	}
	start := func() {
		t.Helper()
		cmd = exec.Command(path, append(args, config)...)
		out, err := cmd.StdoutPipe()
		world.Must(t, err)
		cmd.Stderr = cmd.Stdout
		world.Must(t, cmd.Start())
		read.Go(func() { _, _ = io.Copy(&said, out) })
		if !world.Within(world.WaitLimit, func() bool {
			r, err := http.Get("http://127.0.0.1:" + port + "/readyz")
			if err != nil {
				return false
			}
			_ = r.Body.Close()
			return r.StatusCode == http.StatusOK
		}) {
			stop()
			t.Fatalf("%s serves nobody: %s", program, said.String())
		}
	}
	start()
	f.restart = func() { stop(); start() }
	t.Cleanup(func() {
		stop()
		if t.Failed() {
			t.Logf("%s said: %s", program, said.String())
		}
	})
	return f
}

// shared starts two hubs with one key of requestState and so many tokens, each as named, and gives their addresses. peers: they forward to
// each other.
func shared(t *testing.T, tokens int, peers bool) []*replica {
	w := world.New(t)
	key := w.Write("state", "a key of requestState that is long enough for it\n")
	web := obj{"stateKey": obj{"file": key}, "drain": "0s"}
	hubs := replicas(w, 2, web, nil)
	if peers {
		web["peers"] = []string{"http://" + hubs[0].addr, "http://" + hubs[1].addr}
	}
	var list []obj
	for n := range tokens {
		list = append(list, obj{"name": fmt.Sprint("user-", n), "file": w.Write(fmt.Sprint("token-", n), secretOf(n)+"\n")})
	}
	web["tokens"] = list
	rec := w.Recorder("rec")
	rec["share"], rec["sandbox"] = "all", "off"
	w.Config(obj{"rec": rec, "asks": world.Free(w.Recorder("asks"))}, obj{"http": web})
	for i, h := range hubs {
		h.flags = []string{"--set", "http.node=hub-" + string(rune('a'+i))}
		h.start()
	}
	t.Cleanup(func() {
		for _, h := range hubs {
			h.signal(os.Interrupt)
			h.ended()
		}
	})
	return hubs
}

func secretOf(n int) string { return fmt.Sprintf("the token of user %d, which is long enough", n) }

// A person is a client with one token, of one era.
type person struct {
	t       *testing.T
	address string
	token   int
	session string // "": it has none
	sent    int
}

// post sends a frame. Every second time the token is spelled otherwise, as a renewed one is, and is the same person's.
func (p *person) post(frame string, header ...string) (status int, node, session, text string) {
	p.t.Helper()
	req, err := http.NewRequest("POST", p.address, strings.NewReader(frame))
	world.Must(p.t, err)
	p.sent++
	scheme := []string{"Bearer ", "bearer ", "BEARER ", "bEARER "}[p.sent%4]
	req.Header.Set("Authorization", scheme+secretOf(p.token))
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if p.session != "" {
		req.Header.Set("Mcp-Session-Id", p.session)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	r, err := (&http.Client{Timeout: world.WaitLimit}).Do(req)
	world.Must(p.t, err)
	defer func() { _ = r.Body.Close() }()
	raw, err := io.ReadAll(r.Body)
	world.Must(p.t, err)
	return r.StatusCode, r.Header.Get("Mcphub-Node"), r.Header.Get("Mcp-Session-Id"), string(raw)
}

func (p *person) open() {
	p.t.Helper()
	if !p.opens() {
		p.t.Fatal("no session is opened")
	}
}

// opens opens a session, and says whether there is one.
func (p *person) opens() bool {
	status, _, session, _ := p.post(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"p","version":"1"}}}`)
	if status != http.StatusOK || session == "" {
		return false
	}
	p.session = session
	p.post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return true
}

// call calls in its session, and says whether the answer came.
func (p *person) call() bool {
	status, node, _, text := p.post(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"rec__echo","arguments":{"text":"x"}}}`)
	if node != "" {
		p.t.Errorf("the client is told of %q", node)
	}
	return status == http.StatusOK && strings.Contains(text, `"result"`)
}

// asked makes a call of 2026-07-28 of which the server asks something, and answers that; it says whether the call was answered
// after one question.
func (p *person) asked() bool {
	params := obj{"name": "asks__ask", "arguments": obj{"hex": hex.EncodeToString(fmt.Appendf(nil, asksForm, questions.Add(1)))}}
	for round := range 2 {
		params["_meta"] = obj{"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": obj{"elicitation": obj{"form": obj{}}},
			"io.modelcontextprotocol/clientInfo": obj{"name": "p", "version": "1"}}
		frame, err := json.Marshal(obj{"jsonrpc": "2.0", "id": round, "method": "tools/call", "params": params})
		world.Must(p.t, err)
		status, _, _, text := p.post(string(frame), "MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "asks__ask")
		var got struct {
			Result struct {
				ResultType    string
				InputRequests map[string]json.RawMessage
				RequestState  string
			}
		}
		for _, line := range strings.Split(text, "\n") {
			_ = json.Unmarshal([]byte(strings.TrimPrefix(line, "data: ")), &got)
		}
		if round == 1 {
			return status == http.StatusOK && strings.Contains(text, `accept`) && got.Result.ResultType != "input_required"
		}
		if status != http.StatusOK || got.Result.ResultType != "input_required" {
			p.t.Errorf("nothing is asked: %d %s", status, text)
			return false
		}
		answers := obj{}
		for key := range got.Result.InputRequests {
			answers[key] = obj{"action": "accept", "content": obj{}}
		}
		params["inputResponses"], params["requestState"] = answers, got.Result.RequestState
	}
	return false
}

var questions atomic.Int64

const asksForm = `"id":%d,"method":"elicitation/create","params":{"mode":"form","message":"sure?","requestedSchema":{"type":"object","properties":{}}}`

// sessionsOfAGoneHub: if a hub is gone, a client is told with 404 that its session is, and opens another one.
func sessionsOfAGoneHub(t *testing.T, hubs []*replica, f *front, people int) {
	want := map[*person]int{}
	for n := range people {
		p := &person{t: t, address: f.address, token: n}
		p.open()
		own := &person{t: t, address: "http://" + hubs[0].addr + "/mcp", token: n, session: p.session}
		if want[p] = http.StatusOK; !own.pings(http.StatusNotFound) {
			want[p] = http.StatusNotFound
		}
	}
	hubs[0].signal(os.Interrupt)
	hubs[0].ended()
	gone := 0
	for p, status := range want {
		if !p.pings(status) {
			t.Errorf("a session is not answered with %d where its hub, or the other one, is gone", status)
		}
		if status == http.StatusNotFound {
			gone++
			if p.session = ""; world.Within(world.WaitLimit, func() bool { return p.opens() }) && !p.call() {
				t.Error("another session does not work")
			}
		}
	}
	if gone == 0 || gone == people {
		t.Errorf("%d of %d sessions were at the hub that is gone", gone, people)
	}
	hubs[0].start()
}

// pings reports whether a ping in the session is answered with a status.
func (p *person) pings(want int) bool {
	status, _, _, _ := p.post(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	return status == want
}

// Of two hubs behind the documented haproxy and nginx no request goes to the wrong one, in both eras, also where a token was
// renewed, and if the balancer has forgotten everything. Hubs that are peers need no such balancer. Behind one that takes turns half of the
// requests of others are lost: the control.
func TestNoRequestGoesToTheWrongReplica(t *testing.T) {
	t.Parallel()
	const people = 20                         // of so many some are at each hub: which ones, the ports of this run say
	calls := world.LongCases(t, 4, 1_000_000) // of each person, in each era
	// lost are calls that were not answered, of people*calls, in each era. each is how many hubs answer for a session.
	lost := func(t *testing.T, hubs []*replica, f *front, each int) (sessions, states int) {
		at := map[string]int{}
		var all []*person
		for n := range people {
			p := &person{t: t, address: f.address, token: n}
			p.open()
			for i, h := range hubs {
				own := &person{t: t, address: "http://" + h.addr + "/mcp", token: n, session: p.session}
				if status, _, _, _ := own.post(`{"jsonrpc":"2.0","id":1,"method":"ping"}`); status == http.StatusOK {
					at[fmt.Sprint(i)]++
				}
			}
			all = append(all, p)
		}
		if len(at) != 2 || at["0"]+at["1"] != each*people {
			t.Errorf("the hubs have %v of %d sessions", at, people)
		}
		for round := range calls {
			if round == calls/2 && f.restart != nil {
				f.restart()
			}
			for _, p := range all {
				if !p.call() {
					sessions++
				}
				if !(&person{t: t, address: f.address, token: p.token, sent: round}).asked() {
					states++
				}
			}
		}
		return sessions, states
	}
	for _, program := range []string{"haproxy", "nginx"} {
		t.Run(program, func(t *testing.T) {
			needs.Program(t, program) // before the hubs start
			hubs := shared(t, people, false)
			f := documented(t, program, hubs)
			if sessions, states := lost(t, hubs, f, 1); sessions+states > 0 {
				t.Errorf("of %d calls each, %d in a session and %d with a question were lost", people*calls, sessions, states)
			}
			sessionsOfAGoneHub(t, hubs, f, people)
		})
	}
	turns := []string{"balance hdr(Authorization)", "balance roundrobin", "stick on ", "# ", "stick store-response ", "# ", "retry-on conn-failure 404", "retry-on conn-failure", "hash-type", "# "}
	t.Run("peers", func(t *testing.T) {
		needs.Program(t, "haproxy")
		hubs := shared(t, people, true)
		f := documented(t, "haproxy", hubs, turns...)
		if sessions, states := lost(t, hubs, f, len(hubs)); sessions+states > 0 { // each hub answers for all sessions
			t.Errorf("of %d calls each, %d in a session and %d with a question were lost", people*calls, sessions, states)
		}
		for _, h := range hubs { // only the sessions of a hub that ends end
			var all []*person
			for n := range people {
				p := &person{t: t, address: f.address, token: n}
				if n%2 == 1 { // else each session would be opened by every second request, at one hub
					p.pings(http.StatusBadRequest)
				}
				p.open()
				all = append(all, p)
			}
			h.signal(os.Interrupt)
			h.ended()
			kept := 0
			for _, p := range all {
				if p.call() {
					kept++
				} else if !p.pings(http.StatusNotFound) {
					t.Error("a session of a hub that is gone is not answered with 404")
				}
			}
			if kept == 0 || kept == people {
				t.Errorf("%d of %d sessions go on, and the balancer takes turns", kept, people)
			}
			h.start()
			f.restart()
		}
	})
	t.Run("control", func(t *testing.T) {
		needs.Program(t, "haproxy")
		hubs := shared(t, people, false)
		f := documented(t, "haproxy", hubs, append(turns, "http-response del-header", "# ")...)
		sessions, states := 0, 0
		p := &person{t: t, address: f.address}
		p.open()
		for range calls {
			if status, _, _, _ := p.post(`{"jsonrpc":"2.0","id":1,"method":"ping"}`); status == http.StatusNotFound {
				sessions++
			}
			if !(&person{t: t, address: f.address}).asked() {
				states++
			}
		}
		if sessions == 0 || states == 0 {
			t.Errorf("taking turns loses %d and %d: the others show nothing", sessions, states)
		}
		t.Logf("taking turns, of %d calls each %d in a session and %d with a question were lost", calls, sessions, states)
	})
}
