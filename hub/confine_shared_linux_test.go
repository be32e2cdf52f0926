package hub

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"mcphub/children/sandbox"
	"mcphub/children/spec"
	"mcphub/e2e/bounds"
	"mcphub/rootsmgr"
	"mcphub/validate"
	"mcphub/validate/access"
	"mcphub/validate/policy"
)

// everybodys returns a hub whose one server is a shell that serves everybody, with the search for paths off, and three sessions of it:
// with the root a, with the root b, and one that gives none. "out" is the home folder.
func everybodys(t *testing.T, settings sandbox.Settings, judge func(v *validate.Config, d map[string]string), with func(cfg *Config, d map[string]string)) (sessions []*testClient, d map[string]string) {
	t.Helper()
	landlocked(t)
	var in map[string]string
	c, d := shellHub(t, settings, func(v *validate.Config, d map[string]string) {
		if in = d; judge != nil {
			judge(v, d)
		}
	}, func(cfg *Config) {
		cfg.Children[0].Spec.Share, cfg.Home, cfg.Inspect = spec.ShareAll, in["out"], true
		if with != nil {
			with(cfg, in)
		}
	})
	c.handshake(`{"roots":{}}`)
	other, none := connect(t, c.hub, d["b"]), connect(t, c.hub)
	other.handshake(`{"roots":{}}`)
	none.handshake(`{}`)
	return []*testClient{c, other, none}, d
}

// TestSharedByAllIsHeld: a server that serves everybody opens what is configured for it, and
// neither the project of a session nor the home folder: where nothing is configured, its
// own folder. The control is the same one with its sandbox off.
func TestSharedByAllIsHeld(t *testing.T) {
	docs := func(v *validate.Config, d map[string]string) {
		v.Policy.Rules = []policy.Rule{{Name: "docs", Then: policy.Allow, Paths: &policy.PathRule{Within: d["docs"], Roles: []access.Role{access.Read}}}}
	}
	box := func(cfg *Config, d map[string]string) {
		cfg.Fallback = rootsmgr.Fallback{Origin: rootsmgr.OriginConfig, Entries: []rootsmgr.RootEntry{{URI: d["box"]}}}
	}
	entry := func(cfg *Config, d map[string]string) {
		cfg.Children[0].Spec.Sandbox.Read, cfg.Children[0].Spec.Sandbox.Write = []string{d["docs"]}, []string{d["box"]}
	}
	gone := func(cfg *Config, d map[string]string) {
		cfg.Fallback = rootsmgr.Fallback{Origin: rootsmgr.OriginConfig, Entries: []rootsmgr.RootEntry{{URI: d["box"] + "/missing"}}}
	}
	for name, tc := range map[string]struct {
		judge         func(v *validate.Config, d map[string]string)
		with          func(cfg *Config, d map[string]string)
		reads, writes string
		rooted        bool
	}{
		"nothing":         {},
		"roots":           {with: box, reads: "box", writes: "box", rooted: true},
		"a missing root":  {with: gone},
		"the policy":      {judge: docs, reads: "docs", rooted: true},
		"its own sandbox": {with: entry, reads: "docs box", writes: "box"},
	} {
		modes := map[string]sandbox.Settings{"off": {}, "required": {Mode: sandbox.Required}}
		if name == "roots" { // the other modes become one of these two
			modes["auto"], modes["default"] = sandbox.Settings{Mode: sandbox.Auto}, sandbox.Settings{Mode: sandbox.Auto, Default: true}
		}
		for mode, settings := range modes {
			t.Run(name+", "+mode, func(t *testing.T) {
				settings.Network.On = true
				sessions, d := everybodys(t, settings, tc.judge, tc.with)
				for i, c := range sessions {
					reads, writes := c.reaches(d)
					for place := range d {
						if want := mode == "off" || slices.Contains(strings.Fields(tc.reads), place); reads[place] != want {
							t.Errorf("session %d: %s can be read: %t", i, place, reads[place])
						}
						if want := mode == "off" || slices.Contains(strings.Fields(tc.writes), place); writes[place] != want {
							t.Errorf("session %d: %s can be written: %t", i, place, writes[place])
						}
					}
					if report := c.rootsReport(); strings.Contains(report, `"kernel":"held"`) == (mode == "off") {
						t.Errorf("session %d: get-roots says %s", i, report)
					}
				}
				c := sessions[0]
				cwd := c.output("pwd -P")
				switch {
				case tc.rooted:
				case cwd == "" || cwd == d["a"] || cwd == d["b"] || cwd == d["out"]:
					t.Errorf("it works in %q", cwd)
				default:
					if got := c.output("ls -A; echo x > note && cat note && rm note && echo kept"); got != "x\nkept" {
						t.Errorf("in its own folder %s: %s", cwd, got)
					}
				}
				status, err := json.Marshal(c.hub.Status())
				if err != nil || strings.Contains(string(status), `"kernel":"held"`) == (mode == "off") {
					t.Errorf("status says %s, %v", status, err)
				}
			})
		}
	}
}

// reaches tries each place in one command of the server: whether the file in it can be read, and whether a new one can be made.
func (c *testClient) reaches(d map[string]string) (reads, writes map[string]bool) {
	c.t.Helper()
	var script strings.Builder
	for place, dir := range d {
		fmt.Fprintf(&script, "case $(cat %s/file) in *canary*) echo reads %s;; esac; touch %[1]s/new && echo writes %[2]s; ", dir, place)
	}
	reads, writes = map[string]bool{}, map[string]bool{}
	for line := range strings.Lines(c.output("{ " + script.String() + "} 2>/dev/null; echo tried")) {
		switch verb, place, _ := strings.Cut(strings.TrimSpace(line), " "); verb {
		case "reads":
			reads[place] = true
		case "writes":
			writes[place] = true
		}
	}
	return reads, writes
}

// output returns what a command that succeeds prints.
func (c *testClient) output(command string) string {
	c.t.Helper()
	out, _ := c.shell(command)
	said, ok := strings.CutSuffix(out, "<nil>")
	if !ok {
		c.t.Fatalf("%s: %s", command, out)
	}
	return strings.TrimSpace(said)
}

// TestTheFolderOfASharedServerGoesWithIt, what it made in it too; and what others of the
// hub write is not on record for it.
func TestTheFolderOfASharedServerGoesWithIt(t *testing.T) {
	var reached []string
	var cwd string
	t.Run("run", func(t *testing.T) {
		sessions, _ := everybodys(t, sandbox.Settings{Mode: sandbox.Required, Network: sandbox.Network{On: true}}, nil, func(cfg *Config, _ map[string]string) {
			cfg.RecordWritable = func(dirs []string) error { reached = append(reached, dirs...); return nil }
		})
		cwd = sessions[0].output("mkdir -p x/y && touch x/y/z && chmod 0 x && pwd -P")
		if _, err := os.Stat(cwd); cwd == "" || err != nil {
			t.Fatalf("%q: %v", cwd, err)
		}
	})
	if _, err := os.Stat(cwd); !os.IsNotExist(err) {
		t.Errorf("%s is there: %v", cwd, err)
	}
	for _, dir := range reached {
		if strings.HasPrefix(cwd, dir) {
			t.Errorf("%s is on record, and its name will be another's", dir)
		}
	}
}

// TestARefusalOnSharedStderrReachesNoSession: what a shared server wrote to stderr of a
// refusal explains no answer, and is no reason of its end. Status has it. The control is
// a session's own, of which its session is told.
func TestARefusalOnSharedStderrReachesNoSession(t *testing.T) {
	const said = "unix sockets are closed to it"
	for _, share := range []spec.Share{spec.ShareSession, spec.ShareRoots, spec.ShareAll} {
		sessions, d := everybodys(t, sandbox.Settings{Mode: sandbox.Required, Network: sandbox.Network{On: true}}, nil, func(cfg *Config, _ map[string]string) {
			cfg.Children[0].Spec.Share = share
		})
		writer, other := sessions[0], connect(t, sessions[0].hub, d["a"])
		other.handshake(`{"roots":{}}`)
		if share == spec.ShareSession {
			other = writer
		}
		writer.output("echo 'listen EACCES: permission denied /x.sock' >&3")
		var status []byte
		if !bounds.Within(bounds.Patience, func() bool { // it is read by a goroutine of its own
			var err error
			if status, err = json.Marshal(writer.hub.Status()); err != nil {
				t.Fatal(err)
			}
			return strings.Contains(string(status), `"kernelRefused":1`) && strings.Contains(string(status), `/x.sock`)
		}) {
			t.Fatalf("%s: status says nothing of it: %s", share, status)
		}
		own := share == spec.ShareSession
		result, fault := other.fails("echo went wrong; false", 1)
		if strings.Contains(result+fault, said) != own || !strings.Contains(result, "went wrong") {
			t.Errorf("%s: an error of the tool: %s%s", share, result, fault)
		}
		if result, fault = other.fails("echo went wrong; false", 2); strings.Contains(result+fault, said) != own || !strings.Contains(fault, "went wrong") {
			t.Errorf("%s: an error of the protocol: %s%s", share, result, fault)
		}
		if ended, failed := other.callText("kid__exit", `{"Code":7}`); !failed || strings.Contains(ended, said) != own || strings.Contains(ended, "x.sock") != own {
			t.Errorf("%s: its end: %s", share, ended)
		}
	}
}
