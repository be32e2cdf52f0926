package hub

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/rs/zerolog"

	"mcphub/children/launch"
	"mcphub/children/link"
	"mcphub/children/spec"
	"mcphub/e2e/childtest"
	"mcphub/e2e/seeds"
	"mcphub/hub/catalog"
	"mcphub/hub/fixed"
	"mcphub/hub/pin"
	"mcphub/internal/jsonrpc"
	"mcphub/rootsmgr/guard"
	"mcphub/validate"
	"mcphub/validate/declare"
	"mcphub/validate/policy"
)

// listener is a stage that notes what the children get of the last call of a tool.
type listener struct {
	*stage
	mu          sync.Mutex
	child, name string
	args        string
}

type listenerLink struct {
	link.ChildConnection
	child string
	to    *listener
}

func (s *listener) Launch(l launch.Launch, spec spec.Spec, h jsonrpc.Handler, log zerolog.Logger) (link.ChildConnection, error) {
	inner, err := s.stage.Launch(l, spec, h, log)
	return &listenerLink{inner, spec.Name, s}, err
}

func (l *listenerLink) Call(ctx context.Context, method string, params ...[]byte) (*jsonrpc.Response, error) {
	if method == "tools/call" {
		raw := slices.Concat(params...)
		l.to.mu.Lock()
		l.to.child = l.child
		l.to.name, _ = jsonrpc.String(jsonrpc.Get(raw, "name"))
		l.to.args = string(jsonrpc.Get(raw, "arguments"))
		l.to.mu.Unlock()
	}
	return l.ChildConnection.Call(ctx, method, params...)
}

// lastCall returns what came since it was called last.
func (s *listener) lastCall() (child, name, args string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	child, name, args = s.child, s.name, s.args
	s.child, s.name, s.args = "", "", ""
	return child, name, args
}

// A realServer has the definitions of a server of npm.
type realServer struct {
	Server string
	Tools  []json.RawMessage
	names  []string
}

// lockedVariable names a folder with files like hub.lock: then the servers in them take part, too.
const lockedVariable = "MCPHUB_DEFINITIONS"

func realServers(t *testing.T) (all []realServer) {
	t.Helper()
	files, err := filepath.Glob("search/testdata/tools/*.json")
	if err != nil || len(files) != 27 {
		t.Fatalf("%d servers, %v", len(files), err)
	}
	for _, file := range files {
		var s realServer
		readJSON(t, file, &s)
		all = append(all, s.named())
	}
	folder := os.Getenv(lockedVariable)
	if folder == "" {
		return all
	}
	if files, err = filepath.Glob(filepath.Join(folder, "*.lock")); err != nil || len(files) == 0 {
		t.Fatalf("%s=%s has no definitions: %v", lockedVariable, folder, err)
	}
	for i, file := range files {
		var lock pin.Lock
		readJSON(t, file, &lock)
		for _, name := range slices.Sorted(maps.Keys(lock.Servers)) {
			s := realServer{Server: fmt.Sprintf("locked-%d-%s", i, name)}
			for _, tool := range slices.Sorted(maps.Keys(lock.Servers[name].Tools)) {
				s.Tools = append(s.Tools, json.RawMessage(lock.Servers[name].Tools[tool]))
			}
			all = append(all, s.named())
		}
	}
	return all
}

func readJSON(t *testing.T, file string, into any) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}

// named returns the server with the names of its tools.
func (s realServer) named() realServer {
	for _, def := range s.Tools {
		name, _ := jsonrpc.String(jsonrpc.Get(def, "name"))
		s.names = append(s.names, name)
	}
	return s
}

// lines writes the definitions as a scripted child reads them.
func (s *realServer) lines(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	for _, def := range s.Tools {
		line, err := json.Marshal(def)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(append(line, '\n'))
	}
	file := filepath.Join(t.TempDir(), s.Server)
	if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestRenamedThereAndBack renames, describes and sets at random what 27 servers of npm define: calls reach the right tool with the right
// arguments, by the name towards the client and by call-tool; rules go by the server's own names. With MCPHUB_DEFINITIONS the servers of a
// folder of locks take part, too.
func TestRenamedThereAndBack(t *testing.T) {
	random := seeds.Rand(t)
	servers := realServers(t)
	synctest.Test(t, func(t *testing.T) {
		stage := &listener{stage: newStage()}
		judged := validate.Config{FS: guard.OS{}, Home: t.TempDir()}
		var specs []spec.Spec
		for _, s := range servers {
			specs = append(specs, played(s.Server, spec.ShareSession, childtest.Script{Defs: s.lines(t)}))
			judged.Children = append(judged.Children, validate.ChildConfig{Name: s.Server, Demand: declare.DemandNothing, Mode: declare.ModeOff, ModeSet: true})
		}
		judged.Policy.Rules = []policy.Rule{{Name: "no", Then: policy.Deny, Servers: []string{"memory"}, Tools: []string{"delete_*"}}}
		cfg := testConfig(t, specs...)
		cfg.Launcher = stage
		var err error
		if cfg.Checker, err = validate.NewChecker(judged); err != nil {
			t.Fatal(err)
		}
		for i, s := range servers {
			words := catalog.Words{Rename: map[string]string{}, Describe: map[string]string{}, Set: map[string][]fixed.Argument{}}
			shuffled := slices.Clone(s.names) // a third takes each other's names
			random.Shuffle(len(shuffled), func(a, b int) { shuffled[a], shuffled[b] = shuffled[b], shuffled[a] })
			third := shuffled[:len(shuffled)/3]
			for k, name := range third {
				if other := third[(k+1)%len(third)]; other != name {
					words.Rename[name] = other
				}
			}
			for k, name := range s.names {
				switch {
				case words.Rename[name] == "" && random.IntN(2) == 0:
					words.Rename[name] = fmt.Sprintf("renamed-%d", k)
				case random.IntN(3) == 0:
					words.Describe[name] = "Described \"anew\" " + name
				}
				properties := jsonrpc.MembersOf(jsonrpc.Get(jsonrpc.Get(s.Tools[k], "inputSchema"), "properties"))
				if len(properties) > 0 && random.IntN(2) == 0 {
					p := properties[random.IntN(len(properties))]
					words.Set[name] = []fixed.Argument{{Path: []string{p.Name}, Value: fmt.Appendf(nil, `{"set":%d}`, k)}}
				}
			}
			cfg.Children[i].Words = words
		}
		c, _ := enter(t, runHub(t, cfg), t.TempDir())
		c.handshake(`{"roots":{}}`)
		checkRenamed(t, c, stage, servers, cfg)
	})
}

// checkRenamed calls each tool.
func checkRenamed(t *testing.T, c *testClient, stage *listener, servers []realServer, cfg Config) {
	t.Helper()
	listed := map[string][]byte{}
	for cursor := []byte("null"); cursor != nil; {
		params := `{}`
		if string(cursor) != "null" {
			params = `{"cursor":` + string(cursor) + `}`
		}
		page := []byte(c.raw("tools/list", params))
		_ = jsonrpc.Elements(jsonrpc.Get(page, "tools"), func(def []byte) bool {
			name, _ := jsonrpc.String(jsonrpc.Get(def, "name"))
			listed[name] = def
			return true
		})
		cursor = jsonrpc.Get(page, "nextCursor")
	}
	var report struct {
		Servers []struct {
			Name  string
			Tools []struct{ Name, ToolName, OwnName string }
		}
	}
	if err := json.Unmarshal(jsonrpc.Get([]byte(c.raw("tools/call", toolCall("list-tools", `{}`))), "structuredContent"), &report); err != nil {
		t.Fatal(err)
	}
	names := map[string]string{} // towards the client, by server and own name
	for _, s := range report.Servers {
		for _, tool := range s.Tools {
			own := tool.ToolName
			if tool.OwnName != "" {
				own = tool.OwnName
			}
			names[s.Name+" "+own] = tool.Name
		}
	}
	calls, renamed, set, denied := 0, 0, 0, 0
	for i, s := range servers {
		words := &cfg.Children[i].Words
		for k, own := range s.names {
			shown := own
			if alias := words.Rename[own]; alias != "" {
				shown = alias
				renamed++
			}
			name := names[s.Server+" "+own]
			if s.Server == "memory" && strings.HasPrefix(own, "delete_") {
				denied++
				for _, call := range []string{toolCall("memory__"+shown, `{}`), toolCall("call-tool", fmt.Sprintf(`{"serverName":"memory","toolName":%q}`, shown))} {
					msg, bad := text(c.raw("tools/call", call))
					if child, _, _ := stage.lastCall(); name != "" || !bad || child != "" || !strings.Contains(msg, `"no"`) {
						t.Errorf("%s, which a rule denies, is listed as %q, or called: %s", own, name, msg)
					}
				}
				continue
			}
			if listed[name] == nil {
				t.Errorf("%s of %s is not listed: %q", own, s.Server, name)
				continue
			}
			if text := words.Describe[own]; text != "" {
				if got, _ := jsonrpc.String(jsonrpc.Get(listed[name], "description")); got != text {
					t.Errorf("%s of %s is described as %q", own, s.Server, got)
				}
			}
			args, want := fmt.Sprintf(`{"zz":%d}`, k), fmt.Sprintf(`{"zz":%d}`, k)
			given := ""
			if a := words.Set[own]; len(a) > 0 {
				set++
				want = string(jsonrpc.AppendMember([]byte{'{'}, a[0].Path[0], a[0].Value)) + "," + args[1:]
				given = string(jsonrpc.AppendMember([]byte{'{'}, a[0].Path[0], []byte(`"mine"`))) + "}"
				schema := jsonrpc.Get(listed[name], "inputSchema")
				if jsonrpc.Get(jsonrpc.Get(schema, "properties"), a[0].Path[0]) != nil {
					t.Errorf("%s of %s shows %s", own, s.Server, a[0].Path[0])
				}
			}
			for _, call := range []string{toolCall(name, args), toolCall("call-tool", fmt.Sprintf(`{"serverName":%q,"toolName":%q,"toolArgs":%s}`, s.Server, shown, args))} {
				calls++
				msg, bad := text(c.raw("tools/call", call))
				child, tool, got := stage.lastCall()
				if bad || child != s.Server || tool != own || got != want {
					t.Errorf("%s reaches %s of %s with %s; want %s of %s with %s. %s", call, tool, child, got, own, s.Server, want, msg)
				}
			}
			if given == "" {
				continue
			}
			msg, bad := text(c.raw("tools/call", toolCall(name, given)))
			if child, _, _ := stage.lastCall(); !bad || child != "" || !strings.Contains(msg, "only the operator of this hub changes") {
				t.Errorf("%s of %s takes %s: %s", own, s.Server, given, msg)
			}
		}
	}
	if calls < 500 || renamed*4 < calls/2 || set*8 < calls/2 || denied == 0 {
		t.Errorf("%d calls, %d tools renamed, %d with set arguments, %d denied: too few", calls, renamed, set, denied)
	}
	t.Logf("%d servers, %d calls; %d tools renamed, %d with set arguments", len(servers), calls, renamed, set)
}
