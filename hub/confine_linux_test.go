package hub

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"mcphub/children/sandbox"
	"mcphub/e2e/childtest"
	"mcphub/e2e/needs"
	"mcphub/internal/jsonrpc"
	"mcphub/rootsmgr/guard"
	"mcphub/validate"
	"mcphub/validate/access"
	"mcphub/validate/declare"
	"mcphub/validate/policy"
)

// confinedHub returns a hub with the search for paths off and one server with a shell,
// which is a process that the kernel is to hold.
func confinedHub(t *testing.T, mode sandbox.Mode, change func(v *validate.Config, d map[string]string)) (*testClient, map[string]string) {
	t.Helper()
	return confinedBy(t, sandbox.Settings{Mode: mode, Network: sandbox.Network{On: true}}, change)
}

// confinedBy is confinedHub with all settings.
func confinedBy(t *testing.T, settings sandbox.Settings, change func(v *validate.Config, d map[string]string)) (*testClient, map[string]string) {
	t.Helper()
	landlocked(t)
	return shellHub(t, settings, change, func(cfg *Config) { cfg.Inspect = true })
}

// landlocked skips if the kernel holds nothing. In CI it must.
func landlocked(t *testing.T) {
	t.Helper()
	if k := sandbox.CurrentKernel(); k.ABI < 6 {
		needs.Missing(t, "Landlock has ABI ", k.ABI, " here, and 6 is needed: ", k.Why)
	}
}

// shellHub is confinedBy on whichever kernel.
func shellHub(t *testing.T, settings sandbox.Settings, change func(v *validate.Config, d map[string]string), with func(*Config)) (*testClient, map[string]string) {
	t.Helper()
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	d := places(t, "a", "b", "docs", "box", "out")
	for _, dir := range d {
		if err := os.WriteFile(filepath.Join(dir, "file"), []byte("canary"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	spec := scripted("kid", childtest.Script{Shell: true, AskRoots: true})
	spec.Sandbox = settings
	cfg := testConfig(t, spec)
	judged := validate.Config{FS: guard.OS{}, Home: cfg.Home, Children: []validate.ChildConfig{{Name: "kid", Command: spec.Command, Mode: declare.ModeOff, ModeSet: true}}}
	if change != nil {
		change(&judged, d)
	}
	var err error
	if cfg.Checker, err = validate.NewChecker(judged); err != nil {
		t.Fatal(err)
	}
	if with != nil {
		with(&cfg)
	}
	c := connect(t, runHub(t, cfg), d["a"])
	return c, d
}

func (c *testClient) shell(command string) (out string, failed bool) {
	c.t.Helper()
	args, _ := json.Marshal(map[string]string{"Name": command})
	return c.callText("kid__shell", string(args))
}

// rootsReport returns what get-roots says, without blanks.
func (c *testClient) rootsReport() string {
	c.t.Helper()
	said, _ := c.callText("get-roots", "{}")
	var b bytes.Buffer
	if err := json.Compact(&b, []byte(said)); err != nil {
		c.t.Fatal(err)
	}
	return b.String()
}

func (c *testClient) reads(dir string) bool {
	c.t.Helper()
	out, _ := c.shell("cat " + dir + "/file")
	return strings.Contains(out, "canary")
}

func (c *testClient) writes(dir string) bool {
	c.t.Helper()
	out, _ := c.shell("touch " + dir + "/new")
	return strings.HasSuffix(out, "<nil>")
}

// unhindered reports whether the server's process has no filter of system calls that this one has not.
func (c *testClient) unhindered() bool {
	c.t.Helper()
	own, err := os.ReadFile("/proc/self/status")
	if err != nil {
		c.t.Fatal(err)
	}
	filters := regexp.MustCompile(`(?m)^Seccomp_filters:.*$`)
	out, _ := c.shell("cat /proc/self/status")
	return filters.MatchString(out) && filters.FindString(out) == filters.FindString(string(own))
}

// TestTheKernelHoldsTheBoundary: with the search for paths off, a server opens the roots,
// and the directories of the policy for their roles. The control is the same one free.
func TestTheKernelHoldsTheBoundary(t *testing.T) {
	policy := func(v *validate.Config, d map[string]string) {
		v.Policy = policy.Policy{Sandbox: d["box"], Rules: []policy.Rule{
			{Name: "docs", Then: policy.Allow, Paths: &policy.PathRule{Within: d["docs"], Roles: []access.Role{access.Read}}},
		}}
	}
	for _, mode := range []sandbox.Mode{sandbox.Off, sandbox.Required} {
		c, d := confinedHub(t, mode, policy)
		c.handshake(`{"roots":{"listChanged":true}}`)
		free := mode == sandbox.Off
		for name, want := range map[string][2]bool{"a": {true, true}, "box": {true, true}, "docs": {true, free}, "b": {free, free}, "out": {free, free}} {
			if reads, writes := c.reads(d[name]), c.writes(d[name]); reads != want[0] || writes != want[1] {
				t.Errorf("%s: %s can be read %t, written %t", mode, name, reads, writes)
			}
		}
		report := c.rootsReport()
		if free == strings.Contains(report, `"kernel":"held"`) {
			t.Errorf("%s: get-roots says %s", mode, report)
		}
		status, err := json.Marshal(c.hub.Status())
		if err != nil || free == strings.Contains(string(status), `"kernel":"held"`) {
			t.Errorf("%s: status says %s", mode, status)
		}
		if e := c.raw(MethodExplain, toolCall("kid__shell", `{"Name":"true"}`)); free == strings.Contains(e, `"kernel":"held"`) {
			t.Errorf("%s: explain says %s", mode, e)
		}
	}
}

// TestTheKernelCannotHold: what has no boundary, or one with a hole, is refused if it
// must be held, with the reason. Under auto the rest is held; if no one has asked for
// that, and there is no boundary, nothing is.
func TestTheKernelCannotHold(t *testing.T) {
	for name, tc := range map[string]struct {
		caps   string
		change func(v *validate.Config, d map[string]string)
		want   string
		free   bool // none of it is held if no caller asks for it
	}{
		"no roots": {`{}`, nil, "no boundary is enforced", true},
		"a protected path": {`{"roots":{}}`, func(v *validate.Config, d map[string]string) { v.Protected = []string{d["a"] + "/hub.json"} },
			"/a is allowed, and ", false},
		"a denied directory": {`{"roots":{}}`, func(v *validate.Config, d map[string]string) {
			v.Policy.Rules = []policy.Rule{{Name: "no", Then: policy.Deny, Paths: &policy.PathRule{Within: d["a"] + "/keys"}}}
		}, "/a is allowed, and ", false},
		"a rule without a directory": {`{"roots":{}}`, func(v *validate.Config, _ map[string]string) {
			v.Policy.Rules = []policy.Rule{{Name: "anything", Then: policy.Allow, Tools: []string{"shell"}}}
		}, "the rule anything of the policy allows paths anywhere", true},
	} {
		t.Run(name, func(t *testing.T) {
			c, d := confinedHub(t, sandbox.Required, tc.change)
			c.handshake(tc.caps)
			out, failed := c.shell("cat " + d["a"] + "/file")
			if !failed || !strings.Contains(out, tc.want) {
				// Without its tools the shell is no tool, and status has the reason.
				status, _ := json.Marshal(c.hub.Status())
				if strings.Contains(out, "canary") || !strings.Contains(string(status), tc.want) {
					t.Errorf("%s; %s", out, status)
				}
			}
			c, d = confinedHub(t, sandbox.Auto, tc.change)
			c.handshake(tc.caps)
			if !c.reads(d["a"]) {
				t.Error("under auto it does not run")
			}
			report := c.rootsReport()
			if !strings.Contains(report, `"kernelLacks":[`) || !strings.Contains(report, tc.want) {
				t.Errorf("under auto get-roots says %s", report)
			}
			if c.unhindered() {
				t.Error("under auto nothing is held, not even what can be")
			}
			c, d = confinedBy(t, sandbox.Settings{Mode: sandbox.Auto, Default: true, Network: sandbox.Network{On: true}}, tc.change)
			c.handshake(tc.caps)
			if !c.reads(d["a"]) {
				t.Error("by default it does not run")
			}
			if report := c.rootsReport(); !strings.Contains(report, `"kernelLacks":[`) || !strings.Contains(report, tc.want) {
				t.Errorf("by default get-roots says %s", report)
			}
			if free := c.unhindered(); free != tc.free {
				t.Errorf("by default it is free: %t", free)
			}
		})
	}
}

// TestAGrantedFileIsOpened: a file that a person grants has a server started again
// that the kernel holds, and no other; nor if the server could open it already.
func TestAGrantedFileIsOpened(t *testing.T) {
	for name, tc := range map[string]struct {
		mode sandbox.Mode
		in   string // where the file lies that is asked about
		anew bool
	}{
		"outside":      {sandbox.Required, "out", true},
		"in a root":    {sandbox.Required, "a", false},
		"nobody holds": {sandbox.Off, "out", false},
		"under auto":   {sandbox.Auto, "out", true},
	} {
		t.Run(name, func(t *testing.T) {
			c, d := confinedHub(t, tc.mode, func(v *validate.Config, d map[string]string) {
				v.Children[0].Mode = declare.ModeStrict
				v.Children[0].Args = map[string]map[string]declare.ArgRule{"*": {"/path": {Role: access.Read}, "/Name": {Role: access.None}}}
				v.Policy.Rules = []policy.Rule{{Name: "ask", Then: policy.Escalate, Paths: &policy.PathRule{Within: d[tc.in]}}}
			})
			c.asks = func(context.Context, *testClient, *jsonrpc.Message) jsonrpc.Answer {
				return jsonrpc.ResultAnswer([]byte(yesFile))
			}
			c.handshake(canAsk)
			before, _ := c.shell("echo $PPID")
			if c.reads(d[tc.in]) != (tc.in == "a" || tc.mode == sandbox.Off) {
				t.Error("it is open before, or closed where it is open: this shows nothing")
			}
			if out, failed := c.callText("kid__echo", `{"path":"`+d[tc.in]+`/file"}`); failed {
				t.Fatal(out)
			}
			if after, _ := c.shell("echo $PPID"); (after != before) != tc.anew {
				t.Errorf("it was %s and is %s", before, after)
			}
			if !c.reads(d[tc.in]) {
				t.Error("what was granted cannot be read")
			}
			if c.reads(d["b"]) != (tc.mode == sandbox.Off) {
				t.Error("what was not granted can be read")
			}
		})
	}
}
