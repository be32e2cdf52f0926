package kernel

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"mcphub/e2e/ide"
	"mcphub/e2e/seeds"
	"mcphub/e2e/world"
)

// callsPerSession bounds one session: what waits for an answer looks through all that came before.
const callsPerSession = 1500

// A way is how a server is tried: held by the kernel, or free, which is the control; by the hub of its client alone, or by one that
// clients share and its client is attached to.
type way struct{ free, attached bool }

// ways are all of them that differ: what is free is free.
var ways = []way{{free: true}, {}, {attached: true}}

func (w way) String() string {
	return fmt.Sprintf("free %t, attached %t", w.free, w.attached)
}

// verdicts are what came of each case, by the way and in order.
type verdicts map[way][]string

func (v verdicts) add(how way, verdict ...any) { v[how] = append(v[how], fmt.Sprint(verdict...)) }

// judge wants a client that is attached to get, case by case, what one with a hub of its own gets. The control is free: there at least
// so many cases come out otherwise.
func (v verdicts) judge(t *testing.T, atLeast int) {
	t.Helper()
	differ := func(a, b []string) (n int, first string) {
		for i := range min(len(a), len(b)) {
			if a[i] != b[i] {
				if n++; n == 1 {
					first = fmt.Sprintf("case %d: %.500s; %.500s", i, a[i], b[i])
				}
			}
		}
		return n + max(len(a), len(b)) - min(len(a), len(b)), first
	}
	own, attached, free := v[way{}], v[way{attached: true}], v[way{free: true}]
	n, first := differ(own, attached)
	control, _ := differ(free, attached)
	t.Logf("of %d cases %d come out otherwise for an attached client, and %d for one whose server is free", len(own), n, control)
	if n > 0 {
		t.Errorf("%d cases come out otherwise for an attached client: %s", n, first)
	}
	if control < atLeast || len(own) == 0 {
		t.Errorf("only %d come out otherwise where the server is free, want %d: this shows nothing", control, atLeast)
	}
}

// sandboxed is a hub with its monitor off and one server, and what of the disk the server may open.
type sandboxed struct {
	*world.Session
	w *world.World
	way
	reads   []string
	writes  []string
	outside map[string]string // the state of all that lies outside
	runtime string            // where the hub's socket is
	own     []string          // folders that the server has for itself
}

// newSandboxed starts the hub, or attaches to one that it starts. The server's entry is given without its sandbox and its mode of paths.
func newSandboxed(t *testing.T, how way, entry func(w *world.World) obj) *sandboxed {
	t.Helper()
	world.RequireLandlock(t)
	w := world.New(t)
	world.Furnish(w)
	for _, name := range []string{"home/.ssh/id_ed25519", "home/.aws/credentials", "home/.netrc", "home/.bash_history"} {
		w.Write(name, world.SecretText)
	}
	s := &sandboxed{w: w, way: how, runtime: w.Runtime, reads: []string{w.Project, world.Bin.Opener}, writes: []string{w.Project}}
	kid := entry(w)
	kid["paths"] = obj{"mode": "off"}
	if _, told := kid["sandbox"]; !told {
		kid["sandbox"] = "required"
	}
	if how.free {
		kid["sandbox"] = "off"
	}
	config := w.Config(obj{"kid": kid})
	if how.attached {
		config = w.Config(obj{"kid": kid}, attachAuto(t, w))
	}
	s.Session = w.Start(ide.Options{Command: world.Hub(t), Args: []string{"serve", "--config", config}, Roots: ide.Folders(w.Project),
		Env: w.Env("THE_HUBS_SECRET="+world.SecretText, "OPENER_ZONE="+strings.Join(zone(w), ":"))})
	s.Quotes = true // it repeats what it is asked to open, and honest values hold such words
	s.Handshake()
	if how.attached {
		wantAttached(t, w, s.Session)
	}
	if kid["command"] == world.Bin.Opener {
		s.printed(t)
	}
	s.outside = state(w)
	return s
}

// attachAuto returns the key of hub.json that has clients share a hub, which ends when the last of this world has.
func attachAuto(t *testing.T, w *world.World) obj {
	t.Helper()
	t.Cleanup(func() {
		if mark := "HOME=" + w.Home; !world.Within(world.WaitLimit, func() bool { return len(world.Marked(t, mark)) == 0 }) {
			world.WantNone(t, mark)
		}
	})
	return obj{"attach": obj{"mode": "auto", "idle": "3s"}}
}

// wantAttached wants the client of a world to be attached.
func wantAttached(t *testing.T, w *world.World, client *world.Session) {
	t.Helper()
	client.Attached = true
	log, err := os.ReadFile(w.Path("home", "state", "mcphub", "shared.log"))
	world.Must(t, err)
	if !strings.Contains(string(log), "a session has attached") {
		t.Fatalf("nobody is attached: %s", log)
	}
}

func openerEntry(free bool) func(w *world.World) obj {
	return func(w *world.World) obj {
		env := obj{"OPENER_NEEDLE": hex.EncodeToString([]byte(world.SecretText))}
		if free {
			env["OPENER_FREE"] = "1"
		}
		return obj{"command": world.Bin.Opener, "args": []string{}, "env": env, "inherit": []string{"OPENER_ZONE"}} // what env names would be open
	}
}

// named returns what namingEntry names, with what is open there.
func named(w *world.World) (reads, writes []string) {
	writes = []string{w.Path("home", "vault"), w.Path("home", "data", "x.db"), w.Path("home", "logs")}
	return append([]string{w.Path("home", "conf", "app.json"), w.Path("home", "cfg", "credentials.json"), w.Path("home", "mods")}, writes...), writes
}

// namingEntry returns the entry of a server which names a vault, a database, a log, settings, credentials and modules.
func namingEntry(free bool) func(w *world.World) obj {
	return func(w *world.World) obj {
		for _, name := range []string{"vault/note.md", "data/x.db", "data/other", "conf/app.json", "conf/other", "cfg/credentials.json", "cfg/other", "mods/m.py"} {
			w.Write("home/"+name, honestText+"\n")
		}
		kid := openerEntry(free)(w)
		kid["args"] = []string{w.Path("home", "vault"), "--db=" + w.Path("home", "data", "x.db"), "--log", w.Path("home", "logs", "new.log"), "--config", w.Path("home", "conf", "app.json")}
		kid["env"].(obj)["CREDENTIALS"], kid["env"].(obj)["PYTHONPATH"] = w.Path("home", "cfg", "credentials.json"), w.Path("home", "mods")
		return kid
	}
}

// zone returns the folders in which a free server may change something.
func zone(w *world.World) []string {
	return []string{w.Outside, w.Sibling, w.Path("home", "outside"), w.Path("home", ".ssh"), w.Path("home", ".aws"), w.Path("projects")}
}

// state tells all that is in the zone, so that a change of it is seen.
func state(w *world.World) map[string]string {
	w.T.Helper()
	all := map[string]string{}
	for _, dir := range zone(w) {
		world.Must(w.T, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if path == dir && errors.Is(err, fs.ErrNotExist) {
				return nil // moved away
			}
			if err != nil {
				return err
			}
			fi, err := d.Info()
			world.Must(w.T, err)
			text := ""
			switch fi.Mode().Type() {
			case 0:
				b, err := os.ReadFile(path)
				world.Must(w.T, err)
				text = string(b)
			case fs.ModeSymlink:
				text, err = os.Readlink(path)
				world.Must(w.T, err)
			}
			all[path] = fmt.Sprint(fi.Mode(), " ", fi.ModTime().UnixNano(), "\n", text)
			return nil
		}))
	}
	return all
}

// changes names what is no longer as it was.
func (s *sandboxed) changes() (list []string) {
	now := state(s.w)
	for path, was := range s.outside {
		if now[path] != was {
			list = append(list, fmt.Sprintf("%s was %q and is %q", path, was, now[path]))
		}
	}
	for path := range now {
		if _, was := s.outside[path]; !was {
			list = append(list, path+" is new")
		}
	}
	return list
}

var (
	baseTable = regexp.MustCompile(`(?s)<!-- generated: base -->(.*?)<!-- end -->`)
	baseRow   = regexp.MustCompile("(?m)^\\|[^|]*\\| ([a-z, ]+) \\| (.*`) \\|$")
	codeSpan  = regexp.MustCompile("`([^`]+)`")
)

// basePaths returns the paths that docs/sandbox.md prints for every server, with what is allowed there.
func basePaths(t testing.TB, home string) map[string]string {
	t.Helper()
	page, err := os.ReadFile(world.Source("docs", "sandbox.md"))
	world.Must(t, err)
	all := map[string]string{}
	for _, row := range baseRow.FindAllStringSubmatch(string(baseTable.Find(page)), -1) {
		for _, span := range codeSpan.FindAllStringSubmatch(row[2], -1) {
			path := span[1]
			if below, is := strings.CutPrefix(path, "~/"); is {
				path = filepath.Join(home, below)
			}
			all[path] = row[1]
		}
	}
	if len(all) < 50 {
		t.Fatalf("docs/sandbox.md prints only %d paths", len(all))
	}
	return all
}

// printed takes what the documents say that a server may open: the base profile, and folders of its own.
func (s *sandboxed) printed(t testing.TB) {
	t.Helper()
	for path, access := range basePaths(t, s.w.Home) {
		found, err := filepath.Glob(path)
		world.Must(t, err)
		for _, path := range found {
			real, err := filepath.EvalSymlinks(path)
			if err != nil {
				continue
			}
			s.reads = append(s.reads, real)
			if strings.Contains(access, "write") {
				s.writes = append(s.writes, real)
			}
		}
	}
	s.AwaitTool("kid__shell")
	s.own = strings.Fields(s.MustCall("kid__shell", `{"command":"echo $TMPDIR $XDG_CACHE_HOME"}`).Text)
	if !s.free {
		s.reads, s.writes = append(s.reads, s.own...), append(s.writes, s.own...)
	}
	s.reads = append(s.reads, filepath.SplitList(strings.TrimSpace(s.MustCall("kid__shell", `{"command":"echo $PATH"}`).Text))...)
}

// opened is what the opener answers with.
type opened struct {
	Path, Did, As string
	Bytes         int
	Needle        bool
}

// escapes reports whether something was opened that the server may not open.
func (s *sandboxed) escapes(o opened) bool {
	allowed := s.reads
	if o.Did == "write" || o.Did == "make" {
		allowed = s.writes
	}
	path := strings.TrimSuffix(o.Path, " (deleted)")
	switch {
	case o.Needle:
		return true
	case !strings.HasPrefix(path, "/"): // a pipe, which may be its own
		return !strings.HasPrefix(o.As, "/dev/") && !strings.HasPrefix(o.As, "/proc/self/") && !strings.HasPrefix(o.As, "/proc/thread-self/")
	}
	return !slices.ContainsFunc(allowed, func(dir string) bool { return path == dir || strings.HasPrefix(path, dir+"/") })
}

// aimed gives a case as it is and, if it aims at a file that the base profile opens, one that aims outside instead.
func aimed(w *world.World, base map[string]string, text string) []string {
	text = world.Fill(w, text)
	other, target := text, w.Path("outside", "secret.txt")
	for path := range base {
		if !strings.HasPrefix(path, "/etc/") {
			continue
		}
		for _, spell := range []func(string) string{
			func(p string) string { return p },
			func(p string) string { return strings.ReplaceAll(p, "/", "%2f") },
			func(p string) string { return strings.ReplaceAll(p, "/", "%2F") },
			func(p string) string { return strings.ReplaceAll(p, "/", `\`) },
		} {
			other = strings.ReplaceAll(other, spell(path[1:]), spell(target[1:]))
		}
	}
	if other == text {
		return []string{text}
	}
	return []string{text, other}
}

// casesOfAll returns every string of the project's tests of what is judged, and every example of its documents.
func casesOfAll(t testing.TB) []string {
	t.Helper()
	seen := map[string]bool{}
	for _, text := range world.CorpusOf(t, "validate", "rootsmgr", "internal", "hub", "children", "e2e") {
		seen[text] = true
	}
	pages, err := filepath.Glob(world.Source("docs", "*.md"))
	world.Must(t, err)
	for _, page := range pages {
		b, err := os.ReadFile(page)
		world.Must(t, err)
		for _, span := range codeSpan.FindAllStringSubmatch(string(b), -1) {
			seen[span[1]] = true
		}
	}
	return world.Names(seen)
}

// Every case of the project's corpora goes to a server that opens, reads and writes all that it can find in it, in every
// spelling. Held by the kernel it opens nothing but its roots and what docs/sandbox.md prints, and changes nothing outside. The
// control is the same server free. MCPHUB_LONG_CASES says how many cases; few are drawn.
func TestCorporaAtTheConfinedServer(t *testing.T) { testCorpora(t, 200, openerEntry) }

// The same goes to a server whose entry names paths: they open, and nothing else does.
func TestCorporaAtAServerThatNames(t *testing.T) { testCorpora(t, 60, namingEntry) }

func testCorpora(t *testing.T, few int, entry func(free bool) func(w *world.World) obj) {
	t.Parallel()
	texts := casesOfAll(t)
	seeds.Rand(t).Shuffle(len(texts), func(i, j int) { texts[i], texts[j] = texts[j], texts[i] })
	all := len(texts)
	texts = texts[:min(all, world.LongCases(t, few, 1_000_000))]
	came, least := verdicts{}, 0
	for i, how := range ways {
		free := how.free
		cases, escaped, files := 0, 0, map[string]bool{}
		for first := 0; first < len(texts); first += callsPerSession {
			t.Run(fmt.Sprintf("way %d, from %d", i, first), func(t *testing.T) {
				s := newSandboxed(t, how, entry(free))
				if exists(s.w.Path("home", "vault")) {
					reads, writes := named(s.w)
					s.reads, s.writes = append(s.reads, reads...), append(s.writes, writes...)
				}
				s.AwaitTool("kid__open")
				base := basePaths(t, s.w.Home)
				var calls []string
				for _, text := range texts[first:min(first+callsPerSession, len(texts))] {
					for _, text := range aimed(s.w, base, text) {
						calls = append(calls, `{"path":`+world.Quoted(strings.ToValidUTF8(text, "?"))+`}`)
						if json.Valid([]byte(text)) && strings.HasPrefix(strings.TrimSpace(text), "{") {
							calls = append(calls, world.OneLine(text))
						}
					}
				}
				var inFlight []string
				for i := 0; i < len(calls) || len(inFlight) > 0; {
					for ; i < len(calls) && len(inFlight) < 8; i++ {
						inFlight = append(inFlight, s.SendCall("kid__open", calls[i]))
					}
					m, err := s.Answer(s.Context(), inFlight[0])
					world.Must(t, err)
					inFlight = inFlight[1:]
					if _, refused := m.RPCError(); refused {
						came.add(how, "refused")
						continue // no JSON that may be passed on
					}
					cases++
					found := s.opened(m)
					one := false
					for _, o := range found {
						if s.escapes(o) {
							one, files[o.Path] = true, true
							if !free {
								t.Errorf("escaped: %+v", o)
							}
						}
					}
					if one {
						escaped++
					}
					came.add(how, s.verdict(found))
				}
				if changed := s.changes(); !free && len(changed) > 0 {
					t.Errorf("changed outside: %q", changed)
				} else if free && len(changed) == 0 {
					t.Error("the free server changes nothing outside: this shows nothing")
				}
			})
		}
		t.Logf("%v: %d of %d strings, %d calls, of which %d led outside, to %d files and directories",
			how, len(texts), all, cases, escaped, len(files))
		if free && escaped < cases/20 {
			t.Error("too few lead outside where nothing holds them: this shows nothing")
		}
		if free {
			least = escaped / 2
		}
	}
	came.judge(t, least)
}

// unlike is what differs between two worlds: their numbers, and names that some decoding has made of them.
var unlike = regexp.MustCompile(`[^/]*\x{FFFD}[^/]*|[0-9]+`)

// verdict returns what was opened by a call, in a form that is that of another world too. A
// shared hub has its own folder for what servers have for themselves.
func (s *sandboxed) verdict(found []opened) string {
	alike := []string{s.w.Dir, "W"}
	for i, dir := range s.own {
		alike = append([]string{dir, fmt.Sprint("own", i)}, alike...)
	}
	r := strings.NewReplacer(alike...)
	list := make([]string, 0, len(found))
	for _, o := range found {
		list = append(list, fmt.Sprint(o.Did, " ", unlike.ReplaceAllString(r.Replace(o.Path), "#"), " ", o.Needle))
	}
	slices.Sort(list)
	return strings.Join(slices.Compact(list), "; ")
}

func (s *sandboxed) opened(m ide.Message) (all []opened) {
	s.T.Helper()
	var r struct{ Content []struct{ Text string } }
	world.Must(s.T, json.Unmarshal(m.Result, &r))
	// A name may read as a refusal of the kernel: then the hub says behind the opener's text what would mend that.
	hint := len(r.Content) == 2 && strings.HasPrefix(strings.TrimSpace(r.Content[1].Text), "mcphub: the kernel holds this server")
	if len(r.Content) != 1 && !hint || json.Unmarshal([]byte(r.Content[0].Text), &all) != nil {
		s.T.Fatalf("the opener says %.500s", m.Raw)
	}
	return all
}
