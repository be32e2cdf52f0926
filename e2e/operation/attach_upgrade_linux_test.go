package operation

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"mcphub/e2e/bounds"
	"mcphub/e2e/ide"
	"mcphub/e2e/seeds"
	"mcphub/e2e/world"
)

// install puts the program under test at a path, as an upgrade does: under another name first, then over what was there.
func install(t testing.TB, path string) {
	t.Helper()
	world.Must(t, os.MkdirAll(filepath.Dir(path), 0o700))
	world.CopyProgram(t, world.Hub(t), path+".new")
	world.Must(t, os.Rename(path+".new", path))
}

// leaves ends clients, whose calls must all have been answered.
func leaves(t testing.TB, all []*caller) (answers int) {
	t.Helper()
	for _, c := range all {
		if end := c.leave(); !strings.HasPrefix(end, "0 ") {
			t.Errorf("a client ended so: %q", end)
		}
		if f := c.failures(); len(f) > 0 {
			t.Errorf("calls failed: %v", f)
		}
		_, n := c.answered()
		answers += n
	}
	return answers
}

// TestUpgradedUnderLoad replaces the program that clients start while they call and while others start: no call fails; new clients
// go to a new hub; the old one ends when its last session has. MCPHUB_LONG_CASES says how many upgrades.
func TestUpgradedUnderLoad(t *testing.T) {
	t.Parallel()
	a := sharing(t, obj{})
	all := a.Recorder("all")
	all["share"] = "all"
	a.config = a.Config(obj{"own": a.Recorder("own"), "all": all}, obj{"attach": obj{"mode": "auto", "idle": "300ms"}})
	program := a.Path("bin", "mcphub")
	install(t, program)
	start := func(n int) (started []*caller) {
		for range n {
			started = append(started, a.call(program, a.Project, "own", "all"))
		}
		return started
	}
	goOn := func(of []*caller) {
		t.Helper()
		for _, c := range of {
			c.goesOn(t, "own", "all")
		}
	}
	hubs := func() (pids []int) {
		for _, h := range a.status().Hubs {
			if !h.Shared {
				t.Errorf("a client has a hub of its own: %s", h.Alone)
			}
			pids = append(pids, h.PID)
		}
		return pids
	}
	r := seeds.Rand(t)
	old := start(2)
	goOn(old)
	answers, visitors, upgrades := 0, 0, world.LongCases(t, 2, 200)
	for range upgrades {
		before := hubs()
		if len(before) != 1 {
			t.Fatalf("hubs before the upgrade: %v", before)
		}
		during := start(2)
		<-time.After(time.Duration(r.IntN(60)) * time.Millisecond)
		install(t, program)
		now := start(2)
		goOn(slices.Concat(old, during, now))
		if both := hubs(); len(both) != 2 || !slices.Contains(both, before[0]) {
			t.Fatalf("hubs after the upgrade: %v, before: %v", both, before)
		}
		visitors += len(during) + len(now)
		answers += leaves(t, old) + leaves(t, during)
		if !world.Within(world.WaitLimit, func() bool { left := hubs(); return len(left) == 1 && left[0] != before[0] }) {
			t.Fatalf("hubs at the end: %v, before: %v", hubs(), before)
		}
		goOn(now)
		old = now
	}
	answers += leaves(t, old)
	t.Logf("%d upgrades, %d clients that came meanwhile, %d calls, none failed", upgrades, visitors, answers)
}

// TestUpgradedWhileAHubStarts replaces the program while the first client starts the hub: it is served by a shared one all the same.
func TestUpgradedWhileAHubStarts(t *testing.T) {
	t.Parallel()
	a := sharing(t, obj{})
	a.config = a.Config(obj{"rec": a.Recorder("rec")}, obj{"attach": obj{"mode": "auto", "idle": "500ms"}})
	program := a.Path("bin", "mcphub")
	install(t, program)
	r := seeds.Rand(t)
	for range world.LongCases(t, 4, 200) {
		c, err := ide.Start(ide.Options{Command: program, Args: []string{"serve", "--config", a.config}, Dir: a.Project, Env: a.env, Roots: ide.Folders(a.Project)})
		world.Must(t, err)
		<-time.After(time.Duration(r.IntN(40)) * time.Millisecond)
		install(t, program)
		began := time.Now()
		_, err = c.Initialize(a.wait())
		world.Must(t, err)
		if took := time.Since(began); took > bounds.Of(5*time.Second) {
			t.Errorf("it was served after %s", took)
		}
		a.started(c, "rec")
		if strings.Contains(c.Stderr(), "a hub of its own") {
			t.Error(c.Stderr())
		}
		if e := c.Close(world.StopBound); e.Killed || e.Code != 0 {
			t.Errorf("%+v %s", e, c.Stderr())
		}
		a.ends()
	}
}
