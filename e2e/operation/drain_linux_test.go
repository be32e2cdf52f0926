package operation

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"mcphub/e2e/bounds"
	"mcphub/e2e/needs"
	"mcphub/e2e/world"
)

const drainToken = "a token that is long enough for this test"

// A replica is one of several hubs of one configuration.
type replica struct {
	w      *world.World
	addr   string
	config string
	env    []string
	flags  []string

	cmd  *exec.Cmd
	mu   sync.Mutex
	said bytes.Buffer
	read sync.WaitGroup
}

// start starts the hub, and waits until it serves.
func (r *replica) start() {
	r.w.T.Helper()
	r.cmd = exec.Command(world.Hub(r.w.T), append([]string{"serve", "--http", r.addr, "--config", r.config}, r.flags...)...)
	r.cmd.Env, r.cmd.Dir = r.w.Env(append([]string{"HUB_TOKEN=" + drainToken}, r.env...)...), r.w.Home
	out, err := r.cmd.StderrPipe()
	world.Must(r.w.T, err)
	world.Must(r.w.T, r.cmd.Start())
	serves := make(chan struct{}, 1)
	r.read.Go(func() {
		for lines := bufio.NewScanner(out); lines.Scan(); {
			r.mu.Lock()
			r.said.WriteString(lines.Text() + "\n")
			r.mu.Unlock()
			if strings.Contains(lines.Text(), "serving http://") {
				serves <- struct{}{}
			}
		}
	})
	select {
	case <-serves:
	case <-time.After(world.WaitLimit):
		r.w.T.Fatalf("%s does not serve: %s", r.addr, r.text())
	}
}

func (r *replica) text() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.said.String()
}

func (r *replica) signal(sig os.Signal) { world.Must(r.w.T, r.cmd.Process.Signal(sig)) }

// ended waits for the end, and gives its status and how long it took.
func (r *replica) ended() (status int, took time.Duration) {
	began := time.Now()
	late := time.AfterFunc(2*world.WaitLimit, func() { _ = r.cmd.Process.Kill() })
	defer late.Stop()
	r.read.Wait()
	_ = r.cmd.Wait()
	return r.cmd.ProcessState.ExitCode(), time.Since(began)
}

// replicas writes the configuration, and gives hubs that do not run yet.
func replicas(w *world.World, n int, web obj, more obj) []*replica {
	rec := w.Recorder("rec")
	rec["share"], rec["sandbox"] = "all", "off"
	web["tokens"] = []obj{{"name": "all", "env": "HUB_TOKEN"}}
	all := obj{"http": web}
	for k, v := range more {
		all[k] = v
	}
	config := w.Config(obj{"rec": rec}, all)
	var list []*replica
	for range n {
		list = append(list, &replica{w: w, addr: "127.0.0.1:" + world.FreePort(w.T), config: config})
	}
	return list
}

// A balancer is what stands before hubs: it sends a session where it began, and asks /readyz who
// may be sent anything.
type balancer struct {
	hubs  []*replica
	ready []atomic.Bool
	by    []http.Handler
	at    sync.Map // session id -> index
	next  atomic.Int64
}

const checkEvery = 500 * time.Millisecond

// balance serves at an address of its own for as long as the test runs.
func balance(t *testing.T, hubs []*replica) (address string, b *balancer) {
	b = &balancer{hubs: hubs, ready: make([]atomic.Bool, len(hubs))}
	for i, h := range hubs {
		proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: h.addr})
		proxy.FlushInterval = -1
		proxy.Transport = &http.Transport{MaxIdleConnsPerHost: 100}
		proxy.ErrorLog = nil
		proxy.ErrorHandler = func(w http.ResponseWriter, _ *http.Request, err error) {
			status := http.StatusBadGateway
			if errors.Is(err, syscall.ECONNREFUSED) {
				status = http.StatusServiceUnavailable // nothing was sent: a balancer would try another
			}
			w.WriteHeader(status)
		}
		proxy.ModifyResponse = func(r *http.Response) error {
			if id := r.Header.Get("Mcp-Session-Id"); id != "" {
				b.at.Store(id, i)
			}
			return nil
		}
		b.by = append(b.by, world.WholeBody(proxy))
	}
	stop, checks := make(chan struct{}), sync.WaitGroup{}
	for i, h := range hubs {
		checks.Go(func() {
			for {
				r, err := http.Get("http://" + h.addr + "/readyz")
				b.ready[i].Store(err == nil && r.StatusCode == http.StatusOK)
				if err == nil {
					_ = r.Body.Close()
				}
				select {
				case <-stop:
					return
				case <-time.After(checkEvery):
				}
			}
		})
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	world.Must(t, err)
	server := &http.Server{Handler: b}
	go func() { _ = server.Serve(ln) }()
	t.Cleanup(func() { _ = server.Close(); close(stop); checks.Wait() })
	return "http://" + ln.Addr().String() + "/mcp", b
}

func (b *balancer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if at, ok := b.at.Load(r.Header.Get("Mcp-Session-Id")); ok && b.ready[at.(int)].Load() {
		b.by[at.(int)].ServeHTTP(w, r)
		return
	}
	for range b.hubs {
		if at := int(b.next.Add(1)) % len(b.hubs); b.ready[at].Load() {
			b.by[at].ServeHTTP(w, r)
			return
		}
	}
	w.WriteHeader(http.StatusServiceUnavailable)
}

// A traffic is what clients make of hubs.
type traffic struct {
	t       *testing.T
	address string
	stop    chan struct{}
	token   string // "": drainToken

	answered, long, opened, refused atomic.Int64
	turn                            atomic.Int64 // of rolling
	longOfTurn                      atomic.Int64 // calls of 3 s that began in this turn
	mu                              sync.Mutex
	lost                            []string
}

func (l *traffic) loses(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lost = append(l.lost, fmt.Sprintf(format, args...))
}

func (l *traffic) post(c *http.Client, session, frame string) (*http.Response, string, error) {
	req, err := http.NewRequest("POST", l.address, strings.NewReader(frame))
	world.Must(l.t, err)
	req.Header.Set("Authorization", "Bearer "+cmp.Or(l.token, drainToken))
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if session != "" {
		req.Header.Set("Mcp-Session-Id", session)
	}
	r, err := c.Do(req)
	if err != nil {
		return nil, "", err
	}
	defer func() { _ = r.Body.Close() }()
	text, err := io.ReadAll(r.Body)
	return r, string(text), err
}

// open opens a session, and comes again while it is told to.
func (l *traffic) open(c *http.Client) string {
	for {
		r, text, err := l.post(c, "", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"load","version":"1"}}}`)
		switch {
		case err != nil:
			l.loses("initialize: %v", err)
			return ""
		case r.StatusCode == http.StatusOK:
			l.opened.Add(1)
			session := r.Header.Get("Mcp-Session-Id")
			_, _, _ = l.post(c, session, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
			return session
		case r.StatusCode != http.StatusServiceUnavailable:
			l.loses("initialize: %d %s", r.StatusCode, text)
			return ""
		}
		l.refused.Add(1)
		select {
		case <-l.stop:
			return ""
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// client calls one after the other, a fifth of them 3 s long, until it is told to stop.
func (l *traffic) client(first int) {
	c := &http.Client{Transport: &http.Transport{}}
	session := l.open(c)
	for n := first; session != ""; n++ {
		select {
		case <-l.stop:
			return
		case <-time.After(50 * time.Millisecond):
		}
		call, want := `{"name":"rec__echo","arguments":{"text":"x"}}`, `"result"`
		if n%5 == 0 {
			call, want = `{"name":"rec__sleep","arguments":{"ms":3000}}`, "slept"
		}
		turn := l.turn.Load()
		r, text, err := l.post(c, session, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":%s}`, n, call))
		switch {
		case err != nil:
			l.loses("%s: %v", call, err)
		case r.StatusCode == http.StatusNotFound: // it was not sent to the server
			session = l.open(c)
		case r.StatusCode != http.StatusOK || !strings.Contains(text, want) || strings.Contains(text, `"error"`):
			l.loses("%s: %d %s", call, r.StatusCode, text)
			if r.StatusCode == http.StatusBadGateway {
				session = l.open(c)
			}
		default:
			l.answered.Add(1)
			if n%5 == 0 {
				l.long.Add(1)
				if turn == l.turn.Load() {
					l.longOfTurn.Add(1)
				}
			}
		}
	}
}

// rolling restarts two hubs, one after the other, behind what at says, while sessions call.
func rolling(t *testing.T, sessions int, web obj, at func(t *testing.T, hubs []*replica) string) *traffic {
	w := world.New(t)
	hubs := replicas(w, 2, web, nil)
	for _, h := range hubs {
		h.start()
	}
	l := &traffic{t: t, address: at(t, hubs), stop: make(chan struct{})}
	var clients sync.WaitGroup
	for n := range sessions {
		clients.Go(func() { l.client(n) })
	}
	// called waits until as many calls of 3 s as there are clients have begun and were answered. So a
	// hub that has just started is known to the one who spreads the clients before the other one
	// stops.
	called := func() {
		l.turn.Add(1)
		l.longOfTurn.Store(0)
		if !world.Within(world.WaitLimit, func() bool { return l.longOfTurn.Load() >= int64(sessions) }) {
			t.Errorf("only %d calls of 3 s were answered", l.longOfTurn.Load())
		}
	}
	called()
	for _, h := range hubs {
		h.signal(syscall.SIGTERM)
		if status, _ := h.ended(); status != 0 {
			t.Errorf("a hub ended with status %d: %s", status, h.text())
		}
		h.start()
		called()
	}
	close(l.stop)
	clients.Wait()
	for _, h := range hubs {
		h.signal(os.Interrupt)
		h.ended()
	}
	t.Logf("%d calls answered, %d of them of 3 s; %d sessions opened, %d refused and opened later; %d calls lost", l.answered.Load(), l.long.Load(), l.opened.Load(), l.refused.Load(), len(l.lost))
	return l
}

func smallBalancer(t *testing.T, hubs []*replica) string {
	address, b := balance(t, hubs)
	if !world.Within(world.WaitLimit, func() bool { return b.ready[0].Load() && b.ready[1].Load() }) {
		t.Fatal("the hubs are not ready")
	}
	return address
}

// haproxy returns the real one, as docs/team.md has it.
func haproxy(t *testing.T, hubs []*replica) string { return documented(t, "haproxy", hubs).address }

// Two hubs are restarted, one after the other, while sessions call: no call is lost. Without
// the two times some are.
func TestARollingRestartLosesNoCall(t *testing.T) {
	t.Parallel()
	for name, at := range map[string]func(*testing.T, []*replica) string{"small balancer": smallBalancer, "haproxy": haproxy} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name == "haproxy" {
				needs.Program(t, name)
			}
			sessions := 20
			if world.Long {
				sessions = 200
			}
			l := rolling(t, sessions, obj{}, at)
			for i, lost := range l.lost {
				if i < 5 {
					t.Error(lost)
				}
			}
			if n := int(l.opened.Load()); n < 2*sessions || n > 3*sessions+sessions/2 {
				t.Errorf("%d sessions were opened by %d clients over two restarts", n, sessions)
			}
		})
	}
	t.Run("control", func(t *testing.T) {
		t.Parallel()
		if l := rolling(t, 10, obj{"drain": "0s", "grace": "0s"}, smallBalancer); len(l.lost) == 0 {
			t.Error("no call is lost without drain and grace: the others show nothing")
		}
	})
}

// session opens one at the hub itself.
func (r *replica) session(t *testing.T) (l *traffic, c *http.Client, id string) {
	l = &traffic{t: t, address: "http://" + r.addr + "/mcp", stop: make(chan struct{})}
	c = &http.Client{Transport: &http.Transport{}}
	id = l.open(c)
	if id == "" {
		t.Fatal(l.lost)
	}
	return l, c, id
}

func (r *replica) readyz(t *testing.T) (status int, text string) {
	t.Helper()
	resp, err := http.Get("http://" + r.addr + "/readyz")
	if err != nil {
		return 0, err.Error()
	}
	defer func() { _ = resp.Body.Close() }()
	b, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(b)
}

// The second signal ends at once, no matter who has got the first: and what is cut is told that it may
// have run, also in the record.
func TestASecondSignalEndsAtOnce(t *testing.T) {
	t.Parallel()
	t.Run("a second TERM", func(t *testing.T) { endsAtOnce(t, syscall.SIGTERM) })
	t.Run("Ctrl-C", func(t *testing.T) { endsAtOnce(t, os.Interrupt) })
}

func endsAtOnce(t *testing.T, by os.Signal) {
	w := world.New(t)
	dir := w.Path("audit")
	r := replicas(w, 1, obj{}, obj{"audit": obj{"dir": dir}})[0]
	r.start()
	l, c, id := r.session(t)
	got := make(chan string, 1)
	go func() {
		_, text, err := l.post(c, id, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"rec__sleep","arguments":{"ms":60000}}}`)
		got <- fmt.Sprint(text, err)
	}()
	if !world.Within(world.WaitLimit, func() bool { return world.Calls(w.Recorded("rec"), "sleep") == 1 }) {
		t.Fatal("the call did not reach its server")
	}
	if by == syscall.SIGTERM {
		hub := world.HubProper(t, r.cmd.Process.Pid)
		r.signal(syscall.SIGTERM)
		world.Must(t, syscall.Kill(hub, syscall.SIGTERM)) // as systemd does with KillMode=control-group: the same signal
		if !world.Within(world.WaitLimit, func() bool { status, _ := r.readyz(t); return status == http.StatusServiceUnavailable }) {
			t.Error("/readyz does not say that it stops")
		}
		select {
		case text := <-got:
			t.Errorf("it was cut by the first signal: %s", text)
		case <-time.After(time.Second):
		}
	}
	r.signal(by)
	if text := <-got; !strings.Contains(text, "this hub is stopping") || !strings.Contains(text, "may have run") {
		t.Errorf("the call that was cut: %s", text)
	}
	status, took := r.ended()
	if status != 0 || took > world.StopBound {
		t.Errorf("status %d after %s", status, took)
	}
	if out, code := w.Command("audit", "show", "--dir", dir); code != 0 || !strings.Contains(out, "cancelled") {
		t.Errorf("the record: %d %s", code, out)
	}
}

// /readyz fails while a record that is required cannot be written, and is well again without a call.
func TestReadyzTellsOfAFullDisk(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	d := smallDisk(w)
	r := replicas(w, 1, obj{"drain": "0s"}, obj{"audit": obj{"dir": d.dir, "required": true, "arguments": true}})[0]
	r.start()
	defer func() { r.signal(syscall.SIGTERM); r.ended() }()
	l, c, id := r.session(t)
	call := func() string {
		_, text, err := l.post(c, id, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"rec__echo","arguments":{"text":"`+strings.Repeat("x", 500)+`"}}}`)
		world.Must(t, err)
		return text
	}
	if text := call(); strings.Contains(text, "audit.required") {
		t.Fatal(text)
	}
	if status, text := r.readyz(t); status != http.StatusOK {
		t.Fatal(status, text)
	}
	d.full(nil)
	for range 100 {
		if strings.Contains(call(), "audit.required") {
			break
		}
	}
	status, text := r.readyz(t)
	if status != http.StatusServiceUnavailable || !strings.Contains(text, "audit.required") || strings.Contains(text, d.dir) {
		t.Errorf("on a full disk: %d %s", status, text)
	}
	d.room()
	if !world.Within(world.WaitLimit, func() bool { status, _ := r.readyz(t); return status == http.StatusOK }) {
		t.Error("it does not become ready again")
	}
}

// A unit of Type=notify hears of each state, from its main process.
func TestSystemdIsTold(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	web := obj{"drain": "1s"}
	r := replicas(w, 1, web, nil)[0]
	socket := world.ShortFolder(t) + "/notify"
	ln, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	world.Must(t, err)
	defer func() { _ = ln.Close() }()
	raw, err := ln.SyscallConn()
	world.Must(t, err)
	world.Must(t, raw.Control(func(fd uintptr) {
		world.Must(t, syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_PASSCRED, 1))
	}))
	hear := func() (text string, from int) {
		t.Helper()
		b, oob := make([]byte, 4096), make([]byte, 128)
		world.Must(t, ln.SetReadDeadline(time.Now().Add(world.WaitLimit)))
		n, on, _, _, err := ln.ReadMsgUnix(b, oob)
		world.Must(t, err)
		messages, err := syscall.ParseSocketControlMessage(oob[:on])
		world.Must(t, err)
		who, err := syscall.ParseUnixCredentials(&messages[0])
		world.Must(t, err)
		return string(b[:n]), int(who.Pid)
	}
	wants := func(parts ...string) string {
		t.Helper()
		text, from := hear()
		for _, part := range parts {
			if !strings.Contains("\n"+text+"\n", "\n"+part) {
				t.Errorf("told %q, not %q", text, part)
			}
		}
		if from != r.cmd.Process.Pid {
			t.Errorf("told %q by process %d, and the main process is %d", text, from, r.cmd.Process.Pid)
		}
		return text
	}
	r.env = []string{"NOTIFY_SOCKET=" + socket}
	r.start()
	wants("READY=1\n", "STATUS=Serving http://")
	_, _, _ = r.session(t)
	if !world.Within(world.WaitLimit, func() bool { return len(w.Starts("rec")) > 0 }) {
		t.Fatal("no server was started")
	}
	r.signal(syscall.SIGHUP)
	text := wants("RELOADING=1\n", "MONOTONIC_USEC=")
	usec, err := strconv.ParseInt(regexp.MustCompile(`MONOTONIC_USEC=(\d+)`).FindStringSubmatch(text)[1], 10, 64)
	world.Must(t, err)
	if up, since := uptime(t), time.Duration(usec)*time.Microsecond; (up - since).Abs() > bounds.Of(5*time.Second) { // it is told to the hundredth
		t.Errorf("reloading since %d µs, and the machine runs for %s", usec, up)
	}
	wants("READY=1\n")
	web["drain"], web["grace"] = "0s", "7s"
	_ = replicas(w, 1, web, nil)
	wants("RELOADING=1\n")
	wants("READY=1\n")
	r.signal(syscall.SIGTERM)
	wants("STOPPING=1\n", "EXTEND_TIMEOUT_USEC=27000000\n") // what is in force, and 20 s for the rest
	if status, _ := r.ended(); status != 0 {
		t.Errorf("status %d: %s", status, r.text())
	}
	for _, line := range strings.Split(w.Recorded("rec"), "\n") {
		if strings.Contains(line, "NOTIFY_SOCKET") || strings.Contains(line, "MCPHUB_NOTIFY") {
			t.Errorf("a server was given the way to systemd: %s", line)
		}
	}
}

// uptime returns what the monotonic clock says, about.
func uptime(t *testing.T) time.Duration {
	b, err := os.ReadFile("/proc/uptime")
	world.Must(t, err)
	seconds, err := strconv.ParseFloat(strings.Fields(string(b))[0], 64)
	world.Must(t, err)
	return time.Duration(seconds * float64(time.Second))
}

// A token that is taken out of hub.json ends its sessions within a second, while others call; so do
// secrets that change in their files. No call of anybody else fails.
func TestALeakedTokenIsTakenOut(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	write := func(name, text string) string {
		path := w.Write(name, text)
		world.Must(t, os.Chmod(path, 0o600))
		return path
	}
	key := func(n int) string { return fmt.Sprintf("a key of requestState that is long enough, number %d", n) }
	leaked := obj{"name": "leaked", "file": write("leaked.token", "the leaked token")}
	spare := obj{"name": "spare", "file": write("spare.token", "spare 0")}
	all := obj{"name": "all", "env": "HUB_TOKEN"}
	web := obj{"drain": "0s", "stateKey": []obj{{"file": write("state", key(0))}, {"file": write("state.old", key(0))}}}
	r := replicas(w, 1, web, nil)[0]
	configure := func(tokens ...obj) {
		web["tokens"] = tokens
		rec := w.Recorder("rec")
		rec["share"], rec["sandbox"] = "all", "off"
		w.Config(obj{"rec": rec}, obj{"http": web})
	}
	configure(all, leaked, spare)
	r.start()
	defer func() { r.signal(syscall.SIGTERM); r.ended() }()
	l := &traffic{t: t, address: "http://" + r.addr + "/mcp", stop: make(chan struct{})}
	var clients sync.WaitGroup
	for n := range 10 {
		clients.Go(func() { l.client(n) })
	}
	as := func(secret, session string, method, frame string) (*http.Response, error) {
		req, err := http.NewRequest(method, l.address, strings.NewReader(frame))
		world.Must(t, err)
		for name, value := range map[string]string{"Authorization": "Bearer " + secret, "Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Mcp-Session-Id": session} {
			if value != "" {
				req.Header.Set(name, value)
			}
		}
		return http.DefaultClient.Do(req)
	}
	const hello = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}`
	opened, err := as("the leaked token", "", "POST", hello)
	world.Must(t, err)
	session := opened.Header.Get("Mcp-Session-Id")
	_ = opened.Body.Close()
	stream, err := as("the leaked token", session, "GET", "")
	world.Must(t, err)
	if stream.StatusCode != http.StatusOK {
		t.Fatal(stream.StatusCode)
	}
	ended := make(chan time.Time, 1)
	go func() { _, _ = io.Copy(io.Discard, stream.Body); ended <- time.Now() }()
	for n := range 5 { // secrets change in their files, and the hub is told to look
		write("spare.token", fmt.Sprintf("spare %d", n+1))
		write("state.old", key(n))
		write("state", key(n+1))
		r.signal(syscall.SIGHUP)
		if !world.Within(world.WaitLimit, func() bool {
			resp, err := as(fmt.Sprintf("spare %d", n+1), "", "POST", hello)
			world.Must(t, err)
			_ = resp.Body.Close()
			return resp.StatusCode == http.StatusOK
		}) {
			t.Errorf("the new token %d does not count", n+1)
		}
	}
	select {
	case <-ended:
		t.Error("a session ended with somebody else's token")
	default:
	}
	configure(all, spare)
	var refused time.Time
	if !world.Within(world.WaitLimit, func() bool {
		resp, err := as("the leaked token", "", "POST", hello)
		world.Must(t, err)
		_ = resp.Body.Close()
		refused = time.Now()
		return resp.StatusCode == http.StatusUnauthorized
	}) {
		t.Fatal("the token that was taken out counts: " + r.text())
	}
	select {
	case at := <-ended:
		t.Logf("the stream ended %s before the first request was refused", refused.Sub(at))
	case <-time.After(world.WaitLimit):
		t.Error("the session lives on after its token was refused")
	}
	close(l.stop)
	clients.Wait()
	for _, lost := range l.lost {
		t.Error(lost)
	}
	if n := l.opened.Load(); n != 10 {
		t.Errorf("%d sessions were opened by 10 clients", n)
	}
	t.Logf("%d calls of others were answered, over six reloads", l.answered.Load())
}
