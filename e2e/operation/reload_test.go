package operation

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"mcphub/e2e/ide"
	"mcphub/e2e/seeds"
	"mcphub/e2e/world"
)

// replacements are the ways in which a file gets another text, by what editors, people and Kubernetes do.
var replacements = map[string]func(path, text string) error{
	"write in place": func(path, text string) error { return os.WriteFile(path, []byte(text), 0o600) },
	"truncate, then write in pieces": func(path, text string) error {
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC|os.O_CREATE, 0o600)
		if err != nil {
			return err
		}
		defer f.Close()
		for piece := range slices.Chunk([]byte(text), 100) {
			if _, err := f.Write(piece); err != nil {
				return err
			}
		}
		return nil
	},
	"rename over it": func(path, text string) error {
		if err := os.WriteFile(path+".tmp", []byte(text), 0o600); err != nil {
			return err
		}
		return os.Rename(path+".tmp", path)
	},
	"delete and create": func(path, text string) error {
		if err := os.Remove(path); err != nil {
			return err
		}
		return os.WriteFile(path, []byte(text), 0o600)
	},
	"move to a backup and create": func(path, text string) error {
		if err := os.Rename(path, path+"~"); err != nil {
			return err
		}
		return os.WriteFile(path, []byte(text), 0o600)
	},
	"swap a link": func(path, text string) error {
		dir, err := os.MkdirTemp(filepath.Dir(path), "version")
		if err != nil {
			return err
		}
		target := filepath.Join(dir, "hub.json")
		if err := os.WriteFile(target, []byte(text), 0o600); err != nil {
			return err
		}
		if err := os.Symlink(target, path+".link"); err != nil {
			return err
		}
		return os.Rename(path+".link", path)
	},
	"swap the folder of data": func(path, text string) error {
		dir, err := os.MkdirTemp(filepath.Dir(path), "..data")
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, "hub.json"), []byte(text), 0o600); err != nil {
			return err
		}
		data := filepath.Join(filepath.Dir(path), "..data")
		if err := os.Symlink(filepath.Base(dir), data+"_tmp"); err != nil {
			return err
		}
		if err := os.Rename(data+"_tmp", data); err != nil {
			return err
		}
		if to, err := os.Readlink(path); err == nil && to == "..data/hub.json" {
			return nil
		}
		if err := os.Symlink("..data/hub.json", path+".link"); err != nil {
			return err
		}
		return os.Rename(path+".link", path)
	},
}

// breakages make a file of which nothing can be used.
var breakages = map[string]func(text string) string{
	"half of it":    func(text string) string { return text[:len(text)/2] },
	"nothing":       func(string) string { return "" },
	"another shape": func(string) string { return `{"mcpServers": 7}` },
	"a bad timeout": func(text string) string { return strings.Replace(text, "{", `{"roots": {"timeout": "ten"},`, 1) },
	"a bad boundary": func(text string) string {
		return strings.Replace(text, "{", `{"roots": {"when": {"empty": "maybe"}},`, 1)
	},
	"a key twice": func(text string) string {
		return strings.Replace(text, "{", `{"expose": "direct", "expose": "search",`, 1)
	},
	"what cannot be": func(text string) string {
		return strings.Replace(text, "{", `{"policy": {"rules": [{"then": "deny", "if": {"paths": {"within": "file:///etc"}}}]},`, 1)
	},
	"a bad protected": func(text string) string {
		return strings.Replace(text, "{", `{"policy": {"protected": ["~somebody/x"]},`, 1)
	},
}

// edited is one configuration of the series: child a is always the same, b always there, c comes and goes.
type edited struct {
	number   int
	b        int    // its variant
	c        int    // its variant; 0: not there
	odd      string // "", "disabled", "unset", "wrong": of c's entry
	noPath   bool   // a's argument /path is declared to be no path
	fewer    bool   // b offers fewer tools
	unprefix bool   // c's tools have no prefix
}

func (e edited) mutate(rng *rand.Rand) edited {
	e.number++
	for range 1 + rng.IntN(3) {
		switch rng.IntN(8) {
		case 0, 1:
			e.b = rng.IntN(4)
		case 2, 3:
			e.c = rng.IntN(4)
		case 4:
			e.odd = []string{"", "", "disabled", "unset", "wrong"}[rng.IntN(5)]
		case 5:
			e.noPath = !e.noPath
		case 6:
			e.fewer = !e.fewer
		case 7:
			e.unprefix = !e.unprefix
		}
	}
	return e
}

// entries returns the entries of mcpServers, as far as they decide how a process is run.
func (e edited) entries(w *world.World) map[string]obj {
	variant := func(name string, v int) obj {
		entry := w.Recorder(name)
		entry["env"].(obj)["VARIANT"] = strconv.Itoa(v)
		return entry
	}
	out := map[string]obj{"a": variant("a", 0), "b": variant("b", e.b)}
	if e.c > 0 && e.odd == "" {
		out["c"] = variant("c", e.c)
	}
	return out
}

func (e edited) text(w *world.World) string {
	entries := e.entries(w)
	all := obj{}
	for name, entry := range entries {
		all[name] = maps.Clone(entry)
	}
	if e.c > 0 && e.odd != "" {
		c := w.Recorder("c")
		switch e.odd {
		case "disabled":
			c["disabled"] = true
		case "unset":
			c["args"] = []string{"${MCPHUB_E2E_NEVER_SET}"}
		case "wrong":
			c["command"] = 7
		}
		all["c"] = c
	}
	if e.noPath {
		all["a"].(obj)["paths"] = obj{"args": obj{"echo": obj{"/path": "none"}}}
	}
	if e.fewer {
		all["b"].(obj)["tools"] = obj{"exclude": []string{"big", "flo*"}}
	}
	if c, ok := all["c"].(obj); ok && e.unprefix {
		c["prefix"] = ""
	}
	return fmt.Sprintf("// edit %d\n%s", e.number, world.Raw(w.T, obj{"mcpServers": all}))
}

// load is calls that never stop until they are told to.
type load struct {
	wg    sync.WaitGroup
	stop  chan struct{}
	mu    sync.Mutex
	calls int
	lost  []string
}

func startLoad(s *world.Session, w *world.World) *load {
	l := &load{stop: make(chan struct{})}
	file := w.Path("project", "hello.txt")
	for i := range 4 {
		l.wg.Go(func() {
			rng := seeds.Rand(s.T, i)
			for n := 0; ; n++ {
				select {
				case <-l.stop:
					return
				default:
				}
				tool, args, want := "", "", "slept"
				switch (n + i) % 4 {
				case 0:
					tool, args = "b__sleep", fmt.Sprintf(`{"ms":%d}`, rng.IntN(400))
				case 1:
					tool, args = "a__sleep", fmt.Sprintf(`{"ms":%d}`, rng.IntN(40))
				case 2:
					tool, want = "b__echo", fmt.Sprintf(`"n":%d`, n)
					args = fmt.Sprintf(`{"path":%q,%s}`, file, want)
				case 3:
					tool, want = "call-tool", fmt.Sprintf(`"n":%d`, n)
					args = fmt.Sprintf(`{"serverName":"b","toolName":"echo","toolArgs":{"path":%q,%s}}`, file, want)
				}
				ctx, cancel := context.WithTimeout(context.Background(), world.WaitLimit)
				r, err := s.Tool(ctx, tool, args)
				cancel()
				l.mu.Lock()
				l.calls++
				if err != nil || r.IsError || !strings.Contains(string(r.Raw), want) && !strings.Contains(r.Text, want) {
					l.lost = append(l.lost, fmt.Sprintf("%s %s: %v %s", tool, args, err, r.Raw))
				}
				l.mu.Unlock()
			}
		})
	}
	return l
}

// editsPerSession is how often one hub reloads before what it has become is compared with a fresh one.
const editsPerSession = 25

// hub.json is edited again and again, in every way, well and badly, while calls run. No call is lost, no child restarted
// whose entry stays the same, and in the end the hub is what a fresh start from the last file would be (H6).
// MCPHUB_LONG_CASES says how many edits.
func TestReloadUnderLoad(t *testing.T) {
	t.Parallel()
	edits := seeds.Cases(t, 12)
	var total struct{ Edits, Valid, Broken, Bursts, Calls, Kept, Replaced int }
	for first := 0; first < edits && !t.Failed(); first += editsPerSession {
		t.Run(fmt.Sprint("edits from ", first), func(t *testing.T) {
			rng := seeds.Rand(t)
			w := world.New(t)
			now := edited{}
			path := w.Write("conf/hub.json", now.text(w))
			s := w.Serve(path, ide.Folders(w.Project))
			s.Handshake()
			s.Tools()
			state := s.ConfigState()
			load := startLoad(s, w)
			put := func(text string) string {
				kind := slices.Sorted(maps.Keys(replacements))[rng.IntN(len(replacements))]
				world.Must(t, replacements[kind](path, text))
				return kind
			}
			pids := s.PIDs("a", "b")
			n := min(editsPerSession, edits-first)
			for i := range n {
				total.Edits++
				// Of each kind there is one at least, however few edits there are.
				if bad := rng.IntN(4) == 0 || i == n/2; bad && i > 0 && i < n-1 {
					why := slices.Sorted(maps.Keys(breakages))[rng.IntN(len(breakages))]
					broken := now.mutate(rng)
					now.number = broken.number // each text is another one: the same again would be no change
					kind := put(breakages[why](broken.text(w)) + strings.Repeat("\n", now.number))
					state = s.AwaitConfig(fmt.Sprintf("%s (%s) is refused", why, kind), func(c world.ConfigState) bool { return c.ErrorAt != "" && c.ErrorAt != state.ErrorAt })
					total.Broken++
				} else {
					was := []edited{now}
					for range rng.IntN(5) / 4 * 3 { // a burst: what comes in between may or may not be taken
						now = now.mutate(rng)
						was = append(was, now)
						put(now.text(w))
						total.Bursts++
					}
					now = now.mutate(rng)
					if i == 0 {
						now.b++
					}
					kind := put(now.text(w))
					marker := fmt.Sprintf("c%d", now.number)
					state = s.AwaitConfig(fmt.Sprintf("edit %s (%s) is taken", marker, kind), func(c world.ConfigState) bool {
						return c.LoadedAt != state.LoadedAt && c.LastError == "" && matches(s, w, now)
					})
					total.Valid++
					pids, total.Kept, total.Replaced = compare(s, w, now, was, pids, total.Kept, total.Replaced)
				}
				if t.Failed() {
					break
				}
			}
			close(load.stop)
			load.wg.Wait()
			total.Calls += load.calls
			for _, lost := range load.lost {
				t.Errorf("LOST: %s", lost)
			}
			if got := w.Starts("a"); len(got) != 1 {
				t.Errorf("a, whose entry never changed, was started %d times", len(got))
			}
			fresh := w.Serve(path, ide.Folders(w.Project))
			fresh.Handshake()
			fresh.PIDs(slices.Sorted(maps.Keys(now.entries(w)))...) // those of s were all called too
			wantSame(t, "tools/list", s.Tools(), fresh.Tools())
			wantSame(t, "list-tools", s.Servers(), fresh.Servers())
			if t.Failed() {
				t.Logf("the last file:\n%s", now.text(w))
			}
		})
	}
	t.Logf("%+v", total)
	if !t.Failed() && (total.Valid == 0 || total.Broken == 0 || total.Calls < total.Edits || total.Kept == 0 || total.Replaced == 0) {
		t.Errorf("too little was seen: %+v", total)
	}
}

// matches reports whether the hub is as e wants it, by what can be seen at once.
func matches(s *world.Session, w *world.World, e edited) bool {
	s.T.Helper()
	var st world.Started
	world.Decode(s.T, s.MustCall("b__whoami", `{}`).Structured, &st)
	r := s.AwaitCall(s.SendCall("a__echo", world.Raw(s.T, obj{"path": w.Path("outside", "secret.txt")})))
	_, offered := s.Tools()["b__big"]
	return slices.Contains(st.Env, "VARIANT="+strconv.Itoa(e.b)) && r.IsError != e.noPath && offered != e.fewer
}

// compare holds the processes of now against those of before: an entry that was the same all the time has the same one, and
// another one has another.
func compare(s *world.Session, w *world.World, now edited, was []edited, before map[string]int, kept, replaced int) (map[string]int, int, int) {
	s.T.Helper()
	entries := now.entries(w)
	pids := s.PIDs(slices.Sorted(maps.Keys(entries))...)
	for name, entry := range entries {
		same := true
		for _, e := range was {
			same = same && reflect.DeepEqual(e.entries(w)[name], entry)
		}
		former, had := before[name]
		switch {
		case !had:
		case same && former != pids[name]:
			s.T.Errorf("%s was restarted although nothing of it changed: %+v after %+v", name, now, was)
		case same:
			kept++
		case !reflect.DeepEqual(was[0].entries(w)[name], entry):
			if replaced++; former == pids[name] {
				s.T.Errorf("%s was not replaced: %+v after %+v", name, now, was)
			}
		}
	}
	return pids, kept, replaced
}

func wantSame(t *testing.T, what string, got, want any) {
	t.Helper()
	if g, w := world.Raw(t, got), world.Raw(t, want); g != w {
		t.Errorf("%s is not what a fresh start gives:\n%s\nwant\n%s", what, g, w)
	}
}
