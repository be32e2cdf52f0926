package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"mcphub/e2e/ide"
	"mcphub/internal/consent"
	"mcphub/internal/spectest"
)

// waitLimit bounds every single wait of a test. It is long: a busy machine must not fail a test, only a hub that hangs.
const waitLimit = 30 * time.Second

// obj is a JSON object.
type obj = map[string]any

// world is one test's piece of disk: a home, a project that is the client's root, and places outside of it.
type world struct {
	t       testing.TB
	dir     string // holds all of it; its name marks every process of this test
	home    string
	project string // the root: hello.txt, sub/deep.txt, link-out -> outside, link-file -> outside/secret.txt
	other   string // a second directory that may become a root: other.txt
	outside string // secret.txt
	sibling string // the project's path plus "-secret": secret.txt

	url      string       // of its hub over HTTP, "" before there is one
	sessions atomic.Int64 // started so far

	sockets []string // says by the environment where the sockets of its hubs lie; nil: beside those of other tests

	heard func(line string) // what servers say that a test waits for; nil: nobody listens
}

const secretText = "the secret that must stay outside"

func newWorld(t testing.TB) *world {
	t.Helper()
	return newWorldIn(t, t.TempDir())
}

// newWorldIn makes a world in an empty directory.
func newWorldIn(t testing.TB, dir string) *world {
	t.Helper()
	dir, err := filepath.EvalSymlinks(dir)
	must(t, err)
	w := &world{t: t, dir: dir, home: filepath.Join(dir, "home"), project: filepath.Join(dir, "project"),
		other: filepath.Join(dir, "other"), outside: filepath.Join(dir, "outside"), sibling: filepath.Join(dir, "project-secret")}
	w.write("home/.keep", "")
	must(t, os.Mkdir(w.path("records"), 0o700))
	w.write("project/hello.txt", "hello from the project\n")
	w.write("project/sub/deep.txt", "deep\n")
	w.write("other/other.txt", "hello from the other one\n")
	w.write("outside/secret.txt", secretText)
	w.write("project-secret/secret.txt", secretText)
	symlink(t, w.outside, filepath.Join(w.project, "link-out"))
	symlink(t, filepath.Join(w.outside, "secret.txt"), filepath.Join(w.project, "link-file"))
	symlink(t, filepath.Join(w.outside, "not-yet.txt"), filepath.Join(w.project, "link-dangling"))
	t.Cleanup(func() {
		wantNone(t, "HOME="+w.home)
		forget(w.consent())
	})
	return w
}

// consent is what hubs of this world keep of what a person has accepted.
func (w *world) consent() *consent.Store {
	return consent.Of(w.path("home", "state", "mcphub"), w.home)
}

// forget removes a Store, which does not lie in the world.
func forget(s *consent.Store) {
	if dir, err := s.Folder(); err == nil && dir != "" {
		_ = os.RemoveAll(dir)
	}
}

func (w *world) path(elem ...string) string {
	return filepath.Join(append([]string{w.dir}, elem...)...)
}

func (w *world) write(name, text string) string {
	w.t.Helper()
	path := w.path(name)
	must(w.t, os.MkdirAll(filepath.Dir(path), 0o700))
	must(w.t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// env is the environment of every process a test starts: what a system needs, a home of its own, and more.
func (w *world) env(more ...string) []string {
	env := []string{"HOME=" + w.home, "USERPROFILE=" + w.home, "XDG_CONFIG_HOME=" + w.path("home", "config"),
		"XDG_CACHE_HOME=" + w.path("home", "cache"), "XDG_STATE_HOME=" + w.path("home", "state"), "NO_COLOR=1"}
	path := os.Getenv("PATH")
	if npm.program != "" {
		path = filepath.Dir(npm.program) + string(os.PathListSeparator) + path
	}
	env = append(env, "PATH="+path)
	for _, name := range []string{"TMPDIR", "TMP", "TEMP", "SYSTEMROOT", "USER", "LANG", "GOCOVERDIR"} {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	if raceDetector {
		// By itself the detector holds every end of a process up for a second: that is no time of the hub's.
		env = append(env, "GORACE=halt_on_error=1 atexit_sleep_ms=0")
	}
	return slices.Concat(env, w.sockets, more)
}

// shortFolder is a folder for sockets, for as long as the test runs: their paths may not be long.
func shortFolder(t testing.TB) string {
	base := "/tmp"
	if runtime.GOOS == "windows" {
		base = ""
	}
	dir, err := os.MkdirTemp(base, "mh")
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// socketsIn says by the environment where all sockets of a test's hubs lie. By itself a hub uses TMPDIR, and what looks for
// hubs finds those of all tests there.
func socketsIn(t testing.TB) []string {
	dir := shortFolder(t)
	return []string{"XDG_RUNTIME_DIR=" + dir, "TMPDIR=" + dir, "LOCALAPPDATA=" + dir}
}

// config writes hub.json beside the home: the children, and what else is given.
func (w *world) config(children obj, more ...obj) string {
	w.t.Helper()
	all := obj{"mcpServers": children}
	for _, m := range more {
		for k, v := range m {
			all[k] = v
		}
	}
	b, err := json.MarshalIndent(all, "", "  ")
	must(w.t, err)
	return w.write("hub.json", string(b))
}

// recorder is the entry of a recording child in hub.json; its files bear its name.
func (w *world) recorder(name string, flags ...string) obj {
	return obj{"command": bin.recorder, "args": append([]string{}, flags...), "sandbox": w.recording(),
		"env": obj{"RECORDER_FILE": w.record(name), "RECORDER_STATE": w.stateOf(name)}}
}

// free is an entry whose process the kernel does not hold: it starts before the roots are known, and is told of changes.
func free(entry obj) obj {
	entry["sandbox"] = "off"
	return entry
}

// record and stateOf are the files of a recorder.
func (w *world) record(name string) string  { return w.path("records", name+".record") }
func (w *world) stateOf(name string) string { return w.path("records", name+".state") }

// recording has a recorder write its files, which lie in no root, and start a server that does.
func (w *world) recording(servers ...string) obj {
	return obj{"write": []string{w.path("records")}, "read": append([]string{}, servers...)}
}

// recorderEnv is that environment for a recorder which a test starts itself.
func (w *world) recorderEnv(name string) []string {
	return w.env("RECORDER_FILE="+w.record(name), "RECORDER_STATE="+w.stateOf(name))
}

// wrapped is the entry of a real server with the recorder in front of it. The command is called program, which is how a hub
// knows the server.
func (w *world) wrapped(name, program string, command, args []string) obj {
	w.t.Helper()
	wrap, err := json.Marshal(command)
	must(w.t, err)
	link := w.path("bin", program)
	must(w.t, os.MkdirAll(filepath.Dir(link), 0o700))
	symlink(w.t, bin.recorder, link)
	return obj{"command": link, "args": append([]string{}, args...), "sandbox": w.recording(behind(command)...),
		"env": obj{"RECORDER_FILE": w.record(name), "RECORDER_STATE": w.stateOf(name), "RECORDER_WRAP": string(wrap)}}
}

// behind is what must be open for a command that a recorder starts, which the hub does not know of.
func behind(command []string) (open []string) {
	for _, word := range command {
		switch modules, _, installed := strings.Cut(word, "/node_modules/"); {
		case installed:
			open = append(open, modules+"/node_modules")
		case filepath.IsAbs(word):
			open = append(open, filepath.Dir(word))
		}
	}
	return open
}

// recorded gives every line that reached a recording child so far.
func (w *world) recorded(name string) string {
	w.t.Helper()
	b, err := os.ReadFile(w.record(name))
	if !os.IsNotExist(err) {
		must(w.t, err)
	}
	return string(b)
}

// started is one start of a recorder.
type started struct {
	PID        int      `json:"pid"`
	Args       []string `json:"args"`
	Cwd        string   `json:"cwd"`
	Env        []string `json:"env"`
	Grandchild int      `json:"grandchild"`
}

func (w *world) starts(name string) []started {
	w.t.Helper()
	b, err := os.ReadFile(w.stateOf(name))
	if os.IsNotExist(err) {
		return nil
	}
	must(w.t, err)
	var all []started
	for line := range strings.Lines(string(b)) {
		var s started
		must(w.t, json.Unmarshal([]byte(line), &s))
		all = append(all, s)
	}
	return all
}

// session is a fake editor connected to something.
type session struct {
	*ide.Client
	t    testing.TB
	mark string // in the environment of the process and of all that it starts
	talk *talk  // what it and the hub said to each other; nil for any other program

	exitStatus int  // what the process must end with
	sloppy     bool // stdout may hold what is no protocol: a child seen with no hub in front
	odd        bool // a child says what the specification does not allow, and the hub passes it on
	quotes     bool // a server repeats what it is asked, or prints files of the hub: what is in them reaches the client
}

// start starts any program with a fake editor on its pipes. When the test ends it must end too, cleanly, and leave nothing.
func (w *world) start(o ide.Options) *session {
	w.t.Helper()
	if o.Env == nil {
		o.Env = w.env()
	}
	if o.Dir == "" {
		o.Dir = w.home
	}
	// A name of the kind that the hub hands on to its children (C7), so that they bear the mark too.
	mark := fmt.Sprintf("XDG_MCPHUB_E2E=%s#%d;", w.dir, w.sessions.Add(1))
	o.Env = append(slices.Clone(o.Env), mark)
	s := &session{t: w.t, mark: mark}
	if o.Command == bin.mcphub && o.Saw == nil {
		s.talk = newTalk()
		o.Saw = s.talk.saw
	}
	c, err := ide.Start(o)
	must(w.t, err)
	s.Client = c
	w.t.Cleanup(func() { s.end(stopBound) })
	return s
}

// stopBound is how long a hub may take to end after its stdin has: 1 s for calls already read, 2.5 s for the children.
const stopBound = 3500 * time.Millisecond

// end closes the session and judges how it went. It may be called again.
func (s *session) end(bound time.Duration) ide.Exit {
	s.t.Helper()
	e := s.Close(bound + 5*time.Second)
	if e.Killed || e.Took > bound {
		s.t.Errorf("took %v to end after its stdin did (bound %v), killed: %v", e.Took, bound, e.Killed)
	}
	if e.Code != s.exitStatus {
		s.t.Errorf("exit status %d, want %d", e.Code, s.exitStatus)
	}
	if e.Held {
		s.t.Error("something still holds its stdout or stderr after its end")
	}
	for _, v := range s.Violations() {
		if !s.sloppy {
			s.t.Errorf("on stdout: %s", v)
		}
	}
	for _, text := range s.Widening() {
		if s.quotes {
			break
		}
		s.t.Errorf("a client is told what opens something to a server: %s", text)
	}
	if s.talk != nil && !s.odd {
		s.talk.judge(s.t, "the hub", spectest.Server)
	}
	stderr := s.Stderr()
	if strings.Contains(stderr, "DATA RACE") || strings.Contains(stderr, "panic:") {
		s.t.Errorf("stderr holds a race or a panic")
	}
	wantNone(s.t, s.mark)
	if s.t.Failed() {
		s.t.Logf("stderr:\n%s", stderr)
	}
	return e
}

// serve starts the hub with this configuration and a fake editor that has these roots. The handshake is the caller's.
func (w *world) serve(config string, roots ide.Roots) *session {
	w.t.Helper()
	return w.start(ide.Options{Command: mcphub(w.t), Args: []string{"serve", "--config", config}, Roots: roots})
}

// direct starts a recorder with no hub in between.
func (w *world) direct(name string, roots ide.Roots, flags ...string) *session {
	w.t.Helper()
	return w.start(ide.Options{Command: bin.recorder, Args: flags, Env: w.recorderEnv(name), Roots: roots})
}

func (s *session) ctx() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), waitLimit)
	s.t.Cleanup(cancel)
	return ctx
}

func (s *session) initialize() ide.Message {
	s.t.Helper()
	m, err := s.Initialize(s.ctx())
	must(s.t, err)
	return m
}

// send starts a tools/call; arguments is raw.
func (s *session) send(tool, arguments string) (id string) {
	s.t.Helper()
	id, err := s.StartTool(tool, arguments)
	must(s.t, err)
	return id
}

// await gives the tool result that answers id.
func (s *session) await(id string) ide.ToolResult {
	s.t.Helper()
	r, err := s.ToolAnswer(s.ctx(), id)
	must(s.t, err)
	return r
}

// call calls a tool and wants it to work.
func (s *session) call(tool, arguments string) ide.ToolResult {
	s.t.Helper()
	r := s.await(s.send(tool, arguments))
	if r.IsError {
		s.t.Fatalf("%s %s: %s", tool, arguments, r.Text)
	}
	return r
}

// callArgs is call with arguments that are not raw.
func (s *session) callArgs(tool string, arguments obj) ide.ToolResult {
	s.t.Helper()
	return s.call(tool, raw(s.t, arguments))
}

// request sends any request and gives its answer, an error answer too.
func (s *session) request(method, params string) ide.Message {
	s.t.Helper()
	m, err := s.Call(s.ctx(), method, params)
	must(s.t, err)
	return m
}

// rpcError sends a request that must be answered with a JSON-RPC error of this code.
func (s *session) rpcError(method, params string, code int64) ide.RPCError {
	s.t.Helper()
	m := s.request(method, params)
	e, failed := m.RPCError()
	if !failed || e.Code != code {
		s.t.Errorf("%s %s: want the error %d, got %s", method, params, code, m.Raw)
	}
	return e
}

// denied wants a call refused in the words of V8: path as it must be quoted, roots as the client gave them.
func (s *session) denied(tool, arguments, path string, roots ...string) ide.ToolResult {
	s.t.Helper()
	r := s.await(s.send(tool, arguments))
	s.wantDenied(r, path, roots...)
	return r
}

func (s *session) wantDenied(r ide.ToolResult, path string, roots ...string) {
	s.t.Helper()
	want := denial(path, roots...)
	if !r.IsError || !strings.HasPrefix(r.Text, want) {
		s.t.Errorf("want a denial\n  %s\ngot isError=%v\n  %s", want, r.IsError, r.Text)
	}
}

// calls counts the calls of a tool in what a recorder wrote down.
func calls(recorded, tool string) int {
	return strings.Count(recorded, fmt.Sprintf(`"name":%q`, tool))
}

// denial is the first sentence of V8.
func denial(path string, roots ...string) string {
	uris := make([]string, 0, len(roots))
	for _, dir := range roots {
		uris = append(uris, `"`+ide.FileURI(dir)+`"`)
	}
	return "Access denied: Path '" + path + "' is outside the allowed roots boundaries. Current roots: [" + strings.Join(uris, ", ") + "]"
}

// tools lists every tool, all pages, each entry raw, by name.
func (s *session) tools() map[string]json.RawMessage {
	s.t.Helper()
	all := map[string]json.RawMessage{}
	for cursor := ""; ; {
		params := `{}`
		if cursor != "" {
			params = raw(s.t, obj{"cursor": cursor})
		}
		m := s.request("tools/list", params)
		var page struct {
			Tools      []json.RawMessage
			NextCursor string
		}
		if m.Result == nil {
			s.t.Fatalf("tools/list: %s", m.Raw)
		}
		must(s.t, json.Unmarshal(m.Result, &page))
		for _, entry := range page.Tools {
			var tool struct{ Name string }
			must(s.t, json.Unmarshal(entry, &tool))
			if all[tool.Name] != nil {
				s.t.Errorf("tools/list names %s twice", tool.Name)
			}
			all[tool.Name] = entry
		}
		if cursor = page.NextCursor; cursor == "" {
			return all
		}
	}
}

// awaitTool waits until a tool is on the list: at once, or after the list_changed that announces it.
func (s *session) awaitTool(name string) map[string]json.RawMessage {
	s.t.Helper()
	for seen := 0; ; seen++ {
		all := s.tools()
		if all[name] != nil {
			return all
		}
		changes := 0
		_, err := s.Await(s.ctx(), "tools/list_changed that brings "+name, func(m ide.Message) bool {
			if m.IsNotification() && m.Method == "notifications/tools/list_changed" {
				changes++
			}
			return changes > seen
		})
		must(s.t, err)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func symlink(t testing.TB, target, link string) {
	t.Helper()
	must(t, os.Symlink(target, link))
}

func raw(t testing.TB, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	must(t, err)
	return string(b)
}

// names gives the keys, sorted.
func names[V any](m map[string]V) []string {
	all := make([]string, 0, len(m))
	for k := range m {
		all = append(all, k)
	}
	slices.Sort(all)
	return all
}

// longCases is how often something is done: few times, or as MCPHUB_LONG_CASES says, at most that often.
func longCases(t testing.TB, few, most int) int {
	t.Helper()
	s := os.Getenv("MCPHUB_LONG_CASES")
	if s == "" {
		return few
	}
	n, err := strconv.Atoi(s)
	must(t, err)
	return min(n, most)
}
