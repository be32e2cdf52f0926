package servers

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"mcphub/e2e/bounds"
	"mcphub/e2e/ide"
	"mcphub/e2e/world"
)

// The servers of fifteen windows: 34, of which 12 are published packages. Expected with one environment is one process for
// each that all share and that is called, one for each project of the ones that clients with the same roots share, and one
// for each session that calls one of its own: 16 + 3 x 3 + 3 = 28. With the hub, its guardian and 15 adapters that is 45.
// 12 are configured and called by no one, as in real configurations.
func sharedServers(w *world.World) (entries obj, all, byRoots, own []string) {
	n := world.RequireNode(w.T)
	entries = obj{}
	node := func(name, script string, share string, env obj) {
		e := obj{"command": n.Program, "args": []string{n.Script(script)}}
		if share != "" {
			e["share"] = share
		}
		if env != nil {
			e["env"] = env
		}
		entries[name] = e
	}
	for i := range 3 {
		name := strconv.Itoa(i)
		node("everything"+name, "mcp-server-everything", "all", nil)
		node("memory"+name, "mcp-server-memory", "all", obj{"MEMORY_FILE_PATH": w.Path("home", "memory"+name+".json")})
		all = append(all, "everything"+name, "memory"+name)
		node("thinking"+name, "mcp-server-sequential-thinking", "", nil) // what was thought belongs to a session
		node("files"+name, "mcp-server-filesystem", "roots", nil)
		byRoots = append(byRoots, "files"+name)
	}
	for i := range 10 {
		name := fmt.Sprintf("tool%d", i)
		entries[name] = w.Recorder(name)
		entries[name].(obj)["share"] = "all"
		all = append(all, name)
	}
	for i := range 3 {
		name := fmt.Sprintf("own%d", i)
		entries[name] = w.Recorder(name)
		own = append(own, name)
	}
	for i := range 9 {
		name := fmt.Sprintf("idle%d", i)
		entries[name] = w.Recorder(name)
	}
	return entries, all, byRoots, own
}

// callOf returns a call of each server that changes nothing.
func callOf(server, root string) (tool, args string) {
	switch {
	case strings.HasPrefix(server, "everything"):
		return "echo", `{"message":"well"}`
	case strings.HasPrefix(server, "memory"):
		return "read_graph", `{}`
	case strings.HasPrefix(server, "thinking"):
		return "sequentialthinking", `{"thought":"so","nextThoughtNeeded":false,"thoughtNumber":1,"totalThoughts":1}`
	case strings.HasPrefix(server, "files"):
		return "list_directory", `{"path":"` + root + `"}`
	}
	return "whoami", `{}`
}

// Fifteen clients in three projects share a hub, with one environment and with three.
func TestFifteenClients(t *testing.T) {
	t.Parallel()
	if !world.Long {
		t.Skip("set MCPHUB_E2E_LONG=1: it starts 150 processes")
	}
	for name, c := range map[string]struct {
		environments, processes, part int
	}{
		"one environment":    {1, 45, 8},
		"three environments": {3, 15 + 2 + (16+3)*3 + 3, 4},
	} {
		t.Run(name, func(t *testing.T) {
			w := world.New(t)
			entries, all, byRoots, own := sharedServers(w)
			if len(entries) != 34 {
				t.Fatalf("%d servers", len(entries))
			}
			config := w.Config(entries, obj{"attach": obj{"mode": "auto", "idle": "2s"}})
			if out, code := w.Command("warm", "--config", config); code != 0 { // else each session starts what no one knows yet
				t.Fatal(code, out)
			}
			mark := "XDG_MCPHUB_E2E=" + w.Dir + ";"
			base := append(w.Env(), mark)
			ctx, cancel := context.WithTimeout(t.Context(), 10*bounds.Patience)
			defer cancel()
			roots := make([]string, 3)
			for i := range roots {
				roots[i] = w.Path("project" + strconv.Itoa(i))
				world.Must(t, os.MkdirAll(roots[i], 0o755))
			}
			var clients []*ide.Client
			var attaching []time.Duration
			start := func(i int) *ide.Client {
				project := i % 3
				env := slices.Clone(base)
				if c.environments > 1 {
					env = append(env, "LANG="+[]string{"C", "C.UTF-8", "POSIX"}[project], "SSH_AUTH_SOCK=/nowhere/"+strconv.Itoa(project), "PATH="+roots[project]+":"+os.Getenv("PATH"))
				}
				given := ide.Folders(roots[project])
				if i/3%3 == 1 { // names no folder, as mcphub itself does with --roots
					given = ide.Result(`{"roots":[{"uri":"` + ide.FileURI(roots[project]) + `"}]}`)
				}
				client, err := ide.Start(ide.Options{Command: world.Hub(t), Args: []string{"serve", "--config", config}, Dir: roots[project], Env: append(env, "TERM=xterm-"+strconv.Itoa(i)), Roots: given,
					Capabilities: []string{`{"roots":{"listChanged":true}}`, `{"roots":{}}`, `{"roots":{"listChanged":true},"elicitation":{},"sampling":{}}`}[i/3%3]}) // three kinds
				world.Must(t, err)
				t.Cleanup(func() { client.Close(world.StopBound) })
				_, err = client.Initialize(ctx)
				world.Must(t, err)
				return client
			}
			call := func(client *ide.Client, i int, server string) {
				tool, args := callOf(server, roots[i%3])
				m, err := client.Call(ctx, "tools/call", ide.ToolParams(server+"__"+tool, args))
				if err != nil || m.Error != nil || strings.Contains(string(m.Result), `"isError":true`) {
					t.Errorf("client %d, %s: %v %s %s", i, server, err, m.Error, m.Result)
				}
			}
			// What a client of some kind has not been offered yet is started to see what it has. After that nothing is started but
			// for a call.
			for _, i := range []int{0, 3, 6} {
				client := start(i)
				for server := range entries {
					call(client, i, server)
				}
				client.Close(world.StopBound)
			}
			for i := range 15 {
				began := time.Now()
				clients = append(clients, start(i))
				attaching = append(attaching, time.Since(began))
			}
			for i := range clients {
				for _, server := range slices.Concat(all, byRoots) {
					call(clients[i], i, server)
				}
			}
			for i, server := range own {
				call(clients[i], i, server)
			}
			allHeld(t, base, len(all)+3*len(byRoots)+len(own))
			found := world.Marked(t, "HOME="+w.Home)
			shared := world.Memory(t, found...)
			slices.Sort(attaching)
			for _, client := range clients {
				client.Close(world.StopBound)
			}
			if !world.Within(world.WaitLimit, func() bool { return len(world.Marked(t, "HOME="+w.Home)) == 0 }) {
				t.Errorf("left over: %v", world.Marked(t, "HOME="+w.Home))
			}
			direct := pssDirect(t, w, entries, roots[0])
			t.Logf("%d processes, %d MiB; directly %d MiB for one client, so %d for fifteen: a part of %.1f; attaching %v at the median, servers starting beside it",
				len(found), shared>>10, direct>>10, 15*direct>>10, float64(15*direct)/float64(shared), attaching[len(attaching)/2])
			if len(found) != c.processes { // fewer: someone was served by what was started in another environment
				t.Errorf("%d processes, want %d: %v", len(found), c.processes, found)
			}
			if c.part*shared > 15*direct {
				t.Errorf("%d KiB is more than a part of %d of %d KiB", shared, c.part, 15*direct)
			}
		})
	}
}

// allHeld wants the kernel to hold every server that runs, of which there are so many at least.
func allHeld(t *testing.T, env []string, atLeast int) {
	t.Helper()
	cmd := exec.Command(world.Hub(t), "status", "--json")
	cmd.Env = env
	out, err := cmd.Output()
	world.Must(t, err)
	var status struct {
		Hubs []struct {
			Children []struct {
				Server, Instance, Kernel string
				KernelLacks              []string
				PID                      int
			}
		}
	}
	world.Must(t, json.Unmarshal(out, &status))
	running := 0
	for _, hub := range status.Hubs {
		for _, c := range hub.Children {
			if c.PID == 0 {
				continue
			}
			if running++; c.Kernel != "held" {
				t.Errorf("%s %s: the kernel: %q, it lacks %q", c.Server, c.Instance, c.Kernel, c.KernelLacks)
			}
		}
	}
	if running < atLeast {
		t.Errorf("%d servers run, want at least %d", running, atLeast)
	}
}

// pssDirect returns the memory that the servers of one client take when it starts all of them itself, as clients do.
func pssDirect(t *testing.T, w *world.World, entries obj, root string) int {
	t.Helper()
	var clients []*ide.Client
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		e := entries[name].(obj)
		env := append(w.Env(), "XDG_MCPHUB_DIRECT="+w.Dir+";")
		if more, ok := e["env"].(obj); ok {
			for k, v := range more {
				env = append(env, k+"="+v.(string))
			}
		}
		args := slices.Clone(e["args"].([]string))
		if strings.HasPrefix(name, "files") {
			args = append(args, root)
		}
		client, err := ide.Start(ide.Options{Command: e["command"].(string), Args: args, Dir: root, Env: env, Roots: ide.Folders(root)})
		world.Must(t, err)
		clients = append(clients, client)
		ctx, cancel := context.WithTimeout(t.Context(), world.WaitLimit)
		_, err = client.Initialize(ctx)
		cancel()
		world.Must(t, err)
	}
	found := world.Marked(t, "XDG_MCPHUB_DIRECT="+w.Dir)
	if len(found) < len(entries) {
		t.Fatalf("%d of %d servers run", len(found), len(entries))
	}
	sum := world.Memory(t, found...)
	for _, client := range clients {
		client.Close(world.StopBound)
	}
	return sum
}
