package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"mcphub/cmd/mcphub/internal/clients"
	"mcphub/cmd/mcphub/internal/trial"
	"mcphub/hub"
	"mcphub/hub/status"
)

// dialogue runs a command of clientWork in a scratch home with two clients,
// with these answers typed.
func dialogue(t *testing.T, answers string, run func(w *clientWork) error) (home, said string, err error) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the places are those of Linux")
	}
	home = t.TempDir()
	for _, name := range []string{"MCPHUB_CONFIG", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "CODEX_HOME"} {
		t.Setenv(name, "")
	}
	t.Setenv("HOME", home)
	project := filepath.Join(home, "project")
	for name, text := range map[string]string{
		".cursor/mcp.json":   `{"mcpServers": {"one": {"command": "sh"}, "two": {"command": "sh", "args": ["-c", "two"], "env": {"TOKEN": "plain-1"}}}}`,
		".lmstudio/mcp.json": `{"mcpServers": {"three": {"command": "sh", "args": ["-c", "three"]}}}`,
		"project/x":          "",
	} {
		path := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(project)
	var out bytes.Buffer
	w := &clientWork{
		ctx:   t.Context(),
		env:   clients.Env{OS: "linux", Home: home, Get: func(string) string { return "" }},
		store: &clients.Store{Dir: filepath.Join(home, "state")},
		out:   &out, say: &out, in: bufio.NewReader(strings.NewReader(answers)),
		try: func(_ context.Context, cfg hub.Config, name string, _ trial.Options) (trial.Result, error) {
			at := slices.IndexFunc(cfg.Children, func(c hub.Child) bool { return c.Spec.Name == name })
			r := trial.Result{Works: !strings.Contains(strings.Join(cfg.Children[at].Spec.Args, " "), "broken")}
			r.Run = trial.Attempt{Spec: cfg.Children[at].Spec, Status: status.Child{State: "backing off"}}
			if r.Works {
				r.Run.Status.State = "ready"
			}
			return r, nil
		},
	}
	w.store.Cipher = w.copyCipher()
	err = run(w)
	return home, out.String(), err
}

func initHere(w *clientWork) error { return w.init(nil) }

func fileText(t *testing.T, parts ...string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(parts...))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return string(b)
}

func TestInitAsks(t *testing.T) {
	// Two of the three servers, try them, both clients, off, the folder of LM Studio, write.
	home, said, err := dialogue(t, "1,9\n1,3\ny\nall\ny\n\n\ny\n", initHere)
	if err != nil {
		t.Fatal(err, said)
	}
	hub := fileText(t, home, ".config/mcphub/hub.json")
	if !strings.Contains(hub, `"one"`) || strings.Contains(hub, `"two"`) || !strings.Contains(hub, `"three"`) {
		t.Errorf("got %s", hub)
	}
	cursor := fileText(t, home, ".cursor/mcp.json")
	if strings.Contains(cursor, `"one"`) || !strings.Contains(cursor, `"two"`) || !strings.Contains(cursor, "serve") {
		t.Errorf("got %s", cursor)
	}
	if lm := fileText(t, home, ".lmstudio/mcp.json"); !strings.Contains(lm, `"--roots", "`+filepath.Join(home, "project")+`"`) || strings.Contains(lm, "three") {
		t.Errorf("got %s", lm)
	}
	for _, want := range []string{`"1,9" is none of that.`, "On this machine:", "LM Studio does not tell the hub which folders are open", "two: the secret of env.TOKEN is kept outside of hub.json, as two/TOKEN", "- one (kept in the backup)"} {
		if !strings.Contains(said, want) {
			t.Errorf("%q is missing in:\n%s", want, said)
		}
	}
	if strings.Contains(said, "plain-1") {
		t.Error("a secret is shown")
	}
}

// What servers define is kept in hub.lock if a person says so, once everything else is done. No answer is a no, --yes does not answer, and
// a hub.lock that is there stays.
func TestInitOffersALock(t *testing.T) {
	const answers = "1,3\ny\nall\ny\n\n\ny\n"
	for name, tc := range map[string]struct {
		answers     string
		yes, locked bool
		fails       bool
		want        int
	}{
		"yes": {answers: answers + "y\n", want: 1}, "no": {answers: answers + "n\n"}, "enter": {answers: answers + "\n"}, "the end": {answers: answers},
		"--yes": {answers: "y\n", yes: true}, "it is there": {answers: answers + "y\n", locked: true}, "it fails": {answers: answers + "y\n", fails: true, want: 1},
	} {
		t.Run(name, func(t *testing.T) {
			written := 0
			home, said, err := dialogue(t, tc.answers, func(w *clientWork) error {
				w.yes = tc.yes
				if tc.yes {
					w.in = nil
				}
				dir := filepath.Join(w.env.Home, ".config", "mcphub")
				if tc.locked {
					if err := errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(filepath.Join(dir, "hub.lock"), []byte(`{"version": 1, "servers": {}}`), 0o600)); err != nil {
						t.Fatal(err)
					}
				}
				w.lock = func(_ context.Context, path string) error {
					written++
					if path != filepath.Join(dir, "hub.json") || fileText(t, path) == "" {
						t.Errorf("%s is locked, and is not there", path)
					}
					if tc.fails {
						return errors.New("one does not start")
					}
					return nil
				}
				return initHere(w)
			})
			asked := strings.Contains(said, "Keep what the servers define in hub.lock?")
			if err != nil && !tc.yes || written != tc.want || asked == (tc.yes || tc.locked) || tc.fails != strings.Contains(said, "one does not start; mcphub lock tries again") {
				t.Errorf("%v, written %d times\n%s", err, written, said)
			}
			if !strings.Contains(fileText(t, home, ".config/mcphub/hub.json"), `"one"`) {
				t.Error("nothing was imported")
			}
		})
	}
}

// TestInitTakesNo: a no, or no more answers, changes nothing.
func TestInitTakesNo(t *testing.T) {
	for name, answers := range map[string]string{"no": "all\ny\nall\ny\n\n\nn\n", "end": "all\n", "nothing": ""} {
		t.Run(name, func(t *testing.T) {
			home, said, err := dialogue(t, answers, initHere)
			if err == nil {
				t.Error("no error", said)
			}
			if hub := fileText(t, home, ".config/mcphub/hub.json"); hub != "" {
				t.Errorf("got %s", hub)
			}
			if cursor := fileText(t, home, ".cursor/mcp.json"); strings.Contains(cursor, "serve") || !strings.Contains(cursor, "two") {
				t.Errorf("got %s", cursor)
			}
		})
	}
}

// TestHeldKeysAreAskedFor: a key of the hub that a file has is taken over if a person says so to it alone.
func TestHeldKeysAreAskedFor(t *testing.T) {
	for name, tc := range map[string]struct {
		answers string
		yes     bool // --yes
		kept    []string
	}{
		"Enter is no": {answers: "\n\ny\n"}, "no": {answers: "n\nno\ny\n"}, "one of two": {answers: "y\nn\ny\n", kept: []string{"sandbox"}},
		"both": {answers: "y\nyes\ny\n", kept: []string{"sandbox", "inherit"}}, "--yes": {yes: true}, "no answer": {answers: "y\n"},
	} {
		t.Run(name, func(t *testing.T) {
			home, said, err := dialogue(t, tc.answers, func(w *clientWork) error {
				w.yes = tc.yes
				path := filepath.Join(w.env.Home, "project", ".mcp.json")
				if err := os.WriteFile(path, []byte(`{"mcpServers": {"x": {"command": "./x", "args": ["a b", "${USER}"], "sandbox": "off", "inherit": ["HOME"]}}}`), 0o600); err != nil {
					return err
				}
				found, err := w.readSources([]string{path})
				if err != nil {
					return err
				}
				return w.importAll(found, true)
			})
			hub := fileText(t, home, ".config/mcphub/hub.json")
			if name == "no answer" {
				if err == nil || hub != "" {
					t.Errorf("%v: %s", err, hub)
				}
				return
			}
			if err != nil {
				t.Fatal(err, said)
			}
			for _, key := range []string{"sandbox", "inherit"} {
				if strings.Contains(hub, `"`+key+`"`) != slices.Contains(tc.kept, key) {
					t.Errorf("%s: %s", key, hub)
				}
			}
			for _, want := range []string{"command   " + filepath.Join(home, "project", "x"), "arg       a b", "the variable USER of the hub's environment", `sandbox "off"`} {
				if !strings.Contains(said, want) {
					t.Errorf("%q is not shown: %s", want, said)
				}
			}
			if strings.Contains(said, "[y/N]") == tc.yes {
				t.Errorf("asked: %t: %s", !tc.yes, said)
			}
		})
	}
}

// TestInitOffersToShare: only a yes has the clients share a hub, and no person is asked if hub.json decides it.
func TestInitOffersToShare(t *testing.T) {
	const old = "{\n  // mine\n  \"mcpServers\": {},\n  \"attach\": \"off\" // for now\n}\n"
	for name, tc := range map[string]struct {
		answers, before string
		os              string
		yes             bool // --yes
		asked           bool
		want            string // in hub.json
	}{
		"yes":       {answers: "all\ny\nall\ny\n\nyes\ny\n", asked: true, want: `"attach": "auto"`},
		"Enter":     {answers: "all\ny\nall\ny\n\n\ny\n", asked: true},
		"comments":  {answers: "all\ny\nall\ny\n\nyes\ny\n", before: "{\n  // mine\n  \"mcpServers\": {}\n}\n", asked: true, want: "// mine"},
		"said":      {answers: "all\ny\nall\ny\n\ny\n", before: old, want: `"attach": "off" // for now`},
		"--yes":     {yes: true},
		"elsewhere": {answers: "all\ny\nall\ny\n\ny\n", os: "darwin"},
	} {
		t.Run(name, func(t *testing.T) {
			home, said, err := dialogue(t, tc.answers, func(w *clientWork) error {
				w.yes, w.env.OS = tc.yes, cmp.Or(tc.os, "linux")
				if w.yes {
					w.in = nil
				}
				if tc.before != "" {
					path := filepath.Join(w.env.Home, ".config/mcphub/hub.json")
					if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
						return err
					}
					if err := os.WriteFile(path, []byte(tc.before), 0o600); err != nil {
						return err
					}
				}
				return w.init(nil)
			})
			if err != nil {
				t.Fatal(err, said)
			}
			hub := fileText(t, home, ".config/mcphub/hub.json")
			if strings.Contains(said, "share one hub?") != tc.asked {
				t.Errorf("asked: %t\n%s", !tc.asked, said)
			}
			if !strings.Contains(hub, tc.want) || strings.Contains(hub, `"auto"`) != (name == "yes" || name == "comments") {
				t.Errorf("got %s", hub)
			}
		})
	}
}

// TestInterruptEndsAQuestion: no one types anything, and the command is interrupted.
func TestInterruptEndsAQuestion(t *testing.T) {
	t.Parallel()
	in, typing := io.Pipe()
	defer typing.Close()
	ctx, cancel := context.WithCancel(t.Context())
	w := &clientWork{ctx: ctx, in: bufio.NewReader(in), say: io.Discard}
	cancel()
	if _, err := w.askDefaultYes("Well?"); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// TestInitLeavesServersOn: a client that does not get the hub keeps its servers.
func TestInitLeavesServersOn(t *testing.T) {
	home, said, err := dialogue(t, "all\ny\n1\ny\nn\ny\n", initHere)
	if err != nil {
		t.Fatal(err, said)
	}
	if lm := fileText(t, home, ".lmstudio/mcp.json"); !strings.Contains(lm, "three") || strings.Contains(lm, "serve") {
		t.Errorf("got %s", lm)
	}
	home, said, err = dialogue(t, "all\ny\nall\nn\n\nn\ny\n", initHere)
	if err != nil {
		t.Fatal(err, said)
	}
	if cursor := fileText(t, home, ".cursor/mcp.json"); !strings.Contains(cursor, "two") || !strings.Contains(cursor, "serve") {
		t.Errorf("got %s", cursor)
	}
}

// TestInitBrokenClient: a file that cannot be read is named and left alone, and the others are done.
func TestInitBrokenClient(t *testing.T) {
	home, said, err := dialogue(t, "", func(w *clientWork) error {
		w.yes, w.in = true, nil
		if err := os.WriteFile(filepath.Join(w.env.Home, ".cursor/mcp.json"), []byte(`{"mcpServers": {"x": {"env": {"T": "plain-1"`), 0o600); err != nil {
			return err
		}
		return w.init(nil)
	})
	if err != nil || !strings.Contains(said, "Cursor is left alone") || strings.Contains(said, "plain-1") {
		t.Errorf("%v\n%s", err, said)
	}
	if lm := fileText(t, home, ".lmstudio/mcp.json"); !strings.Contains(lm, "serve") {
		t.Errorf("got %s", lm)
	}
}

// TestRootsForNobody: the home folder is no one's project.
func TestRootsForNobody(t *testing.T) {
	home := t.TempDir()
	t.Chdir(home)
	if _, bad := projectFolder(home); !strings.Contains(bad, "home folder") {
		t.Errorf("got %q", bad)
	}
	t.Chdir("/")
	if _, bad := projectFolder(home); !strings.Contains(bad, "root of the file system") {
		t.Errorf("got %q", bad)
	}
}

// TestAnswersInAnyWords: every question takes yes and no in the words of the others.
func TestAnswersInAnyWords(t *testing.T) {
	home, said, err := dialogue(t, "Yes\ny\ny\nall\nY\nno\nwell\nyes\n", initHere)
	if err != nil {
		t.Fatal(err, said)
	}
	if hub := fileText(t, home, ".config/mcphub/hub.json"); !strings.Contains(hub, `"one"`) || !strings.Contains(hub, `"three"`) {
		t.Errorf("got %s", hub)
	}
	if lm := fileText(t, home, ".lmstudio/mcp.json"); !strings.Contains(lm, `"--roots", "`+filepath.Join(home, "project")+`"`) {
		t.Errorf("got %s", lm)
	}
	if !strings.Contains(said, `"well" is neither yes nor no.`) {
		t.Errorf("got %s", said)
	}
	home, said, err = dialogue(t, "y\ny\nno\ny\n", initHere)
	if err != nil {
		t.Fatal(err, said)
	}
	if cursor := fileText(t, home, ".cursor/mcp.json"); strings.Contains(cursor, "serve") {
		t.Errorf("a client was registered after a no:\n%s\n%s", cursor, said)
	}
	home, said, err = dialogue(t, "y\ny\ny\ny\nno\nno\ny\n", initHere)
	if err != nil {
		t.Fatal(err, said)
	}
	if lm := fileText(t, home, ".lmstudio/mcp.json"); strings.Contains(lm, "--roots") || !strings.Contains(said, "none was named") {
		t.Errorf("no is taken as a folder:\n%s\n%s", lm, said)
	}
}

// TestBriefInit: each server that works takes one line of the choice and one of the trial. -v is the control.
func TestBriefInit(t *testing.T) {
	lines := func(brief bool) (entry, tried, total int) {
		_, said, err := dialogue(t, "\n\n\n\n\n\n\n", func(w *clientWork) error {
			w.brief = brief
			return w.init(nil)
		})
		if err != nil || strings.Contains(said, "plain-1") || !strings.Contains(said, "two/TOKEN") {
			t.Errorf("%v: %s", err, said)
		}
		entry = strings.Count(said, "  2  two  Cursor  sh -c two\n")
		tried = strings.Count(said, "  2 of 3  two: works, with 0 tools\n") + strings.Count(said, "  2 of 3  two: works, with 0 tools; opens also ")
		return entry, tried, strings.Count(said, "\n")
	}
	entry, tried, brief := lines(true)
	if entry != 1 || tried != 1 {
		t.Errorf("%d lines of the entry, %d of the trial", entry, tried)
	}
	if entry, _, whole := lines(false); entry != 0 || whole <= brief {
		t.Errorf("%d lines of the entry, %d lines and %d", entry, whole, brief)
	}
}

// TestATimeLimitHasACure: what is not tried or takes too long names the limit, and a command that gives more.
func TestATimeLimitHasACure(t *testing.T) {
	slow := errors.New("what it offers was not listed within 3m10s")
	for name, c := range map[string]struct {
		prepare func(w *clientWork)
		want    []string
	}{
		"all": {func(w *clientWork) { w.limit = 1 }, []string{"one: not tried: the 1ns for all trials are over\n", "run:    mcphub init --timeout 2ns\n"}},
		"one": {func(w *clientWork) {
			w.try = func(context.Context, hub.Config, string, trial.Options) (trial.Result, error) {
				return trial.Result{}, slow
			}
		}, []string{"one: does not work: " + slow.Error() + "\n", "run:    mcphub warm one\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, said, err := dialogue(t, "\n\n\n\n\n\n\n", func(w *clientWork) error {
				w.brief, w.again = true, []string{"init"}
				c.prepare(w)
				return w.init(nil)
			})
			if err == nil {
				t.Error("it ends well")
			}
			for _, want := range c.want {
				if !strings.Contains(said, want) {
					t.Errorf("%q is missing in:\n%s", want, said)
				}
			}
		})
	}
}
