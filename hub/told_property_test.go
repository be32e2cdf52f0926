package hub

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"mcphub/children/launch"
	"mcphub/children/link"
	"mcphub/children/spec"
	"mcphub/e2e/bounds"
	"mcphub/e2e/childtest"
	"mcphub/e2e/seeds"
	"mcphub/internal/jsonrpc"
)

// A village is some folders, each with a mark in it, and what hubs have remembered of servers that tell all marks that they see.
type village struct {
	d       *rand.Rand
	cache   string
	folders []string
	marks   []int // of the folders

	shown, foreign int          // marks that sessions were shown, and the ones that they may not see
	lists          int          // that sessions had
	started        atomic.Int32 // servers
	wrong          []string
}

func newVillage(t *testing.T, d *rand.Rand) *village {
	v := &village{d: d, cache: filepath.Join(t.TempDir(), "catalogue")}
	base := t.TempDir()
	for i := range 5 {
		dir := filepath.Join(base, []string{"a", "a/b", "c", "c/d", "e"}[i])
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		v.folders, v.marks = append(v.folders, dir), append(v.marks, i)
	}
	return v
}

// sees gives the marks of the folders that a text names.
func (v *village) sees(text string) string {
	var b strings.Builder
	for i, dir := range v.folders {
		if _, rest, named := strings.Cut(text, dir); named && !strings.HasPrefix(rest, "/b") && !strings.HasPrefix(rest, "/d") {
			fmt.Fprintf(&b, "%s%dz ", folderMark, v.marks[i])
		}
	}
	return b.String()
}

// Launch starts a server whose instructions, tools and prompts tell what it sees of folders: by its working directory, its arguments and
// its environment.
func (v *village) Launch(l launch.Launch, s spec.Spec, h jsonrpc.Handler, log zerolog.Logger) (link.ChildConnection, error) {
	v.started.Add(1)
	var env []string
	for _, line := range l.Env {
		if strings.HasPrefix(line, "MCP_ROOTS") || strings.HasPrefix(line, "PWD=") {
			env = append(env, line)
		}
	}
	says, _ := json.Marshal("sees " + v.sees(strings.Join(slices.Concat([]string{l.Dir}, l.Args, env), "\n")+"\n"))
	s.Env = childtest.Script{Replies: map[string]string{
		"initialize":   `{"protocolVersion":"2025-06-18","capabilities":{"tools":{},"prompts":{}},"serverInfo":{"name":"scripted","version":"1"},"instructions":` + string(says) + `}`,
		"tools/list":   `{"tools":[{"name":"about","description":` + string(says) + `,"inputSchema":{"type":"object"}}]}`,
		"prompts/list": `{"prompts":[{"name":"greet","description":` + string(says) + `}]}`,
	}}.Env()
	return childtest.Pipes{}.Launch(l, s, h, log)
}

// looks holds what a session is shown against the folders of which it may see the marks.
func (v *village) looks(what, text string, may []string) {
	v.lists++
	for _, mark := range named([]byte(text), folderMark) {
		v.shown++
		if !slices.ContainsFunc(may, func(dir string) bool { return v.marks[slices.Index(v.folders, dir)] == mark }) {
			v.foreign++
			v.wrong = append(v.wrong, fmt.Sprintf("%s shows %s%dz to a session that may see %q: %.500s", what, folderMark, mark, may, text))
		}
	}
}

// some returns up to two of the folders.
func (v *village) some() (dirs []string) {
	for range v.d.IntN(3) {
		if dir := pick(v.d, v.folders); !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// life is the life of one hub, which is started somewhere and serves some sessions.
func (v *village) life(t *testing.T) {
	shares := []spec.Share{spec.ShareSession, spec.ShareRoots}
	var specs []spec.Spec
	for i, share := range shares {
		s := played(fmt.Sprint("kid", i), share, childtest.Script{})
		s.Command = os.Args[0]
		if v.d.IntN(2) == 0 {
			s.IdleTimeout = time.Millisecond
		}
		specs = append(specs, s)
	}
	cfg := testConfig(t, specs...)
	cfg.Launcher, cfg.Cache, cfg.Inspect, cfg.Limits.ListWait = v, v.cache, true, bounds.Patience
	var started []string // where the clients were
	if v.d.IntN(2) == 0 {
		cfg.Dir = pick(v.d, v.folders)
		started = []string{cfg.Dir}
	}
	h := runHub(t, cfg)
	for range 1 + v.d.IntN(3) {
		roots := v.some()
		c := connect(t, h, roots...)
		v.looks("initialize", c.handshake(`{"roots":{"listChanged":true}}`), slices.Concat(roots, started))
		var may []string // a server that runs is shown as it was until it lists again, so what it saw before counts
		for range 1 + v.d.IntN(3) {
			if may = append(may, roots...); len(roots) == 0 {
				may = append(may, started...) // it works there
			}
			v.looks("tools/list", c.raw("tools/list", `{}`), may)
			v.looks("prompts/list", c.raw("prompts/list", `{}`), may)
			v.looks("list-tools", c.raw("tools/call", toolCall("list-tools", `{}`)), may)
			if v.d.IntN(3) == 0 {
				roots = v.some()
				c.setRoots(roots...)
				if err := c.conn.Notify(t.Context(), "notifications/roots/list_changed"); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

// TestNoSessionIsShownWhatAnotherRootSays: hubs start and end, and sessions with roots that nest open in them, at random. Their servers tell
// in their instructions, tools and prompts what they see of folders, and hubs remember that. No session is shown the mark of a folder that it
// has not had for a root, be it at initialize or in a list; at initialize that of the folder in which its client was started counts too. If
// the marks change places, which no hub can know, the same steps show others, which is the control.
func TestNoSessionIsShownWhatAnotherRootSays(t *testing.T) {
	t.Parallel()
	const (
		lives  = 20 // of hubs in a village
		shares = 2  // of the villages, which run beside each other
	)
	villages := max(seeds.Cases(t, 40)/lives, shares)
	for _, moves := range []bool{false, true} {
		var mu sync.Mutex
		var shown, foreign, lists, servers int
		t.Run(fmt.Sprint("marks that move: ", moves), func(t *testing.T) {
			for share := range shares {
				t.Run(fmt.Sprint(share), func(t *testing.T) {
					t.Parallel()
					for n := share; n < villages && (n < shares || !moves); n += shares {
						v := newVillage(t, seeds.Rand(t, n))
						for i := range lives {
							if moves {
								v.d.Shuffle(len(v.marks), func(a, b int) { v.marks[a], v.marks[b] = v.marks[b], v.marks[a] })
							}
							t.Run(fmt.Sprint(n, " ", i), v.life)
						}
						if !moves {
							for _, wrong := range v.wrong {
								t.Error(wrong)
							}
						}
						mu.Lock()
						shown, foreign, lists, servers = shown+v.shown, foreign+v.foreign, lists+v.lists, servers+int(v.started.Load())
						mu.Unlock()
					}
				})
			}
		})
		t.Logf("marks that move: %t; in %d lists %d marks were shown, %d of them foreign; %d servers were started", moves, lists, shown, foreign, servers)
		if shown < lists/4 || servers > lists/3 || (foreign > 0) != moves {
			t.Error("this shows nothing")
		}
	}
}
