package tolerance

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"mcphub/e2e/world"
)

// An oddCase is what a client does with a server that is odd, directly and through the hub.
type oddCase struct {
	oddity
	older string // the protocol version that the client proposes directly, as one of that time; "": the newest
	entry obj    // more of its entry in hub.json

	do     []obj
	want   string // what comes of it
	viaHub []obj  // through the hub, if that is otherwise
	hub    string
	stdio  bool // it is of this transport alone
	http   bool
}

// steps returns the steps of a case: pairs of what is done, and a name.
func steps(pairs ...string) (all []obj) {
	for i := 0; i < len(pairs); i += 2 {
		all = append(all, obj{"do": pairs[i], "name": pairs[i+1]})
	}
	return all
}

var callOld = steps("await", "old", "call", "old")

const calledOld = `"old" "called old"`

var oddCases = map[string]oddCase{
	"healthy":        {do: callOld, want: calledOld},
	"ids as strings": {oddity: oddity{TextIDs: true}, do: steps("await", "old", "call", "old", "prompts", ""), want: calledOld + ` ["greet"]`},

	"the first list of tools is refused": {
		oddity: oddity{Indexing: 1},
		do:     steps("tools", "", "tools", ""), want: `"error: still indexing" ["old"]`, viaHub: callOld, hub: calledOld,
	},
	"many lists of tools are refused": {
		oddity: oddity{Indexing: 7},
		do:     steps("prompts", ""), want: `["greet"]`, viaHub: steps("await", "old", "call", "old", "prompts", ""), hub: calledOld + ` ["greet"]`,
	},
	"the prompts are never listed": {oddity: oddity{Hangs: "prompts/list"}, do: callOld, want: calledOld},
	"a tool is swapped, and nothing is said": {
		oddity: oddity{Swaps: true},
		do:     steps("await", "old", "call", "old", "tools", "", "call", "new"), want: `"old" "Unknown tool: old" ["new"] "called new"`,
	},
	"a prompt is swapped, and nothing is said": {
		oddity: oddity{Swaps: true},
		do:     steps("await", "old", "prompts", "", "call", "old", "prompt", "greet", "prompts", "", "prompt", "welcome"),
		want:   `"old" ["greet"] "Unknown tool: old" "error: Prompt greet not found" ["welcome"] "got welcome"`,
	},
	"a tool is added, and said before the answer": {
		oddity: oddity{Tells: true}, stdio: true,
		do: steps("await", "old", "told", "old", "call", "new"), want: `"old" ["called old",true,"new","old"] "called new"`,
	},
	"a pinned version": {
		oddity: oddity{Speaks: []string{"2025-03-26"}, Refusal: obj{"code": -32000, "message": "no such version"}}, entry: obj{"protocol": "2025-03-26"}, older: "2025-03-26",
		do: callOld, want: calledOld,
	},
	"a pinned version that is refused": {
		oddity: oddity{Speaks: []string{"2025-03-26"}, Refusal: obj{"code": -32000, "message": "no such version"}}, entry: obj{"protocol": "2025-06-18"}, older: "2025-03-26",
		do: callOld, want: calledOld, viaHub: steps("call", "old"), hub: "no such version",
	},
}

func init() {
	for name, refused := range map[string]oddity{
		"names what it has": {Refusal: obj{"code": -32602, "message": "Unsupported protocol version", "data": obj{"requested": "2025-11-25"}}},
		"names nothing":     {Refusal: obj{"code": -32000, "message": "Server error"}},
		"status 400":        {Status: 400},
	} {
		for _, version := range []string{"2025-06-18", "2025-03-26", "2024-11-05"} {
			odd := refused
			odd.Speaks, odd.Refusal = []string{version}, maps.Clone(refused.Refusal)
			if name == "names what it has" {
				odd.Refusal["data"] = obj{"supported": odd.Speaks, "requested": "2025-11-25"}
			}
			oddCases[fmt.Sprintf("%s alone, and %s", version, name)] = oddCase{oddity: odd, older: version, http: odd.Status != 0, do: callOld, want: calledOld}
		}
	}
}

// A report is what came of a session: see odd-client.mjs.
type report struct {
	Error   string
	Results map[string][]json.RawMessage
}

// of returns what came of a case, in one line.
func (r report) of(name string) string {
	all := make([]string, 0, len(r.Results[name]))
	for _, one := range r.Results[name] {
		all = append(all, string(one))
	}
	return r.Error + strings.Join(all, " ")
}

// talk has the official clients keep these sessions.
func talk(w *world.World, n world.Node, sessions []obj) (reports []report) {
	w.T.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*world.WaitLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, n.Program, world.Source("e2e", "tolerance", "odd-client.mjs"))
	cmd.Env, cmd.Stdin = w.Env(), strings.NewReader(world.Raw(w.T, obj{"sessions": sessions}))
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	w.T.Cleanup(func() {
		if w.T.Failed() {
			w.T.Logf("stderr:\n%s", errs.Bytes())
		}
	})
	world.Must(w.T, err)
	world.Must(w.T, json.Unmarshal(out.Bytes(), &reports))
	return reports
}

// sessionAt returns a session of a client with a server.
func sessionAt(w *world.World, sdk string, server obj, cases obj) obj {
	env := obj{}
	for _, v := range w.Env() {
		name, value, _ := strings.Cut(v, "=")
		env[name] = value
	}
	if own, is := server["env"].(obj); is {
		maps.Copy(env, own)
	}
	s := maps.Clone(server)
	s["sdk"], s["cases"] = sdk, cases
	if server["url"] == nil {
		s["env"], s["cwd"] = env, w.Home
	}
	return s
}

// TestOddServers: what the official clients get of an odd server directly they get through the hub, which has all of them
// at once, so that none harms another.
func TestOddServers(t *testing.T) {
	t.Parallel()
	n := world.RequireNode(t)
	w := world.New(t)
	type variant struct {
		key string // of its entry
		oddCase
		overHTTP bool
		name     string
	}
	var all []variant
	for i, name := range slices.Sorted(maps.Keys(oddCases)) {
		c := oddCases[name]
		for _, http := range []bool{false, true} {
			if c.stdio && http || c.http && !http {
				continue
			}
			transport := map[bool]string{false: "stdio", true: "http"}[http]
			all = append(all, variant{fmt.Sprintf("%s%d", transport, i), c, http, name + ", " + transport})
		}
	}
	sdks := []string{"v1", "v2"}
	var sessions []obj
	for _, sdk := range sdks {
		for _, v := range all {
			s := sessionAt(w, sdk, v.start(t, v.overHTTP), obj{"direct": obj{"prefix": "", "steps": v.do}})
			if v.older != "" {
				s["older"] = v.older
			}
			sessions = append(sessions, s)
		}
	}
	for _, v := range all {
		if v.older != "" { // the control: the newest version is refused
			sessions = append(sessions, sessionAt(w, "v1", v.start(t, v.overHTTP), obj{"direct": obj{"prefix": "", "steps": v.do}}))
		}
	}
	direct := talk(w, n, sessions)
	sessions = nil
	for _, sdk := range sdks {
		entries, cases := obj{}, obj{}
		for _, v := range all {
			entry := v.start(t, v.overHTTP) // another one, which was asked nothing
			if maps.Copy(entry, v.entry); !v.overHTTP {
				world.Free(entry)
			}
			entries[v.key] = entry
			do := v.viaHub
			if do == nil {
				do = v.do
			}
			cases[v.key] = obj{"prefix": v.key + "__", "steps": do}
		}
		hub := obj{"command": world.Hub(t), "args": []string{"serve", "--config", w.Write("hub-"+sdk+".json", world.Raw(t, obj{"mcpServers": entries}))}}
		sessions = append(sessions, sessionAt(w, sdk, hub, cases))
	}
	hubs := talk(w, n, sessions)
	for at, sdk := range sdks {
		for i, v := range all {
			if got := plain(direct[at*len(all)+i].of("direct")); got != v.want {
				t.Errorf("%s, %s, directly: %s, want %s", v.name, sdk, got, v.want)
				continue
			}
			got := plain(hubs[at].of(v.key))
			switch {
			case v.hub == "" && got != v.want:
				t.Errorf("%s, %s, through the hub: %s, want %s", v.name, sdk, got, v.want)
			case v.hub != "" && (!strings.Contains(got, v.hub) || strings.HasPrefix(v.hub, `"`) && got != v.hub):
				t.Errorf("%s, %s, through the hub: %s, want %s", v.name, sdk, got, v.hub)
			}
		}
	}
	for i, v := range direct[len(sdks)*len(all):] {
		if v.Error == "" {
			t.Errorf("control %d: the newest version is taken: %s", i, v.of("direct"))
		}
	}
}

// plain returns a result without what v1 puts before the text of an error.
func plain(text string) string { return codes.ReplaceAllString(text, "") }

var codes = regexp.MustCompile(`MCP error -\d+: `)
