package operation

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"mcphub/e2e/bounds"
	"mcphub/e2e/ide"
	"mcphub/e2e/needs"
	"mcphub/e2e/world"
)

// attached is a world whose clients share a hub, as long as they are there and a moment longer.
type attached struct {
	*world.World
	config string
	env    []string
}

// sharing makes one. The hub and its adapters bear the same mark, since the hub of all of them is no one's.
func sharing(t *testing.T, children obj, more ...obj) *attached {
	t.Helper()
	w := world.New(t)
	a := &attached{World: w, config: w.Config(children, append([]obj{{"attach": obj{"mode": "auto", "idle": "400ms"}}}, more...)...)}
	a.env = append(w.Env(), "XDG_MCPHUB_E2E="+w.Dir+";")
	t.Cleanup(a.ends)
	return a
}

// ends waits until no part of the world runs: the hub ends by itself.
func (a *attached) ends() {
	mark := "HOME=" + a.Home
	if !world.Within(world.WaitLimit, func() bool { return len(world.Marked(a.T, mark)) == 0 }) {
		a.T.Errorf("left over: %v", world.Marked(a.T, mark))
		for _, p := range world.Marked(a.T, mark) {
			_ = syscall.Kill(p.PID, syscall.SIGKILL)
		}
	}
}

// client starts `mcphub serve` with a fake editor that has these roots.
func (a *attached) client(root string, env ...string) *ide.Client {
	a.T.Helper()
	c, err := ide.Start(ide.Options{Command: world.Hub(a.T), Args: []string{"serve", "--config", a.config}, Dir: root, Env: append(slices.Clone(a.env), env...), Roots: ide.Folders(root)})
	world.Must(a.T, err)
	a.T.Cleanup(func() { c.Close(world.StopBound) })
	return c
}

// ready is client, after the handshake.
func (a *attached) ready(root string, env ...string) *ide.Client {
	a.T.Helper()
	c := a.client(root, env...)
	_, err := c.Initialize(a.wait())
	world.Must(a.T, err)
	return c
}

func (a *attached) wait() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), world.WaitLimit)
	a.T.Cleanup(cancel)
	return ctx
}

// started asks a recorder how it was started.
func (a *attached) started(c *ide.Client, server string) (by world.Started) {
	a.T.Helper()
	m, err := c.Call(a.wait(), "tools/call", ide.ToolParams(server+"__whoami", "{}"))
	world.Must(a.T, err)
	var result struct{ StructuredContent world.Started }
	if m.Error != nil || json.Unmarshal(m.Result, &result) != nil || result.StructuredContent.PID == 0 {
		a.T.Fatalf("%s: %s %s", server, m.Error, m.Result)
	}
	return result.StructuredContent
}

// report is what `mcphub status --json` says.
type report struct{ Hubs []hubReport }

type hubReport struct {
	PID      int
	Shared   bool
	Alone    string
	Sessions []struct{ ID, Folder, Client string }
}

func (a *attached) status() (r report) {
	a.T.Helper()
	cmd := exec.Command(world.Hub(a.T), "status", "--json")
	cmd.Env = a.env
	out, err := cmd.Output()
	if err != nil && len(out) == 0 {
		a.T.Fatal(err)
	}
	world.Must(a.T, json.Unmarshal(out, &r))
	return r
}

// Three clients are served by one hub: each has its own roots, working folder, environment and servers with a state, and they
// share the ones that may be shared.
func TestClientsShareAHub(t *testing.T) {
	t.Parallel()
	kinds := map[string]obj{"own": {}, "some": {"share": "roots"}, "all": {"share": "all"}}
	a := sharing(t, nil)
	children := obj{}
	for name, more := range kinds {
		children[name] = a.Recorder(name)
		for k, v := range more {
			children[name].(obj)[k] = v
		}
	}
	a.config = a.Config(children, obj{"attach": obj{"mode": "auto", "idle": "400ms"}})
	clients := []*ide.Client{a.ready(a.Project), a.ready(a.Project), a.ready(a.Other)}
	pids := map[string][]int{}
	for i, c := range clients {
		for name := range kinds {
			by := a.started(c, name)
			pids[name] = append(pids[name], by.PID)
			if root := []string{a.Project, a.Project, a.Other}[i]; name != "all" && by.Cwd != root {
				t.Errorf("client %d: %s runs in %s, want %s", i, name, by.Cwd, root)
			}
		}
	}
	same := func(name string, i, j int) bool { return pids[name][i] == pids[name][j] }
	if same("own", 0, 1) || !same("some", 0, 1) || same("some", 0, 2) || !same("all", 0, 1) || !same("all", 0, 2) {
		t.Errorf("%v", pids)
	}
	r := a.status()
	if len(r.Hubs) != 1 || !r.Hubs[0].Shared || len(r.Hubs[0].Sessions) != len(clients) {
		t.Errorf("%+v", r)
	}
	for _, c := range clients {
		if e := c.Close(world.StopBound); e.Killed || e.Code != 0 {
			t.Errorf("%+v %s", e, c.Stderr())
		}
	}
}

// parentOf returns the process above another.
func parentOf(t testing.TB, pid int) int {
	t.Helper()
	parent, err := strconv.Atoi(statOf(t, pid)[1])
	world.Must(t, err)
	return parent
}

// statOf is /proc/PID/stat from the state on.
func statOf(t testing.TB, pid int) []string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	world.Must(t, err)
	return strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:]))
}

// kill ends a process at once.
func kill(t testing.TB, pid int) {
	t.Helper()
	world.Must(t, syscall.Kill(pid, syscall.SIGKILL))
}

// TestAHubThatIsEnded: a signal ends the hub in order, and its clients go on at another. See TestKilledAtAnyMoment for kills.
func TestAHubThatIsEnded(t *testing.T) {
	t.Parallel()
	a := sharing(t, obj{})
	a.config = a.Config(obj{"rec": a.Recorder("rec"), "deaf": a.Recorder("deaf", "-ignore-term", "-grandchild")}, obj{"attach": obj{"mode": "auto", "idle": "400ms"}})
	clients := []*ide.Client{a.ready(a.Project), a.ready(a.Other)}
	for _, client := range clients {
		a.started(client, "rec")
		a.started(client, "deaf")
	}
	world.Must(t, syscall.Kill(a.status().Hubs[0].PID, syscall.SIGTERM))
	for _, client := range clients {
		if !world.Within(world.WaitLimit, func() bool { return strings.Contains(client.Stderr(), "another one takes the session over") }) { // it is read beside
			t.Errorf("it is not told: %s", client.Stderr())
		}
		a.started(client, "rec")
		a.started(client, "deaf")
	}
}

// A hub that is stopped is told within two seconds, and the client is served otherwise. It takes no stream when it goes on.
func TestAStoppedHub(t *testing.T) {
	t.Parallel()
	a := sharing(t, obj{})
	a.config = a.Config(obj{"rec": a.Recorder("rec")}, obj{"attach": obj{"mode": "auto", "idle": "400ms"}})
	first := a.ready(a.Project)
	hub := a.status().Hubs[0].PID
	world.Must(t, syscall.Kill(hub, syscall.SIGSTOP))
	defer func() { _ = syscall.Kill(hub, syscall.SIGCONT) }()
	began := time.Now()
	second := a.client(a.Project)
	if !world.Within(world.WaitLimit, func() bool { return strings.Contains(second.Stderr(), "does not answer") }) {
		t.Fatalf("the hub is in state %s, and the client says %q", statOf(t, hub)[0], second.Stderr())
	}
	if took := time.Since(began); took > bounds.Of(2500*time.Millisecond) {
		t.Errorf("it is told after %s", took)
	}
	_, err := second.Initialize(a.wait())
	world.Must(t, err)
	world.Must(t, syscall.Kill(hub, syscall.SIGCONT))
	a.started(second, "rec")
	a.started(first, "rec")
}

// What keeps a client from a shared hub is said on its stderr and by status, and it is served all the same.
func TestWhoIsServedAlone(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		by   []string // before the command line
		want string
	}{
		"control":           {},
		"nice":              {[]string{"nice", "-n", "5"}, "nice"},
		"no new privileges": {[]string{"setpriv", "--no-new-privs"}, "NoNewPrivs"},
		"another namespace": {[]string{"unshare", "--uts"}, "another namespace"},
		"a low limit":       {[]string{"prlimit", "--nofile=512:512"}, "open files"},
	} {
		t.Run(name, func(t *testing.T) {
			needs.Line(t, strings.Join(c.by, " "))
			a := sharing(t, obj{})
			a.config = a.Config(obj{"rec": a.Recorder("rec")}, obj{"attach": obj{"mode": "auto", "idle": "400ms"}})
			if name == "no new privileges" || name == "another namespace" {
				a.ready(a.Project) // the hub that it could attach to
			}
			if os.Geteuid() == 0 && name == "nice" {
				c.want = "" // root may take any nice value back
			}
			line := append(slices.Clone(c.by), world.Hub(t), "serve", "--config", a.config)
			client, err := ide.Start(ide.Options{Command: line[0], Args: line[1:], Dir: a.Project, Env: a.env, Roots: ide.Folders(a.Project)})
			world.Must(t, err)
			t.Cleanup(func() { client.Close(world.StopBound) })
			_, err = client.Initialize(a.wait())
			world.Must(t, err)
			a.started(client, "rec")
			alone := slices.ContainsFunc(a.status().Hubs, func(h hubReport) bool {
				return strings.Contains(h.Alone, c.want) && h.Alone != ""
			})
			if name == "nice" && !alone {
				if stat := statOf(t, a.status().Hubs[0].PID); stat[16] != "0" {
					t.Errorf("the hub has the nice value %s", stat[16])
				}
			}
			if alone != (c.want != "") || c.want != "" && !strings.Contains(client.Stderr(), c.want) {
				t.Errorf("%+v\n%s", a.status(), client.Stderr())
			}
		})
	}
}

// A shared hub has nothing of the window that started it.
func TestASharedHubIsClean(t *testing.T) {
	t.Parallel()
	a := sharing(t, obj{})
	a.config = a.Config(obj{"rec": a.Recorder("rec")}, obj{"attach": obj{"mode": "auto", "idle": "400ms"}})
	line := []string{"sh", "-c", "umask 077; ulimit -n 5000; exec 9<" + a.config + "; exec \"$@\"", "sh", world.Hub(t), "serve", "--config", a.config}
	c, err := ide.Start(ide.Options{Command: line[0], Args: line[1:], Dir: a.Project, Env: append(slices.Clone(a.env), "CANARY=of the window", "LD_LIBRARY_PATH=/canary"), Roots: ide.Folders(a.Project)})
	world.Must(t, err)
	t.Cleanup(func() { c.Close(world.StopBound) })
	_, err = c.Initialize(a.wait())
	world.Must(t, err)
	hub := a.status().Hubs[0].PID
	read := func(name string) string {
		b, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(hub), name))
		world.Must(t, err)
		return string(b)
	}
	if env := read("environ"); strings.Contains(env, "canary") || strings.Contains(env, "CANARY") || !strings.Contains(env, "HOME="+a.Home) {
		t.Errorf("environment: %q", env)
	}
	if dir, err := os.Readlink(filepath.Join("/proc", strconv.Itoa(hub), "cwd")); err != nil || dir != "/" {
		t.Errorf("it works in %s %v", dir, err)
	}
	if !strings.Contains(read("status"), "\nUmask:\t0022\n") {
		t.Errorf("umask: %s", read("status"))
	}
	if stat := statOf(t, hub); stat[4] != "0" {
		t.Errorf("it has a terminal: %v", stat)
	}
	files, err := filepath.Glob(filepath.Join("/proc", strconv.Itoa(hub), "fd", "*"))
	world.Must(t, err)
	for _, f := range files {
		if to, _ := os.Readlink(f); to == a.config {
			t.Errorf("%s is open", to)
		}
	}
	by := a.started(c, "rec")
	if by.Cwd != a.Project {
		t.Errorf("the server of the session works in %s", by.Cwd)
	}
}

var callers atomic.Int64

// call starts a caller.
func (a *attached) call(program, root string, servers ...string) *caller {
	a.T.Helper()
	c := &caller{mark: fmt.Sprintf("CLIENT_MARK=%d;", callers.Add(1)), pulse: make(chan struct{}, 1), ended: make(chan struct{}), answers: map[string]int{}, root: root}
	self, err := os.Executable()
	world.Must(a.T, err)
	c.cmd = exec.Command(self)
	c.cmd.Env = append(slices.Clone(a.env), c.mark, callerVariable+"="+world.Raw(a.T, order{Command: program, Args: []string{"serve", "--config", a.config}, Root: root, Servers: servers}))
	c.stdin, err = c.cmd.StdinPipe()
	world.Must(a.T, err)
	said, err := c.cmd.StdoutPipe()
	world.Must(a.T, err)
	c.cmd.Stderr = os.Stderr
	world.Must(a.T, c.cmd.Start())
	go func() {
		for lines := bufio.NewScanner(said); lines.Scan(); {
			c.hears(lines.Text())
		}
		_ = c.cmd.Wait()
		close(c.ended)
		c.beats()
	}()
	a.T.Cleanup(func() { c.leave() })
	return c
}
