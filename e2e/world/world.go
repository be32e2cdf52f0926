package world

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"mcphub/children/consent"
	"mcphub/e2e/bounds"
	"mcphub/e2e/ide"
)

// WaitLimit bounds every single wait of a test. It is long: a busy machine must not fail a test, only a hub that hangs.
const WaitLimit = bounds.Patience

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

	Sessions atomic.Int64 // started so far

	Runtime string // folder for the sockets of its hubs, with a short path

	Heard func(line string) // gets each line of a server; nil: no test listens
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
		Other: filepath.Join(dir, "other"), Outside: filepath.Join(dir, "outside"), Sibling: filepath.Join(dir, "project-secret"), Runtime: ShortFolder(t)}
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

// Consent returns what hubs of this world keep of what a person has accepted.
func (w *World) Consent() *consent.Store {
	return consent.NewFor(w.Path("home", "state", "mcphub"), w.Home)
}

// Forget removes a Store, which does not lie in the world.
func Forget(s *consent.Store) {
	if dir, err := s.Folder(); err == nil && dir != "" {
		_ = os.RemoveAll(dir)
	}
}

// Path returns a path in the world.
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

// Env returns the environment of every process a test starts: what a system needs, a home of its own, and more.
func (w *World) Env(more ...string) []string {
	env := []string{"HOME=" + w.Home, "USERPROFILE=" + w.Home, "XDG_CONFIG_HOME=" + w.Path("home", "config"),
		"XDG_CACHE_HOME=" + w.Path("home", "cache"), "XDG_STATE_HOME=" + w.Path("home", "state"), "NO_COLOR=1"}
	path := os.Getenv("PATH")
	if NPM.Program != "" {
		path = filepath.Dir(NPM.Program) + string(os.PathListSeparator) + path
	}
	env = append(env, "PATH="+path)
	for _, name := range []string{"TMP", "TEMP", "SYSTEMROOT", "USER", "LANG", "GOCOVERDIR"} {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	if RaceDetector {
		// By itself the detector holds every end of a process up for a second: that is no time of the hub's.
		env = append(env, "GORACE=halt_on_error=1 atexit_sleep_ms=0")
	}
	return slices.Concat(env, w.Temp(), more)
}

// Temp returns the variables that lead to the world's own folder for sockets. Without them what looks for hubs finds those of other tests.
func (w *World) Temp() []string {
	return []string{"XDG_RUNTIME_DIR=" + w.Runtime, "TMPDIR=" + w.Runtime, "LOCALAPPDATA=" + w.Runtime}
}

// ShortFolder returns a folder for sockets, for as long as the test runs: their paths may not be long.
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

// Recorder returns the entry of a recording child in hub.json; its files bear its name.
func (w *World) Recorder(name string, flags ...string) obj {
	return obj{"command": Bin.Recorder, "args": append([]string{}, flags...), "sandbox": w.recording(),
		"env": obj{"RECORDER_FILE": w.Record(name), "RECORDER_STATE": w.StateOf(name)}}
}

// Free returns an entry whose process the kernel does not hold: it starts before the roots are known, and is told about changes.
func Free(entry obj) obj {
	entry["sandbox"] = "off"
	return entry
}

// Record returns what a recorder was sent, line by line.
func (w *World) Record(name string) string { return w.Path("records", name+".record") }

// StateOf returns what a recorder notes of each of its starts.
func (w *World) StateOf(name string) string { return w.Path("records", name+".state") }

// recording has a recorder write its files, which lie in no root, and start a server that does.
func (w *World) recording(servers ...string) obj {
	return obj{"write": []string{w.Path("records")}, "read": append([]string{}, servers...)}
}

// RecorderEnv returns that environment for a recorder which a test starts itself.
func (w *World) RecorderEnv(name string) []string {
	return w.Env("RECORDER_FILE="+w.Record(name), "RECORDER_STATE="+w.StateOf(name))
}

// Wrapped returns the entry of a real server with the recorder in front of it. The command is called program, which is how
// a hub knows the server.
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

// behind returns what must be open for a command that a recorder starts, which the hub does not know of.
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

// Starts returns the starts of a recorder so far.
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
