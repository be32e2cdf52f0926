package validate

import (
	"os"
	"slices"
	"testing"

	"mcphub/validate/access"
	"mcphub/validate/policy"
)

// TestServedBeside: a directory that only a rule serves does not make every relative path one outside.
func TestServedBeside(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.must(os.WriteFile(w.outside+"/a.txt", nil, 0o644))
	rules := []policy.Rule{{Name: "read", Then: policy.Allow, Paths: within("{outside}", access.Read)}, {Name: "ask", Then: policy.Escalate, Paths: &policy.PathRule{Outside: true}}}
	c := w.rules("", rules...)
	where := w.where()
	where.Served = append(slices.Clone(w.roots), w.outside)
	for _, e := range []struct {
		tool, args string
		want       policy.Decision
	}{
		{readTool, `{"path":"src/main.go"}`, policy.Allow},
		{anyTool, `{"path":"new.txt"}`, policy.Allow},
		{readTool, `{"path":"a.txt"}`, policy.Escalate},                            // it is there too: which one is meant no one knows
		{anyTool, `{"path":"sub/new.txt"}`, policy.Escalate},                       // the directory to make it in is there
		{anyTool, `{"cwd":"{outside}","file":"new.txt"}`, policy.Escalate},         // named by the call
		{anyTool, `{"file":"../outside/new.txt"}`, policy.Escalate},                // from the root
		{readTool, `{"path":"../outside/secret.txt"}`, policy.Allow},               // which the rule allows
		{anyTool, `{"path":"new.txt","p2":"{outside}/sub/../x"}`, policy.Escalate}, // the control: an absolute one counts at once
		{shellTool, `{"command":"make 2>&1 | tee build.log > out.txt"}`, policy.Allow},
		{shellTool, `{"command":"mkdir -p build/obj && touch new.txt"}`, policy.Allow},
		{shellTool, `{"command":"touch sub/new.txt"}`, policy.Escalate}, // the directory to make it in is there
		{shellTool, `{"command":"cat a.txt"}`, policy.Allow},            // it is there too, and may be read
		{shellTool, `{"command":"rm a.txt"}`, policy.Escalate},
		{shellTool, `{"command":"touch {outside}/new.txt"}`, policy.Escalate},
		{`{"name":"run_command","annotations":{"readOnlyHint":true}}`, `{"command":"cd {outside} && touch new.txt"}`, policy.Escalate}, // where it has gone
		{shellTool, `{"command":"touch new.txt","cwd":"{outside}"}`, policy.Escalate},
	} {
		s, err := c.Scan(w.tool(c, "", e.tool), w.json(e.args))
		w.must(err)
		if v := c.Judge(s, where, w.view()); v.Decision != e.want {
			t.Errorf("%s %s: %v by %q, want %v: %+v", e.tool, e.args, v.Decision, v.Rule, e.want, v.Deciding)
		}
	}
	// The control: a root that no rule names counts whole.
	w.roots = []string{w.project}
	bare := w.checker()
	s, err := bare.Scan(w.tool(bare, "", anyTool), []byte(`{"path":"new.txt"}`))
	w.must(err)
	if v := bare.Judge(s, where, w.view()); v.Decision != policy.Deny {
		t.Errorf("control: %v by %q", v.Decision, v.Rule)
	}
}

// TestServedBesideOfAKnownServer: a server that takes relative paths from its first directory never comes to what a rule
// serves it behind that.
func TestServedBesideOfAKnownServer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.must(os.WriteFile(w.outside+"/a.txt", nil, 0o644))
	for _, e := range []struct {
		name, tool, args string
		known, unknown   policy.Decision
		served           []string
	}{
		{"the root itself", `{"name":"list_directory"}`, `{"path":"."}`, policy.Allow, policy.Deny, nil},
		{"a name that is there too", `{"name":"write_file"}`, `{"path":"a.txt"}`, policy.Allow, policy.Deny, nil},
		{"in a directory that is there too", `{"name":"write_file"}`, `{"path":"./sub/new.txt"}`, policy.Allow, policy.Deny, nil},
		{"climbing", `{"name":"write_file"}`, `{"path":"../outside/a.txt"}`, policy.Deny, policy.Deny, nil},
		{"climbing in the end", `{"name":"write_file"}`, `{"path":"src/../../outside/a.txt"}`, policy.Deny, policy.Deny, nil},
		{"absolute", `{"name":"write_file"}`, `{"path":"{outside}/a.txt"}`, policy.Deny, policy.Deny, nil},
		{"through a link", `{"name":"write_file"}`, `{"path":"link/a.txt"}`, policy.Deny, policy.Deny, nil},
		{"served first", `{"name":"write_file"}`, `{"path":"a.txt"}`, policy.Deny, policy.Deny, []string{w.outside, w.project}},
	} {
		config := w.config("", policy.Rule{Name: "read", Then: policy.Allow, Tools: []string{"read_*"}, Paths: within("{outside}", access.Read)})
		for _, of := range []struct {
			command []string
			server  string
			want    policy.Decision
		}{
			{[]string{"npx", "-y", "@modelcontextprotocol/server-filesystem"}, "", e.known},
			{[]string{"some-server"}, "secure-filesystem-server", e.unknown}, // anybody may be called so
			{[]string{"some-server"}, "", e.unknown},
		} {
			config.Children = []ChildConfig{{Name: "child", Command: of.command[0], CommandArgs: of.command[1:]}}
			c, err := NewChecker(config)
			w.must(err)
			where := w.where()
			if where.Served = e.served; e.served == nil {
				where.Served = []string{w.project, w.outside}
			}
			s, err := c.Scan(w.tool(c, of.server, e.tool), w.json(e.args))
			w.must(err)
			if v := c.Judge(s, where, w.view()); v.Decision != of.want {
				t.Errorf("%s: %v %q: %v by %q, want %v: %+v", e.name, of.command, of.server, v.Decision, v.Rule, of.want, v.Deciding)
			}
		}
	}
}
