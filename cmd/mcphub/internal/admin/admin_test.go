package admin

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"mcphub/cmd/mcphub/internal/rundir"
	"mcphub/e2e/bounds"
	"mcphub/hub/status"
	"mcphub/internal/caller"
	"mcphub/internal/ownership"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// folder returns a short path: paths of t.TempDir are often too long for a socket.
func folder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "mh")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return filepath.Join(dir, "run")
}

func aHub() status.Hub {
	return status.Hub{
		Children:  []status.Child{{Server: "kid", State: "ready", PID: 7}},
		NotServed: []status.NotServed{{Server: "off", Reason: "disabled"}},
		Sessions:  []status.Session{{ID: "s", Client: "editor 1"}},
	}
}

// serve runs a Server for the length of a test, or until stop is called.
func serve(t *testing.T, s *Server) (stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	var result error
	stopped := false
	stop = func() error {
		if !stopped {
			stopped = true
			cancel()
			result = <-done
		}
		return result
	}
	t.Cleanup(func() { _ = stop() })
	return stop
}

// await waits for n hubs.
func await(t *testing.T, n int, folders ...string) []Hub {
	t.Helper()
	var hubs []Hub
	if !bounds.Within(bounds.Patience, func() bool {
		var err error
		if hubs, err = Find(folders); err != nil {
			t.Fatal(err)
		}
		return len(hubs) == n
	}) {
		t.Fatalf("%d hubs, want %d", len(hubs), n)
	}
	return hubs
}

func sockets(t *testing.T, dir string) []string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(dir, "*.sock"))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestStatusOfHubs(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	loaded := time.Now()
	one := New(Config{Folders: []string{dir}, Version: "v1", Log: zerolog.Nop(), Status: aHub,
		Loaded: func() ConfigReport { return ConfigReport{Path: "/hub.json", Loaded: loaded, Error: "bad"} }})
	stop := serve(t, one)
	two := New(Config{Folders: []string{dir}, Version: "v2", Log: zerolog.Nop(), Status: aHub})
	serve(t, two)
	versions := map[string]bool{}
	for _, h := range await(t, 2, dir) {
		r, err := h.Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		versions[r.Version] = true
		if r.Format != 1 || r.PID != os.Getpid() || r.Socket != h.Socket || r.Children[0].Server != "kid" || r.Sessions[0].Client != "editor 1" ||
			r.NotServed[0].Reason != "disabled" || r.Uptime <= 0 || r.Started.Before(loaded) {
			t.Errorf("%+v", r)
		}
		if r.Version == "v1" && (r.Config.Path != "/hub.json" || !r.Config.Loaded.Equal(loaded) || r.Config.Error != "bad") {
			t.Errorf("config: %+v", r.Config)
		}
	}
	if !versions["v1"] || !versions["v2"] {
		t.Errorf("versions %v", versions)
	}
	if err := stop(); err != nil {
		t.Errorf("Run: %v", err)
	}
	if left := sockets(t, dir); len(left) != 1 {
		t.Errorf("left: %q", left)
	}
	if hubs := await(t, 1, dir); len(hubs) != 1 {
		t.Errorf("%d hubs", len(hubs))
	}
}

func TestReload(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	asked := 0
	var fails error
	s := New(Config{Folders: []string{dir}, Log: zerolog.Nop(), Status: aHub, Reload: func(context.Context) error {
		asked++
		return fails
	}})
	serve(t, s)
	h := await(t, 1, dir)[0]
	if err := h.Reload(t.Context()); err != nil {
		t.Error(err)
	}
	fails = errors.New("hub.json:3: no")
	if err := h.Reload(t.Context()); err == nil || err.Error() != "hub.json:3: no" {
		t.Errorf("error: %v", err)
	}
	for _, c := range []struct {
		method, path, body string
		status             int
	}{
		{"GET", "/reload", "", 405},
		{"POST", "/status", "", 405},
		{"POST", "/reload", strings.Repeat("x", bodySize+1), 400},
		{"GET", "/else", "", 404},
	} {
		req, err := http.NewRequestWithContext(t.Context(), c.method, "http://mcphub"+c.path, strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := h.client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		if resp.StatusCode != c.status {
			t.Errorf("%s %s: %d, want %d", c.method, c.path, resp.StatusCode, c.status)
		}
	}
	if asked != 2 {
		t.Errorf("%d reloads, one of them by a request that was refused", asked)
	}
}

// A reload that is under way does not keep the hub from ending.
func TestRunEndsDuringAReload(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	started := make(chan struct{})
	s := New(Config{Folders: []string{dir}, Log: zerolog.Nop(), Status: aHub, Reload: func(ctx context.Context) error {
		close(started)
		<-ctx.Done()
		return ctx.Err()
	}})
	stop := serve(t, s)
	h := await(t, 1, dir)[0]
	failed := make(chan error, 1)
	go func() { failed <- h.Reload(context.Background()) }()
	<-started
	start := time.Now()
	if err := stop(); err != nil {
		t.Error(err)
	}
	if d := time.Since(start); d > bounds.Of(2*time.Second) {
		t.Errorf("took %s", d)
	}
	if err := <-failed; err == nil {
		t.Error("control: it reloaded")
	}
}

// Who connects and says nothing holds no one up.
func TestRunEndsWithASilentClient(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	s := New(Config{Folders: []string{dir}, Log: zerolog.Nop(), Status: aHub})
	stop := serve(t, s)
	c, err := dialSocket(t.Context(), await(t, 1, dir)[0].Socket)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Write([]byte("GET /status HTTP/1.1\r\nHost: x\r\nX: ")); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	if err := stop(); err != nil || time.Since(start) > bounds.Of(2*time.Second) {
		t.Errorf("%v after %s", err, time.Since(start))
	}
}

func TestRights(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("rights are not modes there")
	}
	dir := folder(t)
	serve(t, New(Config{Folders: []string{dir}, Log: zerolog.Nop(), Status: aHub}))
	h := await(t, 1, dir)[0]
	for path, want := range map[string]os.FileMode{dir: 0o700, h.Socket: 0o600} {
		if fi, err := os.Stat(path); err != nil || fi.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", path, fi.Mode(), err)
		}
	}
}

// What is open to others is closed where it is ours; what is no folder, or a
// link to one, is not used, and the next one is.
func TestClaim(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("rights are not modes there")
	}
	wide := folder(t)
	if err := os.MkdirAll(wide, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(wide, 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := Find([]string{wide}); err == nil {
		t.Error("a folder that all may write to was looked into")
	}
	if err := rundir.Claim(wide); err != nil {
		t.Error(err)
	}
	if fi, err := os.Stat(wide); err != nil || fi.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", fi.Mode(), err)
	}
	link := folder(t)
	if err := os.Symlink(wide, link); err != nil {
		t.Fatal(err)
	}
	file := folder(t)
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	below := filepath.Join(file, "run") // cannot be made
	s := New(Config{Folders: []string{link, file, below}, Log: zerolog.Nop(), Status: aHub})
	if err := s.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "is not a folder") {
		t.Errorf("error: %v", err)
	}
	if err := New(Config{Status: aHub}).Run(t.Context()); err == nil {
		t.Error("without a folder there is a socket")
	}
	good := folder(t)
	serve(t, New(Config{Folders: []string{link, file, below, good}, Log: zerolog.Nop(), Status: aHub}))
	await(t, 1, good)
}

// A folder of another user is refused, whatever its rights. As root the test
// gives one away; elsewhere it takes one of root's.
func TestForeignFolder(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("owners are not ids there")
	}
	dir := "/"
	if os.Getuid() == 0 {
		dir = folder(t)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := ownership.CheckFolder(dir); err != nil {
			t.Errorf("control: %v", err)
		}
		if err := os.Chown(dir, 12345, 12345); err != nil {
			t.Fatal(err)
		}
	}
	if err := ownership.CheckFolder(dir); err == nil || !strings.Contains(err.Error(), "belongs to user") {
		t.Errorf("error: %v", err)
	}
	if err := rundir.Claim(dir); err == nil {
		t.Error("it was claimed")
	}
}

// The socket of a hub that was killed is taken away; one that is so new that
// its hub may be about to listen is not, nor is what is no socket.
func TestStaleSockets(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	if err := rundir.Claim(dir); err != nil {
		t.Fatal(err)
	}
	dead := func(name string) string {
		path := filepath.Join(dir, name)
		l, err := listenAt(path)
		if err != nil {
			t.Fatal(err)
		}
		if removes, ok := l.(interface{ SetUnlinkOnClose(bool) }); ok {
			removes.SetUnlinkOnClose(false) // as when it is killed
		}
		_ = l.Close()
		return path
	}
	old, fresh, other := dead("1-aaaaaaaa.sock"), dead("2-bbbbbbbb.sock"), filepath.Join(dir, "3-cccccccc.sock")
	if err := os.Mkdir(other, 0o700); err != nil {
		t.Fatal(err)
	}
	past := time.Now().Add(-time.Hour)
	for _, path := range []string{old, other} {
		if err := os.Chtimes(path, past, past); err != nil {
			t.Fatal(err)
		}
	}
	if hubs := await(t, 0, dir); len(hubs) != 0 {
		t.Errorf("%d hubs", len(hubs))
	}
	if left := sockets(t, dir); len(left) != 2 || left[0] != fresh || left[1] != other {
		t.Errorf("left: %q", left)
	}
	if err := os.Chtimes(fresh, past, past); err != nil {
		t.Fatal(err)
	}
	serve(t, New(Config{Folders: []string{dir}, Log: zerolog.Nop(), Status: aHub})) // a hub that starts tidies up too
	await(t, 1, dir)
	if _, err := os.Lstat(fresh); err == nil {
		t.Error("it is still there")
	}
}

// A process of another user is refused before it is read from, also if it
// has got as far as the socket; one that cannot be told is, too.
func TestForeignPeer(t *testing.T) {
	t.Parallel()
	for name, peer := range map[string]func(caller.Conn) (int, bool, error){
		"another user": func(caller.Conn) (int, bool, error) { return os.Getuid() + 1, true, nil },
		"unknown":      func(caller.Conn) (int, bool, error) { return os.Getuid(), true, errors.New("no answer") },
	} {
		dir := folder(t)
		s := New(Config{Folders: []string{dir}, Log: zerolog.Nop(), Status: func() status.Hub { t.Error(name + " was served"); return status.Hub{} }})
		s.peer = peer
		stop := serve(t, s)
		h := await(t, 1, dir)[0]
		if _, err := h.Status(t.Context()); err == nil {
			t.Errorf("%s got an answer", name)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	}
	dir := folder(t) // control: who can be told is served
	s := New(Config{Folders: []string{dir}, Log: zerolog.Nop(), Status: aHub})
	s.peer = func(c caller.Conn) (int, bool, error) {
		uid, known, err := peerUser(c)
		if runtime.GOOS == "linux" && (!known || uid != os.Getuid()) {
			t.Errorf("the kernel says %d, %v, %v", uid, known, err)
		}
		return uid, known, err
	}
	serve(t, s)
	if _, err := await(t, 1, dir)[0].Status(t.Context()); err != nil {
		t.Error(err)
	}
}

// What answers on a socket of another user is not believed.
func TestForeignServer(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	serve(t, New(Config{Folders: []string{dir}, Log: zerolog.Nop(), Status: aHub}))
	c, err := dialSocket(t.Context(), await(t, 1, dir)[0].Socket)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := sameUser(c, func(caller.Conn) (int, bool, error) { return os.Getuid() + 1, true, nil }); err == nil {
		t.Error("it was believed")
	}
}

// The shape of the report is a promise.
func TestReportShape(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	s := New(Config{Folders: []string{dir}, Version: "v", Log: zerolog.Nop(), Status: aHub})
	raw, err := json.Marshal(s.reportStatus())
	if err != nil {
		t.Fatal(err)
	}
	for _, member := range []string{`"format":1`, `"pid":`, `"version":"v"`, `"started":"`, `"uptimeSeconds":`, `"socket":`, `"config":{"path":"",`,
		`"children":[{"server":"kid",`, `"notServed":[{"server":"off","reason":"disabled"}]`, `"sessions":[{"id":"s",`} {
		if !strings.Contains(string(raw), member) {
			t.Errorf("%s is missing in %s", member, raw)
		}
	}
}
