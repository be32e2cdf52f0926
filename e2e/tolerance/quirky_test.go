package tolerance

import (
	"context"
	"fmt"
	"maps"
	"net"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"mcphub/e2e/world"
)

// attached is the front of a client that attaches to a hub which clients share. If that is not possible the client has one of its own.
const attached = "attached"

// A variant is a stub with a quirk, over a transport.
type variant struct {
	*stub
	name, quirk string
	clients     []string // that visit it
	way         obj      // the entry of hub.json
	dial        func() net.Conn
}

// oneIn is how many quirks there are for one that the ordinary run tries.
const oneIn = 8

// variants returns all quirks, over each transport and for all clients. In the ordinary run it is one quirk of a few over one transport,
// for v1 and one more client, in turn.
func (all *stubs) variants() (list []variant) {
	bent := quirks()
	for i, name := range slices.Sorted(maps.Keys(bent)) {
		q, over, clients := bent[name], []string{overStdio, overHTTP}, callers
		if !world.Long {
			if i%oneIn > 0 {
				continue
			}
			over, clients = over[i/oneIn%2:i/oneIn%2+1], []string{"v1", callers[2+i/oneIn%3]}
		}
		if q.on != "" {
			over = []string{q.on}
		}
		for _, transport := range over {
			v := variant{stub: all.add(q, fmt.Sprintf("%s%d", transport, i)), name: name + ", " + transport, quirk: name, clients: clients}
			if transport == overHTTP {
				v.way = all.web(v.stub)
			} else {
				v.way = all.stdio(v.stub)
				v.dial = func() net.Conn { return all.dial(v.stub) }
			}
			list = append(list, v)
		}
	}
	return list
}

// direct returns a visit of a client to the stub itself. What it does not get in a few seconds is not looked for through the hub; v1
// must get what it does not wait for in vain.
func (v variant) direct(w *world.World, client string) visit {
	limit := 5 * time.Second
	if client == "v1" && !slices.Contains(waiting, v.quirk) {
		limit = world.WaitLimit
	}
	one := visit{client: client, limit: limit, servers: []visited{{v.key, "", asked}}, way: obj{"url": v.way["url"]}, dial: v.dial}
	if v.dial != nil {
		one.way = obj{"command": v.way["command"], "args": v.way["args"], "env": environment(w), "cwd": w.Home}
	}
	return one
}

// TestWhatWorksDirectly: whatever an official client gets of an odd server directly, it gets through a hub, which has many odd servers
// at once; and it gets all of the sound server among them. What is otherwise is in differences, and what is there is otherwise.
func TestWhatWorksDirectly(t *testing.T) {
	t.Parallel()
	n := world.RequireNode(t)
	w := world.New(t)
	t.Cleanup(func() { // the hub to which clients attach ends by itself
		world.Within(world.WaitLimit, func() bool { return len(world.Marked(t, "HOME="+w.Home)) == 0 })
	})
	p := startProber(w, n)
	servers := newStubs(t)
	cases, seen := 0, map[string]bool{} // differences that were
	for batch := range slices.Chunk(servers.variants(), 90) {
		compare(t, w, p, servers, batch, seen)
		cases += len(batch)
	}
	if _, err := os.Stat(w.Path("home", "state", "mcphub", "shared.log")); err != nil && runtime.GOOS == "linux" {
		t.Errorf("no client was attached: %v", err)
	}
	for why, all := range differences {
		for _, quirk := range all {
			if !seen[quirk] && world.Long {
				t.Errorf("%s: it is the same through the hub: that %s is no reason", quirk, why)
			}
		}
	}
	if t.Logf("%d cases", cases); cases < 40 || world.Long && cases < 500 {
		t.Error("these are too few")
	}
}

// differs gives the reason if a quirk is one of differences.
func differs(quirk string) string {
	for why, all := range differences {
		if slices.Contains(all, quirk) {
			return why
		}
	}
	return ""
}

// compare has clients visit the stubs of a batch, directly and through hubs.
func compare(t *testing.T, w *world.World, p prober, servers *stubs, batch []variant, seen map[string]bool) {
	var plan []visit
	for _, v := range batch {
		for _, client := range v.clients {
			plan = append(plan, v.direct(w, client))
		}
	}
	direct := map[string]probed{} // by the client and the stub
	for i, report := range p.visit(plan) {
		direct[plan[i].client+plan[i].servers[0].Key] = report
	}

	own, shared := obj{}, obj{}
	sound := servers.stdio(servers.add(quirk{}, "sound"))
	own["sound"], shared["sound"] = sound, world.WithKey(sound, "share", "all")
	for _, v := range batch {
		own[v.key], shared[v.key] = v.way, world.WithKey(v.way, "share", "all")
	}
	name := batch[0].key
	url := w.ServeHTTP(w.Write(name+"-shared.json", world.Raw(t, obj{"mcpServers": shared, "expose": "direct"})))
	fronts := map[string]obj{overHTTP: {"url": url, "headers": world.BearingHeaders(t, url)}}
	for front, mode := range map[string]string{overStdio: "off", attached: "auto"} {
		config := w.Write(front+name+".json", world.Raw(t, obj{"mcpServers": own, "expose": "direct", "attach": obj{"mode": mode, "idle": "400ms"}}))
		fronts[front] = obj{"command": world.Hub(t), "args": []string{"serve", "--config", config}, "env": environment(w), "cwd": w.Home}
	}
	plan = nil
	var names []string
	for _, client := range callers {
		for front, way := range fronts {
			if !world.Long && (client == "v2" || (client == "v1") != (front == attached) || front == overStdio) {
				continue
			}
			v := visit{client: client, limit: world.WaitLimit / 2, way: way, servers: []visited{{"sound", "sound__", asked}}, until: map[string][]string{}}
			for _, one := range batch {
				if d, is := direct[client+one.key]; is {
					works := slices.DeleteFunc(slices.Clone(asked), func(part string) bool { return d.part(one.key, part) == "" })
					v.servers = append(v.servers, visited{one.key, one.key + "__", works})
					v.wait(d, one)
				}
			}
			plan, names = append(plan, v), append(names, client+" over "+front)
		}
	}
	var hubs []probed
	for visits := range slices.Chunk(plan, 4) { // more at a time only wait for each other
		hubs = append(hubs, p.visit(visits)...)
	}

	for _, one := range batch {
		t.Run(one.name, func(t *testing.T) {
			control := slices.Contains(waiting, one.quirk) || slices.Contains(failing, one.quirk)
			if missing := direct["v1"+one.key].missing(one.key); (missing != "") != control {
				t.Errorf("v1, directly: it is a control: %t, and what does not work is %q", control, missing)
			}
			for at, v := range plan {
				d, is := direct[v.client+one.key]
				for _, piece := range pieces {
					want, got := d.part(one.key, piece), hubs[at].part(one.key, piece)
					switch {
					case !is || want == "" || got == want:
					case piece == "call" && d.late(one.key, "tools"): // a client that has no definition does not check the result by it
					case differs(one.quirk) != "":
						seen[one.quirk] = true
					default:
						t.Errorf("%s, %s: %.600s %.300s\ndirectly %.600s", names[at], piece, got, hubs[at].why(one.key, piece), want)
					}
				}
			}
		})
	}
	for at := range plan {
		if missing := hubs[at].missing("sound"); missing != "" {
			t.Errorf("%s, the sound server: %s", names[at], missing)
		}
	}
}

// late reports whether a part was not answered in time.
func (p probed) late(key, piece string) bool {
	why := p.why(key, piece)
	return strings.Contains(why, "timed out") || strings.Contains(why, context.DeadlineExceeded.Error())
}

// missing returns what a client does not get of a server, and why.
func (p probed) missing(key string) string {
	if p.Error != "" {
		return p.Error
	}
	text := ""
	for _, piece := range pieces {
		if p.part(key, piece) == "" {
			text += fmt.Sprintf("%s: %.200s; ", piece, p.why(key, piece))
		}
	}
	return text
}

// wait has a visit of the hub wait for what works directly.
func (v *visit) wait(d probed, one variant) {
	if differs(one.quirk) != "" {
		return
	}
	for piece, name := range map[string]string{"tools": "say", "prompts": "greet", "resources": "odd://" + one.key + "/note", "resourceTemplates": "odd://" + one.key + "/{a}"} {
		if !strings.Contains(d.part(one.key, piece), `"`+name+`"`) {
			continue
		}
		if piece == "tools" || piece == "prompts" {
			name = one.key + "__" + name
		}
		v.until[piece] = append(v.until[piece], name)
	}
}
