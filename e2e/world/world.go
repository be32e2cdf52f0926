package world

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

// WaitLimit bounds every single wait of a test. It is long: a busy machine must not fail a test, only a hub that hangs.
const WaitLimit = 30 * time.Second

// obj is a JSON object.
type obj = map[string]any

// World is one test's piece of disk: a home, a project that is the client's root, and places outside of it.
type World struct {
	T       testing.TB
	Dir     string // holds all of it; its name marks every process of this test
	Home    string
	Project string // the root: hello.txt, sub/deep.txt, link-out -> outside, link-file -> outside/secret.txt
	Other   string // a second directory that may become a root: other.txt
	Outside string // secret.txt
	Sibling string // the project's path plus "-secret": secret.txt

	URL      string       // of its hub over HTTP, "" before there is one
	Sessions atomic.Int64 // started so far

	Sockets []string // says by the environment where the sockets of its hubs lie; nil: beside those of other tests

	Heard func(line string) // what servers say that a test waits for; nil: nobody listens
}

// SecretText is what lies outside, and what no answer may hold.
const SecretText = "the secret that must stay outside"

// New makes a world in a folder of the test.
func New(t testing.TB) *World {
	t.Helper()
	return NewIn(t, t.TempDir())
}

// NewIn makes a world in an empty directory.
func NewIn(t testing.TB, dir string) *World {
	t.Helper()
	dir, err := filepath.EvalSymlinks(dir)
	Must(t, err)
	w := &World{T: t, Dir: dir, Home: filepath.Join(dir, "home"), Project: filepath.Join(dir, "project"),
		Other: filepath.Join(dir, "other"), Outside: filepath.Join(dir, "outside"), Sibling: filepath.Join(dir, "project-secret")}
	w.Write("home/.keep", "")
	Must(t, os.Mkdir(w.Path("records"), 0o700))
	w.Write("project/hello.txt", "hello from the project\n")
	w.Write("project/sub/deep.txt", "deep\n")
	w.Write("other/other.txt", "hello from the other one\n")
	w.Write("outside/secret.txt", SecretText)
	w.Write("project-secret/secret.txt", SecretText)
	Symlink(t, w.Outside, filepath.Join(w.Project, "link-out"))
	Symlink(t, filepath.Join(w.Outside, "secret.txt"), filepath.Join(w.Project, "link-file"))
	Symlink(t, filepath.Join(w.Outside, "not-yet.txt"), filepath.Join(w.Project, "link-dangling"))
	t.Cleanup(func() {
		WantNone(t, "HOME="+w.Home)
		Forget(w.Consent())
	})
	return w
}

// Consent is what hubs of this world keep of what a person has accepted.
func (w *World) Consent() *consent.Store {
	return consent.Of(w.Path("home", "state", "mcphub"), w.Home)
}

// Forget removes a Store, which does not lie in the world.
func Forget(s *consent.Store) {
	if dir, err := s.Folder(); err == nil && dir != "" {
		_ = os.RemoveAll(dir)
	}
}

// Path is a path in the world.
func (w *World) Path(elem ...string) string {
	return filepath.Join(append([]string{w.Dir}, elem...)...)
}

// Write writes a file of the world and gives its path.
func (w *World) Write(name, text string) string {
	w.T.Helper()
	path := w.Path(name)
	Must(w.T, os.MkdirAll(filepath.Dir(path), 0o700))
	Must(w.T, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// Env is the environment of every process a test starts: what a system needs, a home of its own, and more.
func (w *World) Env(more ...string) []string {
	env := []string{"HOME=" + w.Home, "USERPROFILE=" + w.Home, "XDG_CONFIG_HOME=" + w.Path("home", "config"),
		"XDG_CACHE_HOME=" + w.Path("home", "cache"), "XDG_STATE_HOME=" + w.Path("home", "state"), "NO_COLOR=1"}
	path := os.Getenv("PATH")
	if NPM.Program != "" {
		path = filepath.Dir(NPM.Program) + string(os.PathListSeparator) + path
	}
	env = append(env, "PATH="+path)
	for _, name := range []string{"TMPDIR", "TMP", "TEMP", "SYSTEMROOT", "USER", "LANG", "GOCOVERDIR"} {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	if RaceDetector {
		// By itself the detector holds every end of a process up for a second: that is no time of the hub's.
		env = append(env, "GORACE=halt_on_error=1 atexit_sleep_ms=0")
	}
	return slices.Concat(env, w.Sockets, more)
}

// ShortFolder is a folder for sockets, for as long as the test runs: their paths may not be long.
func ShortFolder(t testing.TB) string {
	base := "/tmp"
	if runtime.GOOS == "windows" {
		base = ""
	}
	dir, err := os.MkdirTemp(base, "mh")
	Must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// SocketsIn says by the environment where all sockets of a test's hubs lie. By itself a hub uses TMPDIR, and what looks for
// hubs finds those of all tests there.
func SocketsIn(t testing.TB) []string {
	dir := ShortFolder(t)
	return []string{"XDG_RUNTIME_DIR=" + dir, "TMPDIR=" + dir, "LOCALAPPDATA=" + dir}
}

// Config writes hub.json beside the home: the children, and what else is given.
func (w *World) Config(children obj, more ...obj) string {
	w.T.Helper()
	all := obj{"mcpServers": children}
	for _, m := range more {
		for k, v := range m {
			all[k] = v
		}
	}
	b, err := json.MarshalIndent(all, "", "  ")
	Must(w.T, err)
	return w.Write("hub.json", string(b))
}

// Recorder is the entry of a recording child in hub.json; its files bear its name.
func (w *World) Recorder(name string, flags ...string) obj {
	return obj{"command": Bin.Recorder, "args": append([]string{}, flags...), "sandbox": w.recording(),
		"env": obj{"RECORDER_FILE": w.Record(name), "RECORDER_STATE": w.StateOf(name)}}
}

// Free is an entry whose process the kernel does not hold: it starts before the roots are known, and is told of changes.
func Free(entry obj) obj {
	entry["sandbox"] = "off"
	return entry
}

// Record is what a recorder was sent, line by line.
func (w *World) Record(name string) string { return w.Path("records", name+".record") }

// StateOf is what a recorder notes of each of its starts.
func (w *World) StateOf(name string) string { return w.Path("records", name+".state") }

// recording has a recorder write its files, which lie in no root, and start a server that does.
func (w *World) recording(servers ...string) obj {
	return obj{"write": []string{w.Path("records")}, "read": append([]string{}, servers...)}
}

// RecorderEnv is that environment for a recorder which a test starts itself.
func (w *World) RecorderEnv(name string) []string {
	return w.Env("RECORDER_FILE="+w.Record(name), "RECORDER_STATE="+w.StateOf(name))
}

// Wrapped is the entry of a real server with the recorder in front of it. The command is called program, which is how a hub
// knows the server.
func (w *World) Wrapped(name, program string, command, args []string) obj {
	w.T.Helper()
	wrap, err := json.Marshal(command)
	Must(w.T, err)
	link := w.Path("bin", program)
	Must(w.T, os.MkdirAll(filepath.Dir(link), 0o700))
	Symlink(w.T, Bin.Recorder, link)
	return obj{"command": link, "args": append([]string{}, args...), "sandbox": w.recording(behind(command)...),
		"env": obj{"RECORDER_FILE": w.Record(name), "RECORDER_STATE": w.StateOf(name), "RECORDER_WRAP": string(wrap)}}
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

// Recorded gives every line that reached a recording child so far.
func (w *World) Recorded(name string) string {
	w.T.Helper()
	b, err := os.ReadFile(w.Record(name))
	if !os.IsNotExist(err) {
		Must(w.T, err)
	}
	return string(b)
}

// Started is one start of a recorder.
type Started struct {
	PID        int      `json:"pid"`
	Args       []string `json:"args"`
	Cwd        string   `json:"cwd"`
	Env        []string `json:"env"`
	Grandchild int      `json:"grandchild"`
}

// Starts are those of a recorder so far.
func (w *World) Starts(name string) []Started {
	w.T.Helper()
	b, err := os.ReadFile(w.StateOf(name))
	if os.IsNotExist(err) {
		return nil
	}
	Must(w.T, err)
	var all []Started
	for line := range strings.Lines(string(b)) {
		var s Started
		Must(w.T, json.Unmarshal([]byte(line), &s))
		all = append(all, s)
	}
	return all
}

// Session is a fake editor connected to something.
type Session struct {
	*ide.Client
	T    testing.TB
	Mark string // in the environment of the process and of all that it starts
	Talk *Talk  // what it and the hub said to each other; nil for any other program

	ExitStatus int  // what the process must end with
	Sloppy     bool // stdout may hold what is no protocol: a child seen with no hub in front
	Odd        bool // a child says what the specification does not allow, and the hub passes it on
	Quotes     bool // a server repeats what it is asked, or prints files of the hub: what is in them reaches the client
}

// Start starts any program with a fake editor on its pipes. When the test ends it must end too, cleanly, and leave nothing.
func (w *World) Start(o ide.Options) *Session {
	w.T.Helper()
	if o.Env == nil {
		o.Env = w.Env()
	}
	if o.Dir == "" {
		o.Dir = w.Home
	}
	// A name of the kind that the hub hands on to its children, so that they bear the mark too.
	mark := fmt.Sprintf("XDG_MCPHUB_E2E=%s#%d;", w.Dir, w.Sessions.Add(1))
	o.Env = append(slices.Clone(o.Env), mark)
	s := &Session{T: w.T, Mark: mark}
	if o.Command == Bin.Hub && o.Saw == nil {
		s.Talk = newTalk()
		o.Saw = s.Talk.saw
	}
	c, err := ide.Start(o)
	Must(w.T, err)
	s.Client = c
	w.T.Cleanup(func() { s.End(StopBound) })
	return s
}

// StopBound is how long a hub may take to end after its stdin has: 1 s for calls already read, 2.5 s for the children.
const StopBound = 3500 * time.Millisecond

// End closes the session and judges how it went. It may be called again.
func (s *Session) End(bound time.Duration) ide.Exit {
	s.T.Helper()
	e := s.Close(bound + 5*time.Second)
	if e.Killed || e.Took > bound {
		s.T.Errorf("took %v to end after its stdin did (bound %v), killed: %v", e.Took, bound, e.Killed)
	}
	if e.Code != s.ExitStatus {
		s.T.Errorf("exit status %d, want %d", e.Code, s.ExitStatus)
	}
	if e.Held {
		s.T.Error("something still holds its stdout or stderr after its end")
	}
	for _, v := range s.Violations() {
		if !s.Sloppy {
			s.T.Errorf("on stdout: %s", v)
		}
	}
	for _, text := range s.Widening() {
		if s.Quotes {
			break
		}
		s.T.Errorf("a client is told what opens something to a server: %s", text)
	}
	if s.Talk != nil && !s.Odd {
		s.Talk.Judge(s.T, "the hub", spectest.Server)
	}
	stderr := s.Stderr()
	if strings.Contains(stderr, "DATA RACE") || strings.Contains(stderr, "panic:") {
		s.T.Errorf("stderr holds a race or a panic")
	}
	WantNone(s.T, s.Mark)
	if s.T.Failed() {
		s.T.Logf("stderr:\n%s", stderr)
	}
	return e
}

// Serve starts the hub with this configuration and a fake editor that has these roots. The handshake is the caller's.
func (w *World) Serve(config string, roots ide.Roots) *Session {
	w.T.Helper()
	return w.Start(ide.Options{Command: Hub(w.T), Args: []string{"serve", "--config", config}, Roots: roots})
}

// Direct starts a recorder with no hub in between.
func (w *World) Direct(name string, roots ide.Roots, flags ...string) *Session {
	w.T.Helper()
	return w.Start(ide.Options{Command: Bin.Recorder, Args: flags, Env: w.RecorderEnv(name), Roots: roots})
}

// Context ends after WaitLimit.
func (s *Session) Context() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), WaitLimit)
	s.T.Cleanup(cancel)
	return ctx
}

// Handshake opens the session, and gives the answer to initialize.
func (s *Session) Handshake() ide.Message {
	s.T.Helper()
	m, err := s.Initialize(s.Context())
	Must(s.T, err)
	return m
}

// SendCall starts a tools/call; arguments is raw.
func (s *Session) SendCall(tool, arguments string) (id string) {
	s.T.Helper()
	id, err := s.StartTool(tool, arguments)
	Must(s.T, err)
	return id
}

// AwaitCall gives the tool result that answers id.
func (s *Session) AwaitCall(id string) ide.ToolResult {
	s.T.Helper()
	r, err := s.ToolAnswer(s.Context(), id)
	Must(s.T, err)
	return r
}

// MustCall calls a tool and wants it to work.
func (s *Session) MustCall(tool, arguments string) ide.ToolResult {
	s.T.Helper()
	r := s.AwaitCall(s.SendCall(tool, arguments))
	if r.IsError {
		s.T.Fatalf("%s %s: %s", tool, arguments, r.Text)
	}
	return r
}

// MustCallArgs is call with arguments that are not raw.
func (s *Session) MustCallArgs(tool string, arguments obj) ide.ToolResult {
	s.T.Helper()
	return s.MustCall(tool, Raw(s.T, arguments))
}

// MustRequest sends any request and gives its answer, an error answer too.
func (s *Session) MustRequest(method, params string) ide.Message {
	s.T.Helper()
	m, err := s.Call(s.Context(), method, params)
	Must(s.T, err)
	return m
}

// RpcError sends a request that must be answered with a JSON-RPC error of this code.
func (s *Session) RpcError(method, params string, code int64) ide.RPCError {
	s.T.Helper()
	m := s.MustRequest(method, params)
	e, failed := m.RPCError()
	if !failed || e.Code != code {
		s.T.Errorf("%s %s: want the error %d, got %s", method, params, code, m.Raw)
	}
	return e
}

// Denied wants a call refused in the words of a denial: path as it must be quoted, roots as the client gave them.
func (s *Session) Denied(tool, arguments, path string, roots ...string) ide.ToolResult {
	s.T.Helper()
	r := s.AwaitCall(s.SendCall(tool, arguments))
	s.WantDenied(r, path, roots...)
	return r
}

// WantDenied wants a result to be a denial, as Denied does.
func (s *Session) WantDenied(r ide.ToolResult, path string, roots ...string) {
	s.T.Helper()
	want := Denial(path, roots...)
	if !r.IsError || !strings.HasPrefix(r.Text, want) {
		s.T.Errorf("want a denial\n  %s\ngot isError=%v\n  %s", want, r.IsError, r.Text)
	}
}

// Calls counts the calls of a tool in what a recorder wrote down.
func Calls(recorded, tool string) int {
	return strings.Count(recorded, fmt.Sprintf(`"name":%q`, tool))
}

// Denial is the first sentence of it.
func Denial(path string, roots ...string) string {
	uris := make([]string, 0, len(roots))
	for _, dir := range roots {
		uris = append(uris, `"`+ide.FileURI(dir)+`"`)
	}
	return "Access denied: Path '" + path + "' is outside the allowed roots boundaries. Current roots: [" + strings.Join(uris, ", ") + "]"
}

// Tools lists every tool, all pages, each entry raw, by name.
func (s *Session) Tools() map[string]json.RawMessage {
	s.T.Helper()
	all := map[string]json.RawMessage{}
	for cursor := ""; ; {
		params := `{}`
		if cursor != "" {
			params = Raw(s.T, obj{"cursor": cursor})
		}
		m := s.MustRequest("tools/list", params)
		var page struct {
			Tools      []json.RawMessage
			NextCursor string
		}
		if m.Result == nil {
			s.T.Fatalf("tools/list: %s", m.Raw)
		}
		Must(s.T, json.Unmarshal(m.Result, &page))
		for _, entry := range page.Tools {
			var tool struct{ Name string }
			Must(s.T, json.Unmarshal(entry, &tool))
			if all[tool.Name] != nil {
				s.T.Errorf("tools/list names %s twice", tool.Name)
			}
			all[tool.Name] = entry
		}
		if cursor = page.NextCursor; cursor == "" {
			return all
		}
	}
}

// AwaitTool waits until a tool is on the list: at once, or after the list_changed that announces it.
func (s *Session) AwaitTool(name string) map[string]json.RawMessage {
	s.T.Helper()
	for seen := 0; ; seen++ {
		all := s.Tools()
		if all[name] != nil {
			return all
		}
		changes := 0
		_, err := s.Await(s.Context(), "tools/list_changed that brings "+name, func(m ide.Message) bool {
			if m.IsNotification() && m.Method == "notifications/tools/list_changed" {
				changes++
			}
			return changes > seen
		})
		Must(s.T, err)
	}
}

// Must ends the test with an error.
func Must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Symlink makes a link.
func Symlink(t testing.TB, target, link string) {
	t.Helper()
	Must(t, os.Symlink(target, link))
}

// Raw is JSON of a value.
func Raw(t testing.TB, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	Must(t, err)
	return string(b)
}

// Names gives the keys, sorted.
func Names[V any](m map[string]V) []string {
	all := make([]string, 0, len(m))
	for k := range m {
		all = append(all, k)
	}
	slices.Sort(all)
	return all
}

// LongCases is how often something is done: few times, or as MCPHUB_LONG_CASES says, at most that often.
func LongCases(t testing.TB, few, most int) int {
	t.Helper()
	s := os.Getenv("MCPHUB_LONG_CASES")
	if s == "" {
		return few
	}
	n, err := strconv.Atoi(s)
	Must(t, err)
	return min(n, most)
}
