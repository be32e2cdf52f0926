package hub

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"mcphub/children/childtest"
	"mcphub/children/sandbox"
	"mcphub/rootsmgr"
	"mcphub/validate"
)

// confinedHub is a hub with the search for paths off and one server with a shell, which
// is a process that the kernel is to hold.
func confinedHub(t *testing.T, mode sandbox.Mode, change func(v *validate.Config, d map[string]string)) (*testClient, map[string]string) {
	t.Helper()
	return confinedBy(t, sandbox.Settings{Mode: mode, Network: sandbox.Network{On: true}}, change)
}

// confinedBy is confinedHub with all settings.
func confinedBy(t *testing.T, settings sandbox.Settings, change func(v *validate.Config, d map[string]string)) (*testClient, map[string]string) {
	t.Helper()
	if k := sandbox.System(); k.ABI < 6 && os.Getenv("CI") != "" {
		t.Fatalf("Landlock has ABI %d here, and 6 is needed: %s", k.ABI, k.Why)
	} else if k.ABI < 6 {
		t.Skipf("Landlock has ABI %d here, and 6 is needed: %s", k.ABI, k.Why)
	}
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
	judged := validate.Config{FS: rootsmgr.OS{}, Home: cfg.Home, Children: []validate.ChildConfig{{Name: "kid", Command: spec.Command, Mode: validate.ModeOff, ModeSet: true}}}
	if change != nil {
		change(&judged, d)
	}
	var err error
	if cfg.Checker, err = validate.NewChecker(judged); err != nil {
		t.Fatal(err)
	}
	c := connect(t, runHub(t, cfg), d["a"])
	return c, d
}

func (c *testClient) shell(command string) (out string, failed bool) {
	c.t.Helper()
	args, _ := json.Marshal(map[string]string{"Name": command})
	return c.callText("kid__shell", string(args))
}

// rootsReport is what get-roots says, without blanks.
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
	own, err := exec.Command("grep", "Seccomp_filters", "/proc/self/status").Output()
	if err != nil {
		c.t.Fatal(err)
	}
	out, _ := c.shell("grep Seccomp_filters /proc/self/status")
	return strings.Contains(out, strings.TrimSpace(string(own)))
}

// TestTheKernelHoldsTheBoundary: with the search for paths off, a server opens the roots,
// and the directories of the policy for their roles. The control is the same one free.
func TestTheKernelHoldsTheBoundary(t *testing.T) {
	policy := func(v *validate.Config, d map[string]string) {
		v.Policy = validate.Policy{Sandbox: d["box"], Rules: []validate.Rule{
			{Name: "docs", Then: validate.Allow, Paths: &validate.PathRule{Within: d["docs"], Roles: []validate.Role{validate.RoleRead}}},
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
	}
}

// TestTheKernelCannotHold: what has no boundary, or one with a hole, is refused where it
// must be held, with the reason. Under auto the rest is held; where nobody has asked for
// that, and there is no boundary, nothing is.
func TestTheKernelCannotHold(t *testing.T) {
	for name, tc := range map[string]struct {
		caps   string
		change func(v *validate.Config, d map[string]string)
		want   string
		free   bool // nothing of it is held where nobody asks for it
	}{
		"no roots": {`{}`, nil, "no boundary is enforced", true},
		"a protected path": {`{"roots":{}}`, func(v *validate.Config, d map[string]string) { v.Protected = []string{d["a"] + "/hub.json"} },
			"/a is allowed, and ", false},
		"a denied directory": {`{"roots":{}}`, func(v *validate.Config, d map[string]string) {
			v.Policy.Rules = []validate.Rule{{Name: "no", Then: validate.Deny, Paths: &validate.PathRule{Within: d["a"] + "/keys"}}}
		}, "/a is allowed, and ", false},
		"a rule without a directory": {`{"roots":{}}`, func(v *validate.Config, _ map[string]string) {
			v.Policy.Rules = []validate.Rule{{Name: "anything", Then: validate.Allow, Tools: []string{"shell"}}}
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

// TestConfinedRootsChangeUnderLoad changes the roots at random while others call: no
// call is lost, and none that follows a change opens what the new roots do not have, or
// misses what they have. MCPHUB_LONG_CASES says how many changes.
func TestConfinedRootsChangeUnderLoad(t *testing.T) {
	changes := 12
	if n, err := strconv.Atoi(os.Getenv("MCPHUB_LONG_CASES")); err == nil {
		changes = n
	}
	c, d := confinedHub(t, sandbox.Required, nil)
	c.handshake(`{"roots":{"listChanged":true}}`)
	c.reads(d["a"])
	ctx, over := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	var lost []string
	for range 2 {
		wg.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				resp, err := c.conn.Call(context.Background(), "tools/call", []byte(toolCall("kid__echo", fmt.Sprintf(`{"i":%d}`, i))))
				if err != nil || resp.Err() != nil || strings.Contains(string(resp.Result), `"isError":true`) {
					lost = append(lost, fmt.Sprint(err, resp))
					return
				}
			}
		})
	}
	seed := uint64(time.Now().UnixNano())
	r := rand.New(rand.NewPCG(seed, 0))
	sets := [][]string{{"a"}, {"b"}, {"a", "b"}, {}}
	for i := range changes {
		set := sets[r.IntN(len(sets))]
		var dirs []string
		for _, name := range set {
			dirs = append(dirs, d[name])
		}
		c.setRoots(dirs...)
		if err := c.conn.Notify(context.Background(), "notifications/roots/list_changed"); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"a", "b", "out"} {
			inside := strings.Contains(strings.Join(set, " "), name)
			if got := c.reads(d[name]); got != inside {
				t.Errorf("change %d to %v, seed %d: %s is read %t", i, set, seed, name, got)
			}
		}
	}
	over()
	wg.Wait()
	if len(lost) > 0 {
		t.Errorf("calls were lost: %q", lost)
	}
}

// TestACallBeyondWhatRuns: a server that is not started anew for a wider boundary is
// not sent what it could not open, and the answer says what helps.
func TestACallBeyondWhatRuns(t *testing.T) {
	c, d := confinedHub(t, sandbox.Required, func(v *validate.Config, _ map[string]string) {
		v.Children[0].Mode = validate.ModeStrict
	})
	cfg := c.hub.now().Settings
	cfg.Children = append([]Child(nil), cfg.Children...)
	cfg.Children[0].Spec.Sandbox.Refuse = true
	apply(t, c.hub, cfg)
	c.handshake(`{"roots":{"listChanged":true}}`)
	if out, failed := c.callText("kid__echo", `{"path":"`+d["a"]+`/file"}`); failed {
		t.Fatal(out)
	}
	c.setRoots(d["a"], d["b"])
	if err := c.conn.Notify(context.Background(), "notifications/roots/list_changed"); err != nil {
		t.Fatal(err)
	}
	if out, failed := c.callText("kid__echo", `{"path":"`+d["a"]+`/file"}`); failed {
		t.Error(out)
	}
	if out, failed := c.callText("kid__echo", `{"path":"`+d["b"]+`/file"}`); !failed || !strings.Contains(out, "mcphub restart kid") || !strings.Contains(out, `"widen": "restart"`) {
		t.Errorf("it was sent: %s", out)
	}
}
