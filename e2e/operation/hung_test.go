package operation

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"mcphub/e2e/ide"
	"mcphub/e2e/world"
)

// standing is how status shows a server.
type standing struct {
	Server, State, Error, LastFailure string
	PID, Restarts                     int
}

func (p *operated) standing() map[string]standing {
	p.w.T.Helper()
	status, out, errs := p.run("status", "--json")
	var v struct {
		Hubs []struct{ Children []standing }
	}
	if err := json.Unmarshal([]byte(out), &v); err != nil || status != 0 || len(v.Hubs) != 1 {
		p.w.T.Fatalf("status ended with %d: %v\n%s%s", status, err, out, errs)
	}
	all := map[string]standing{}
	for _, c := range v.Hubs[0].Children {
		all[c.Server] = c
	}
	return all
}

// A server that is hung is shown as that and started again, and its later calls do not each wait for their time; one that
// answers pings is slow, and left alone. It takes a minute: that is how long a hub gives a server before it calls it hung.
func TestHungServersAreShownAndRestarted(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	const long, short = 90 * time.Second, 2 * time.Second // the first leaves time to see that it is hung before it is stopped
	server := func(name string, limit time.Duration) obj {
		entry := w.Recorder(name, "--hangs")
		entry["timeout"] = obj{"call": limit.String()}
		return entry
	}
	p := &operated{w: w}
	p.serve(obj{"mcpServers": obj{
		"deaf": server("deaf", long), "mute": server("mute", long), "brief": server("brief", short), "idle": server("idle", short), "fine": server("fine", long),
	}})
	all := []string{"deaf", "mute", "brief", "idle", "fine"}
	before := p.s.PIDs(all...) // control: they answer

	// Each of those with long calls has two under way, the second since a moment later.
	var calls sync.WaitGroup
	t.Cleanup(calls.Wait) // they report to the test
	start := time.Now()
	ended := map[string][2]ide.ToolResult{}
	var mu sync.Mutex
	for _, name := range []string{"deaf", "mute"} {
		first := p.s.SendCall(name+"__hang", `{"kind":"`+name+`"}`)
		second := p.s.SendCall(name+"__echo", `{"text":"hi"}`)
		calls.Go(func() {
			a, b := p.awaitLong(first), p.awaitLong(second)
			mu.Lock()
			defer mu.Unlock()
			ended[name] = [2]ide.ToolResult{a, b}
		})
	}

	// The short calls of one that is hung fail for some time, then it is another process; those of one that is slow go on failing.
	hang := func(name, kind string) {
		if r := p.s.AwaitCall(p.s.SendCall(name+"__hang", `{"kind":"`+kind+`"}`)); !r.IsError {
			t.Errorf("%s: %s", name, r.Text)
		}
	}
	hang("brief", "mute")
	hang("idle", "idle")
	failed := 0
	for r := (ide.ToolResult{IsError: true}); r.IsError && failed < 20; failed++ {
		r = p.s.AwaitCall(p.s.SendCall("brief__echo", `{"text":"hi"}`))
	}
	if took := time.Since(start); failed > 12 {
		t.Errorf("%d calls failed, in %s", failed, took)
	}
	for range 3 {
		if r := p.s.AwaitCall(p.s.SendCall("idle__echo", `{"text":"hi"}`)); !r.IsError || !strings.Contains(r.Text, "2s") {
			t.Errorf("a server that answers no calls: %s", r.Text)
		}
	}

	// Meanwhile those with long calls are shown as hung, and nobody else is.
	shown := map[string]bool{}
	if !world.Within(3*world.WaitLimit, func() bool {
		for name, st := range p.standing() {
			if st.State == "hung" && strings.Contains(st.Error, "answers neither its calls nor whether it is there") {
				shown[name] = true
			}
		}
		return len(shown) >= 2
	}) || !shown["deaf"] || !shown["mute"] {
		t.Errorf("shown as hung: %v; status: %+v", shown, p.standing())
	}
	calls.Wait()
	for name, both := range ended {
		for _, r := range both {
			if !r.IsError || !strings.Contains(r.Text, "hung") {
				t.Errorf("%s: %s", name, r.Text)
			}
		}
	}

	// Those that were hung are other processes now, which answer; the others are the same.
	after := p.s.PIDs("deaf", "mute", "brief", "fine")
	standing := p.standing()
	for _, name := range []string{"deaf", "mute", "brief"} {
		if st := standing[name]; after[name] == before[name] || st.State != "ready" || st.Restarts != 1 || !strings.Contains(st.LastFailure, "hung") {
			t.Errorf("%s was %d, is %d: %+v", name, before[name], after[name], st)
		}
	}
	if st := standing["fine"]; after["fine"] != before["fine"] || st.Restarts != 0 {
		t.Errorf("fine: %+v", st)
	}
	if st := standing["idle"]; st.PID != before["idle"] || st.State != "ready" || st.Restarts != 0 {
		t.Errorf("idle, which answers pings: %+v", st)
	}
}

// awaitLong is await for a call that takes longer than anything else does.
func (p *operated) awaitLong(id string) ide.ToolResult {
	deadline := time.Now().Add(3 * world.WaitLimit)
	for {
		r, err := p.s.ToolAnswer(p.s.Context(), id)
		if err == nil || time.Now().After(deadline) {
			if err != nil {
				p.w.T.Error(err)
			}
			return r
		}
	}
}
