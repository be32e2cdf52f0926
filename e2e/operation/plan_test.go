package operation

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"mcphub/e2e/world"
)

// planned is what plan --json prints.
type planned struct {
	Plans []struct {
		PID     int
		Servers []plannedServer
		Error   string
		After   []string `json:"afterRestart"`
	}
	Calls *struct {
		Judged, Changed int
		Groups          []struct {
			Server, Tool, Was, Now, By string
			Count                      int
		}
	}
	Problems []struct{ Severity, Text, File string }
}

type plannedServer struct {
	Server, Change, Why string
	Processes, Tools    int
	ToolsUnknown        bool
	Appear, Vanish      []string
}

// An edit changes a configuration that was made again.
type edit struct {
	name string
	do   func(c, servers obj)
}

// planEdits are edits of hub.json, as people make them.
func planEdits(w *world.World) []edit {
	set := func(name, key string, v any) edit {
		return edit{fmt.Sprint(name, ": ", key), func(_, s obj) { s[name].(obj)[key] = v }}
	}
	top := func(key string, v any) edit { return edit{key, func(c, _ obj) { c[key] = v }} }
	rule := func(r obj) obj { r["name"] = "r"; return obj{"rules": []obj{r}} }
	return []edit{
		{"nothing", func(_, _ obj) {}},
		{"add two, remove one", func(_, s obj) { s["d"], s["e"] = w.Recorder("d"), w.Recorder("e"); delete(s, "a") }},
		{"rename", func(_, s obj) { s["c"] = s["b"]; delete(s, "b") }},
		{"env of two", func(_, s obj) {
			for _, name := range []string{"a", "b"} {
				s[name].(obj)["env"].(obj)["X"] = "y"
			}
		}},
		set("b", "args", []string{"--offers"}), set("a", "share", "all"), set("shared", "share", "session"), set("shared", "disabled", true), set("b", "era", "legacy"),
		set("a", "roots", "none"), set("a", "prefix", "x_"), set("b", "timeout", obj{"idle": "1h"}), set("a", "tools", obj{"include": []string{"who*", "echo"}}), set("a", "paths", obj{"mode": "strict"}),
		top("policy", rule(obj{"then": "deny", "if": obj{"tools": []string{"echo"}}})),
		top("policy", rule(obj{"then": "allow", "if": obj{"paths": obj{"within": w.Other, "roles": []string{"read"}}}})),
		top("roots", obj{"fallback": []string{w.Project, w.Other}}), top("limits", obj{"calls": 10}), top("names", obj{"separator": "-_-"}),
		{"search, but always", func(c, s obj) { c["expose"] = "search"; s["a"].(obj)["tools"] = obj{"always": []string{"echo"}} }},
		{"an unset variable", func(_, s obj) { s["a"].(obj)["args"] = []string{"${MCPHUB_E2E_NEVER_SET}"} }},
		{"a program that is not there", func(_, s obj) { s["new"] = obj{"command": "no-such-program-anywhere"} }},
		{"a bad key", func(c, _ obj) { c["roots"] = obj{"timeout": "ten"} }},
		{"everything at once", func(c, s obj) {
			delete(s, "b")
			s["new"] = w.Recorder("new")
			s["a"].(obj)["env"].(obj)["VARIANT"] = "9"
			s["shared"].(obj)["tools"] = obj{"exclude": []string{"big"}}
			c["roots"] = obj{"fallback": []string{w.Other}}
		}},
	}
}

// What plan says about an edit of hub.json is what then happens: which servers start, stop and restart, and which tools
// are listed. Each edit is planned from a hub that goes by the one before it, so that its undoing is planned too. What a plan compares is
// hub.TestPlan's; here are the kinds of edits.
func TestPlanSaysWhatAReloadDoes(t *testing.T) {
	t.Parallel()
	const hubs = 2 // side by side
	var mu sync.Mutex
	total := map[string]int{}
	t.Run("hubs", func(t *testing.T) {
		for hub := range hubs {
			t.Run(strconv.Itoa(hub), func(t *testing.T) {
				t.Parallel()
				w := world.New(t)
				p, all, own := newPlanner(w), planEdits(w), map[string]int{}
				edits := all[hub*len(all)/hubs : (hub+1)*len(all)/hubs]
				for _, e := range edits {
					p.step(e, own)
					if t.Failed() {
						return
					}
				}
				mu.Lock()
				defer mu.Unlock()
				for what, n := range own {
					total[what] += n
				}
			})
		}
	})
	t.Log(total)
	for _, want := range []string{"starts", "stops", "stays", "restarts", "refused", "appear", "vanish", "moved"} {
		if total[want] == 0 {
			t.Errorf("none of these edits shows %q: %v", want, total)
		}
	}
}

// planner is a hub that is edited, and its client.
type planner struct{ *operated }

func newPlanner(w *world.World) *planner {
	w.T.Helper()
	p := &planner{&operated{w: w}}
	p.serve(p.base())
	return p
}

func (p *planner) base() obj {
	placed := p.w.Recorder("placed", "${root}")
	shared := p.w.Recorder("shared")
	shared["share"] = "all"
	return obj{
		"roots":      obj{"fallback": []string{p.w.Project}},
		"mcpServers": obj{"a": p.w.Recorder("a"), "b": p.w.Recorder("b"), "placed": placed, "shared": shared},
	}
}

// seen is what a client sees of the servers.
type seen struct {
	pids  map[string]int
	tools map[string][]string // of each server, by the names on the list
}

// look has every server run, and sees what it offers.
func (p *planner) look() seen {
	p.w.T.Helper()
	v := seen{map[string]int{}, map[string][]string{}}
	list := func() (names []string) {
		var found struct {
			Servers []struct {
				Name, State string
				Tools       []struct{ Name, ToolName string }
			}
		}
		world.Decode(p.w.T, p.s.MustCall("list-tools", `{}`).Structured, &found)
		listed := p.s.Tools()
		for _, server := range found.Servers {
			if server.State == "not configured" {
				continue
			}
			names = append(names, server.Name)
			v.tools[server.Name] = nil
			for _, tool := range server.Tools {
				if listed[tool.Name] != nil {
					v.tools[server.Name] = append(v.tools[server.Name], tool.Name)
				}
			}
		}
		return names
	}
	for _, name := range list() {
		r := p.s.AwaitCall(p.s.SendCall("call-tool", world.Raw(p.w.T, obj{"serverName": name, "toolName": "whoami", "toolArgs": obj{}})))
		var st world.Started
		if !r.IsError {
			world.Decode(p.w.T, r.Structured, &st)
		}
		v.pids[name] = st.PID // 0: it does not start
	}
	list()
	return v
}

// step plans an edit, makes it, and compares.
func (p *planner) step(e edit, total map[string]int) {
	t := p.w.T
	t.Helper()
	before := p.look()
	config := p.base()
	e.do(config, config["mcpServers"].(obj))
	text := world.Raw(t, config)
	file := p.w.Write("elsewhere/new.json", text)
	status, out, errs := p.run("plan", "--json", "--config", p.path, file)
	var plan planned
	if err := json.Unmarshal([]byte(out), &plan); err != nil {
		t.Fatalf("%s: %v\n%s%s", e.name, err, out, errs)
	}
	if got := p.look(); world.Raw(t, got.pids) != world.Raw(t, before.pids) {
		t.Errorf("%s: the plan itself changed something: %v, before %v", e.name, got, before)
	}
	world.Must(t, os.WriteFile(p.path, []byte(text), 0o600))
	reload, said, _ := p.run("reload")
	if (status == 3) != (reload == 3) || status != 0 && status != 3 {
		t.Errorf("%s: plan ended with %d, the reload with %d\n%s%s%s", e.name, status, reload, out, errs, said)
		return
	}
	after := p.look()
	if status == 3 {
		total["refused"]++
		if world.Raw(t, after) != world.Raw(t, before) {
			t.Errorf("%s: refused, but %v became %v", e.name, before, after)
		}
		return
	}
	if len(plan.Plans) != 1 || plan.Plans[0].PID != p.s.PID() && runtime.GOOS != "linux" {
		t.Fatalf("%s: %s", e.name, out)
	}
	for _, s := range plan.Plans[0].Servers {
		p.compare(e, s, before, after, total)
		delete(after.pids, s.Server)
	}
	for name := range after.pids {
		t.Errorf("%s: the plan does not speak of %s", e.name, name)
	}
	if t.Failed() {
		t.Logf("%s\n%s", text, out)
	}
}

// compare holds what was said of one server against what became of it.
func (p *planner) compare(e edit, s plannedServer, before, after seen, total map[string]int) {
	t := p.w.T
	t.Helper()
	was, had := before.pids[s.Server]
	now, has := after.pids[s.Server]
	real := "stays"
	switch {
	case had && !has:
		real = "stops"
	case !had && has:
		real = "starts"
	case was != now:
		real = "restarts"
	}
	total[s.Change]++
	if real != s.Change {
		t.Errorf("%s: %s %s, and was said to be one that %s (%s)", e.name, s.Server, real, s.Change, s.Why)
	}
	if s.Change == "restarts" && s.Why != "" {
		total["moved"]++
	}
	if ends := real == "stops" || real == "restarts"; ends != (s.Processes > 0) && was != 0 {
		t.Errorf("%s: %s %s, and %d processes were said to end", e.name, s.Server, real, s.Processes)
	}
	if s.ToolsUnknown {
		total["unknown"]++
		return
	}
	without := func(all, others []string) (out []string) {
		for _, name := range all {
			if !slices.Contains(others, name) {
				out = append(out, name)
			}
		}
		slices.Sort(out)
		return out
	}
	for kind, both := range map[string][2][]string{
		"appear": {s.Appear, without(after.tools[s.Server], before.tools[s.Server])},
		"vanish": {s.Vanish, without(before.tools[s.Server], after.tools[s.Server])},
	} {
		total[kind] += len(both[1])
		if said := without(both[0], nil); !slices.Equal(said, both[1]) {
			t.Errorf("%s: of %s these tools %s:\n%s\nand these were said to:\n%s", e.name, s.Server, kind, strings.Join(both[1], " "), strings.Join(said, " "))
		}
	}
	if s.Tools != len(after.tools[s.Server]) {
		t.Errorf("%s: %s has %d tools, and was said to have %d", e.name, s.Server, len(after.tools[s.Server]), s.Tools)
	}
}
