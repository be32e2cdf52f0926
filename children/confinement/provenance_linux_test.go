package confinement_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"mcphub/children/consent"
	"mcphub/children/launch"
	"mcphub/children/sandbox"
	"mcphub/e2e/rootstest"
	"mcphub/e2e/seeds"
	"mcphub/rootsmgr"
	"mcphub/rootsmgr/guard"
)

// A city is a home folder over which hubs of one user open sessions. Its servers write if they may, and its person makes links, answers
// questions and ends hubs. Beside the disk, links has what the person alone has made: what a session would open if no server wrote.
type city struct {
	t       testing.TB
	d       *rand.Rand
	home    string
	links   map[string]string   // of the person: from a path to another
	former  map[string][]string // where the person has ever had a link lead: the hub may know that as accepted, and not see what came after
	written []string            // folders that any server could write in
	allowed []string            // folders that the person has accepted by an answer
	hubs    []*cityHub
	machine launch.Machine
	fs      guard.FS
	asks    bool // provenance is asked; else everything counts, which is the control

	opened   map[string]int // by kind
	escapes  map[string]int // by kind
	answered int
	last     []string // steps, for a person
}

// A cityHub has the folders of its sessions.
type cityHub struct {
	reach *consent.Reach
	roots []string
}

// folders of a city. Of those in hidden no session is told, and no link of the person leads there.
var (
	cityFolders = []string{"ws", "ws/a", "ws/a/x", "ws/b", "ws/b/y", "data", "data/d", "prog", "prog/srv", "prog/srv/lib", "prog/venv", "prog/venv/lib/python3/site-packages", "prog/venv/bin"}
	cityHidden  = []string{"private", "private/one", "private/two/deep", "other"}
	cityNames   = []string{"ws", "ws/a", "ws/a/x", "ws/b", "ws/b/y", "data", "data/d", "prog", "prog/srv", "prog/venv", "short", "ws/short", "data/short"}
	cityKinds   = []string{"root", "rule", "server"}
	cityParts   = []string{"a", "x", "b", "y", "d", "short", "lib", "gen"}
)

func newCity(t testing.TB, d *rand.Rand, base, state string, asks bool) *city {
	c := &city{t: t, d: d, home: filepath.Join(base, "home"), links: map[string]string{}, former: map[string][]string{}, asks: asks, opened: map[string]int{}, escapes: map[string]int{}}
	for _, dir := range slices.Concat(cityFolders, cityHidden) {
		c.must(os.MkdirAll(c.at(dir), 0o700))
	}
	c.must(os.WriteFile(c.at("prog/srv/package.json"), []byte("{}"), 0o600))
	for _, file := range []string{"prog/srv/run", "prog/venv/bin/run", "private/one/python3"} {
		c.must(os.WriteFile(c.at(file), []byte("#!/bin/sh\n"), 0o700))
	}
	c.machine = launch.NewMachine([]string{"HOME=" + c.home, "PATH=/usr/bin:/bin", "XDG_CACHE_HOME=" + base + "/cache", "XDG_STATE_HOME=" + state}, c.home, "/")
	c.machine.Host = c.machine.WithKernel(wholeKernel)
	c.fs = guard.OS{Provenance: c.machine.Store()}
	if !asks {
		c.fs = guard.OS{}
	}
	return c
}

func (c *city) at(name string) string { return filepath.Join(c.home, name) }

func (c *city) must(err error) {
	if err != nil {
		c.t.Helper()
		c.t.Fatal(err, c.last)
	}
}

func (c *city) pick(list []string) string { return list[c.d.IntN(len(list))] }

func (c *city) note(format string, args ...any) {
	if c.last = append(c.last, fmt.Sprintf(format, args...)); len(c.last) > 40 {
		c.last = c.last[1:]
	}
}

// step is one thing that happens.
func (c *city) step() {
	switch n := c.d.IntN(1000); { // what takes longer comes less often
	case n < 120:
		c.session()
	case n < 140:
		c.rule()
	case n < 147:
		c.server()
	case n < 197:
		c.person()
	case n < 205:
		c.answer()
	case n < 235:
		c.end()
	default:
		c.write()
	}
}

// hub returns one that runs, or a new one.
func (c *city) hub() *cityHub {
	if len(c.hubs) < 1 || len(c.hubs) < 4 && c.d.IntN(3) == 0 {
		c.hubs = append(c.hubs, &cityHub{reach: c.machine.Store().Reach()})
		c.machine.Host = c.machine.Anew()
	}
	return c.hubs[c.d.IntN(len(c.hubs))]
}

// session opens one with one or two roots, and writes down where its server may write.
func (c *city) session() {
	hub := c.hub()
	names := []string{c.pick(cityNames)}
	if c.d.IntN(4) == 0 {
		names = append(names, c.pick(cityNames))
	}
	var given []rootsmgr.RootEntry
	var may []string
	for _, name := range names {
		given = append(given, rootsmgr.RootEntry{URI: "file://" + c.at(name)})
		may = append(may, c.mayOpen(c.at(name))...)
	}
	paths := rootsmgr.NewSnapshot(c.fs, 1, rootsmgr.OriginAsked, given).Paths()
	c.note("session %v opens %v", names, paths)
	c.hold("root", paths, may)
	c.must(hub.reach.Add(paths...))
	hub.roots = append(hub.roots, paths...)
	c.written = append(c.written, paths...)
}

// rule looks a rule's directory up, as hub.json has it.
func (c *city) rule() {
	name := c.at(c.pick(cityNames))
	_, list, _ := guard.NewAreas(c.fs, []string{name})
	var paths []string
	for _, area := range list {
		if area.Closed == "" && area.Exists {
			paths = append(paths, area.Path)
		}
	}
	c.note("a rule of %s opens %v", name, paths)
	c.hold("rule", paths, c.mayOpen(name))
}

// server plans a server whose program others may have written beside.
func (c *city) server() {
	prog := confinedProgram(c.at([]string{"prog/srv/run", "prog/venv/bin/run"}[c.d.IntN(2)]))
	m := c.machine
	if !c.asks {
		m.Host = m.Forgetful()
	}
	l, err := launch.Plan(prog, nil, m.WithBoundary(sandbox.Boundary{}))
	if err != nil || l.Sandbox == nil || l.Sandbox.Profile == nil {
		return // it does not start
	}
	var paths []string
	for _, dir := range slices.Concat(cityHidden, []string{"data", "ws/b"}) {
		if l.Sandbox.Profile.AccessAt(c.at(dir)) != 0 {
			paths = append(paths, c.at(dir))
		}
	}
	c.note("a server opens %v", paths)
	c.opened["server"]++
	c.hold("server", paths, c.mayOpen(prog.Command))
}

// mayOpen returns the folders that a name may open: its target by what the person has made; for each link on its way as it is,
// if the person has ever had it lead, and the folders in which servers could have made it; and what the person has accepted.
func (c *city) mayOpen(name string) []string {
	may := append(slices.Clone(c.allowed), c.byPerson(name))
	places := []string{filepath.Dir(name)}
	for hop := range slices.Values((*sandbox.LstatCache)(nil).Hops(name)) {
		for at := hop; len(at) > len(c.home); at = filepath.Dir(at) {
			if fi, err := os.Lstat(at); err == nil && fi.Mode()&os.ModeSymlink != 0 {
				places, may = append(places, filepath.Dir(at)), append(may, c.former[at]...)
			}
		}
	}
	for _, place := range places {
		real, err := filepath.EvalSymlinks(place)
		for _, dir := range c.written {
			if sandbox.Contains(dir, place) || err == nil && sandbox.Contains(dir, real) {
				may = append(may, dir)
			}
		}
	}
	return may
}

// byPerson returns the target of a name by the links of the person.
func (c *city) byPerson(name string) string {
	for range 10 {
		followed := false
		for at := name; len(at) > len(c.home); at = filepath.Dir(at) {
			if to, ok := c.links[at]; ok {
				name, followed = filepath.Join(to, strings.TrimPrefix(name, at)), true
				break
			}
		}
		if !followed {
			break
		}
	}
	return name
}

// hold holds what was opened against what may be.
func (c *city) hold(kind string, opened, may []string) {
	for _, path := range opened {
		c.opened[kind]++
		if slices.ContainsFunc(may, func(dir string) bool { return sandbox.Contains(dir, path) }) {
			continue
		}
		if c.escapes[kind]++; c.asks {
			c.t.Fatalf("a %s opens %s, and may open %q\n%s", kind, path, may, strings.Join(c.last, "\n"))
		}
	}
}

// write has a server write in one of its roots, if that is still what it was.
func (c *city) write() {
	if len(c.hubs) == 0 {
		return
	}
	hub := c.hubs[c.d.IntN(len(c.hubs))]
	if len(hub.roots) == 0 {
		return
	}
	root := c.pick(hub.roots)
	if real, err := filepath.EvalSymlinks(root); err != nil || real != root || !sandbox.IsDir(root) {
		return
	}
	dir := root
	for range c.d.IntN(3) {
		if next := filepath.Join(dir, c.pick(cityParts)); sandbox.IsDir(next) && sandbox.RealPath(next) == next {
			dir = next
		}
	}
	to := c.at(c.pick(slices.Concat(cityFolders[:10], cityHidden)))
	if c.d.IntN(2) == 0 {
		if near, err := filepath.Rel(dir, to); err == nil {
			to = near
		}
	}
	switch n := c.d.IntN(12); {
	case n < 6:
		c.link(to, filepath.Join(dir, c.pick(cityParts)))
	case n < 8:
		path := filepath.Join(dir, c.pick(cityParts))
		c.must(os.RemoveAll(path))
		c.must(os.Mkdir(path, 0o700))
		c.note("a server makes %s", path)
	default:
		c.metadata(root, to)
	}
}

// link replaces what is at a path by a link.
func (c *city) link(to, path string) {
	if path == c.at("prog/srv/lib") && c.d.IntN(2) == 0 {
		return
	}
	c.must(os.RemoveAll(path))
	c.must(os.Symlink(to, path))
	c.note("%s is made to lead to %s", path, to)
}

// metadata has a server write what says the place of the packages of a program, if the program lies in its root.
func (c *city) metadata(root, to string) {
	if !filepath.IsAbs(to) {
		to = filepath.Join(root, to)
	}
	srv, venv := c.at("prog/srv"), c.at("prog/venv")
	put := func(path, text string) {
		if sandbox.Contains(root, path) && sandbox.RealPath(filepath.Dir(path)) == filepath.Dir(path) {
			_ = os.RemoveAll(path)
			_ = os.WriteFile(path, []byte(text), 0o700)
			c.note("a server writes %q into %s", text, path)
		}
	}
	link := func(path string) {
		if sandbox.Contains(root, path) && sandbox.RealPath(filepath.Dir(filepath.Dir(path))) == filepath.Dir(filepath.Dir(path)) {
			_ = os.MkdirAll(filepath.Dir(path), 0o700)
			if sandbox.RealPath(filepath.Dir(path)) == filepath.Dir(path) {
				c.link(to, path)
			}
		}
	}
	switch c.d.IntN(6) {
	case 0:
		link(filepath.Join(srv, "node_modules", c.pick(cityParts)))
	case 1:
		link(filepath.Join(srv, "node_modules", "@s", c.pick(cityParts)))
	case 2:
		put(filepath.Join(venv, "lib/python3/site-packages", c.pick(cityParts)+".pth"), to+"\n")
	case 3:
		put(filepath.Join(venv, "pyvenv.cfg"), "home = "+c.at("private/one")+"\n")
	case 4:
		put(filepath.Join(srv, "run"), "#!"+c.at("private/one/python3")+"\n")
	case 5:
		put(c.at("prog/package.json"), "{}")
		link(c.at("prog/node_modules"))
	}
}

// person has the person make a link to a folder that is not hidden.
func (c *city) person() {
	path, to := c.at(c.pick(cityNames[10:])), c.at(c.pick(cityNames[:7]))
	if sandbox.RealPath(filepath.Dir(path)) != filepath.Dir(path) || c.byPerson(to) != to || sandbox.RealPath(to) != to {
		return
	}
	c.links[path], c.former[path] = to, append(c.former[path], to)
	c.link(to, path)
}

// answer has the person accept a question.
func (c *city) answer() {
	all, err := c.machine.Store().Questions()
	c.must(err)
	if len(all) == 0 {
		return
	}
	q := all[c.d.IntN(len(all))]
	c.must(c.machine.Store().Accept(q.ID, q.Digest))
	said := q.Title + " " + strings.Join(q.Lines, " ") + " "
	for _, dir := range slices.Concat(cityFolders, cityHidden) {
		if strings.Contains(said, c.at(dir)+" ") || strings.Contains(said, c.at(dir)+"/ ") {
			c.allowed = append(c.allowed, c.at(dir))
		}
	}
	c.answered++
	c.note("the person accepts %s", q.Title)
}

// end ends a hub.
func (c *city) end() {
	if len(c.hubs) > 0 {
		n := c.d.IntN(len(c.hubs))
		c.hubs[n].reach.Close()
		c.hubs = slices.Delete(c.hubs, n, n+1)
		c.note("a hub ends")
	}
}

// TestNoSessionOpensWhatAnotherWrote: sessions with roots that nest open and end at random, their servers plant links and what says where
// packages lie, and a person makes links and answers. No root, no rule and no server opens what it would not without the other sessions, but
// what a server that could have written the name could write, and what the person has accepted. If no one asks who could have written a
// name, the same steps open more, which is the control.
func TestNoSessionOpensWhatAnotherWrote(t *testing.T) {
	t.Parallel()
	const (
		steps   = 200 // of a city, before it is full of links and answers
		control = 20  // cities without provenance
		shares  = 4   // of the cities, which run beside each other
	)
	cities := max(seeds.Cases(t, 5_000)/steps, 1)
	var mu sync.Mutex
	opened, escapes, answered := map[string]int{}, map[string]int{}, 0
	t.Run("cities", func(t *testing.T) {
		for share := range shares {
			t.Run(fmt.Sprint(share), func(t *testing.T) {
				t.Parallel()
				// What is kept lies in memory, because a question waits for the disk. The home folder does not: /dev is the system's.
				base, state := sandbox.RealPath(t.TempDir()), rootstest.Memory(t)
				for n := share; n < cities+control; n += shares {
					dir, kept := filepath.Join(base, fmt.Sprint(n)), filepath.Join(state, fmt.Sprint(n))
					c := newCity(t, seeds.Rand(t, n), dir, kept, n >= control)
					for range steps {
						c.step()
					}
					for len(c.hubs) > 0 {
						c.end()
					}
					c.must(errors.Join(os.RemoveAll(dir), os.RemoveAll(kept)))
					mu.Lock()
					for _, kind := range cityKinds {
						if c.asks {
							opened[kind] += c.opened[kind]
						} else {
							escapes[kind] += c.escapes[kind]
						}
					}
					answered += c.answered
					mu.Unlock()
				}
			})
		}
	})
	t.Logf("%d steps: opened %v, %d answers; without provenance %v escape in %d", cities*steps, opened, answered, escapes, control*steps)
	for _, kind := range cityKinds {
		if opened[kind] == 0 || escapes[kind] == 0 {
			t.Errorf("%s: %d were opened, and without provenance %d escape: this shows nothing", kind, opened[kind], escapes[kind])
		}
	}
	if answered == 0 {
		t.Error("nobody was asked")
	}
}
