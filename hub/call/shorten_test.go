package call_test

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"

	"mcphub/e2e/childtest"
	"mcphub/hub/configuration"
	"mcphub/internal/jsonrpc"
	"mcphub/rootsmgr"
	"mcphub/validate/policy"
)

// limit is how many bytes of text the results of these tests may have.
const limit = 4 << 10

// cutting is a stage whose child answers with a long text, of which the hub keeps what is too large for its client.
func cutting(t *testing.T, test func(s *stage), change ...func(*staging)) {
	t.Helper()
	var report strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&report, "line %d of a report\n", i)
	}
	result := `{"content":[{"type":"text","text":` + string(jsonrpc.AppendString(nil, report.String())) + `}]}`
	with := two(childtest.Script{Replies: map[string]string{"tools/call": result}}, childtest.Script{})
	with.limit = limit
	for _, f := range change {
		f(&with)
	}
	onStage(t, with, test)
}

var resultURI = regexp.MustCompile(`mcphub://results/[A-Z2-7]+`)

// read reads what was kept of a result.
func (s *stage) read(result string) string {
	s.Helper()
	uri := resultURI.FindString(result)
	if uri == "" {
		s.Fatalf("nothing was cut of %.300s", result)
	}
	return answerText(s.ServeResource(s.Context(), request(s.T, "resources/read", fmt.Sprintf(`{"uri":%q}`, uri))))
}

// either makes a call on one of the paths.
func (s *stage) either(fast bool, params string) string {
	s.Helper()
	if fast {
		return s.try(params).only(s.T)
	}
	return s.callWaiting(params)
}

// A result that is too large is cut, on either path, and the rest can be read. Control: without a limit, and a result that is
// not too large.
func TestALargeResultIsCut(t *testing.T) {
	t.Parallel()
	for _, fast := range []bool{true, false} {
		cutting(t, func(s *stage) {
			got := s.either(fast, echoParams(`{"a":1}`))
			if len(got) > 2*limit {
				t.Errorf("%d bytes", len(got))
			}
			s.wantParts(s.read(got), "line 0 of a report")
			s.wantParts(s.either(fast, `{"name":"two__echo","arguments":{"a":1}}`), `{"a":1}`, "!mcphub://results")
			s.wantReleased()
		})
		cutting(t, func(s *stage) {
			s.wantParts(s.either(fast, echoParams(`{"a":1}`)), "line 500 of a report")
			s.wantReleased()
		}, func(with *staging) { with.limit = 0 })
	}
}

// A reload that comes to deny a call, or to ask a person about it, has its result be read no more. Control: one that allows it still. A
// call whose arguments were too long to be kept is not judged again.
func TestAKeptResultIsWithheld(t *testing.T) {
	t.Parallel()
	within := func(s *stage) string { return echoParams(readArgs(filepath.Join(s.root, "a.txt"))) }
	plain := func(*stage) string { return echoParams(`{"a":1}`) }
	for name, tc := range map[string]struct {
		call   func(s *stage) string
		reload func(s *stage) (change func(*configuration.Settings), rules []policy.Rule)
		want   string
	}{
		"it stays": {within, func(s *stage) (func(*configuration.Settings), []policy.Rule) {
			return nil, []policy.Rule{denying(s.outside)}
		}, "line 0 of a report"},
		"its path": {within, func(s *stage) (func(*configuration.Settings), []policy.Rule) {
			return nil, []policy.Rule{denying(s.root)}
		}, "have come to deny the call that it answered, or to ask"},
		"a question": {within, func(s *stage) (func(*configuration.Settings), []policy.Rule) {
			return nil, []policy.Rule{{Name: "ask", Then: policy.Escalate, Tools: []string{"echo"}}}
		}, "or to ask a person about it"},
		"its tool": {plain, func(*stage) (func(*configuration.Settings), []policy.Rule) {
			return nil, []policy.Rule{{Name: "no", Then: policy.Deny, Tools: []string{"echo"}}}
		}, "have come to deny the call that it answered."},
		"its server": {plain, func(*stage) (func(*configuration.Settings), []policy.Rule) {
			return nil, []policy.Rule{{Name: "no", Then: policy.Deny, Servers: []string{"kid"}}}
		}, "have come to deny the call that it answered."},
		"it has gone": {plain, func(*stage) (func(*configuration.Settings), []policy.Rule) {
			return func(set *configuration.Settings) { set.Children = set.Children[1:] }, nil
		}, "no longer has its server"},
		"long":     {func(*stage) string { return echoParams(`{"a":"` + strings.Repeat("x", 64<<10-8) + `"}`) }, func(*stage) (func(*configuration.Settings), []policy.Rule) { return nil, nil }, "line 0 of a report"},
		"too long": {func(*stage) string { return echoParams(`{"a":"` + strings.Repeat("x", 64<<10-7) + `"}`) }, func(*stage) (func(*configuration.Settings), []policy.Rule) { return nil, nil }, "hub.json was changed since"},
		"not offered": {plain, func(*stage) (func(*configuration.Settings), []policy.Rule) {
			return func(set *configuration.Settings) { set.Children[0].Exclude = []string{"echo"} }, nil
		}, "cannot be judged at this moment"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, fast := range []bool{true, false} {
				if fast && strings.HasSuffix(name, "long") {
					continue
				}
				cutting(t, func(s *stage) {
					got := s.either(fast, tc.call(s))
					s.wantParts(s.read(got), "line 0 of a report")
					change, rules := tc.reload(s)
					s.reload(change, rules...)()
					synctest.Wait()
					sent := len(s.children.messagesSent("tools/call"))
					s.wantParts(s.read(got), tc.want)
					s.wantReached("tools/call", sent)
					s.wantReleased()
				})
			}
		})
	}
}

// What a person has approved stays to be read although the rules ask about it.
func TestAnApprovedResultStays(t *testing.T) {
	t.Parallel()
	cutting(t, func(s *stage) {
		s.client.form = true
		s.answering(`{"action":"accept","content":{"decision":"call"}}`)
		got := s.callWaiting(echoParams(`{}`))
		s.reload(nil, policy.Rule{Name: "ask", Then: policy.Escalate, Tools: []string{"echo"}}, denying(farDirectory))()
		s.wantParts(s.read(got), "line 0 of a report")
		s.wantReleased()
	}, func(with *staging) {
		with.rules = []policy.Rule{{Name: "ask", Then: policy.Escalate, Tools: []string{"echo"}}}
	})
}

// A child that does not run is not started in order to judge a call again: that is done by how it would be started, or later.
func TestAKeptResultStartsNothing(t *testing.T) {
	t.Parallel()
	for _, planned := range []bool{true, false} {
		cutting(t, func(s *stage) {
			got := s.callWaiting(echoParams(readArgs(filepath.Join(s.root, "a.txt"))))
			s.reload(nil, denying(s.outside))()
			s.instances.busy = 1
			s.instances.acquire = func() error { t.Error("it is started"); return nil }
			s.instances.plan = func(*rootsmgr.RootsView) ([]string, bool) { return []string{s.root}, planned }
			if planned {
				s.wantParts(s.read(got), "line 0 of a report")
			} else {
				s.wantParts(s.read(got), "cannot be judged at this moment")
			}
			s.wantReleased()
		})
	}
}

// The result of a task is cut as the result of a call is. An answer that is no result yet stays as it is.
func TestTheResultOfATaskIsCut(t *testing.T) {
	t.Parallel()
	cutting(t, func(s *stage) {
		long := `{"content":[{"type":"text","text":` + string(jsonrpc.AppendString(nil, strings.Repeat("a line of a report\n", 1000))) + `}]}`
		for method, tc := range map[string]struct {
			result string
			cut    bool
		}{
			"tasks/result": {long, true},
			"tasks/get":    {`{"taskId":"x","status":"completed","result":` + long + `,"z":1.0}`, true},
			"tasks/list":   {`{"taskId":"x","status":"working","z":"` + strings.Repeat("x", 2*limit) + `"}`, false},
			"tasks/cancel": {`{"taskId":"x","result":{"content":[{"type":"text","text":"short"}]},"z":"` + strings.Repeat("x", 2*limit) + `"}`, false},
		} {
			got := string(s.ShortenTask(s.Context(), method, "kid", "echo", jsonrpc.ResultAnswer([]byte(tc.result))).Result)
			if (got != tc.result) != tc.cut || tc.cut && len(got) > 3*limit {
				t.Errorf("%s: %d bytes: %.200s", method, len(got), got)
			}
			if tc.cut && method == "tasks/get" {
				s.wantParts(got, `"taskId":"x"`, `"z":1.0`)
			}
			if tc.cut {
				s.wantParts(s.read(got), "a line of a report")
				follow := s.reload(nil)
				follow()
				s.wantParts(s.read(got), "hub.json was changed since")
			}
		}
		short := `{"content":[{"type":"text","text":"x"}]}`
		if got := string(s.ShortenTask(s.Context(), "tasks/result", "kid", "echo", jsonrpc.ResultAnswer([]byte(short))).Result); got != short {
			t.Error(got)
		}
	})
}

// Preview tells what would become of a call, and makes it not.
func TestPreview(t *testing.T) {
	t.Parallel()
	system := cmp.Or(os.Getenv("SystemRoot"), "/usr") // a directory of Windows, or of Unix
	with := oneChild(childtest.Script{})
	with.rules = []policy.Rule{{Name: "ask", Then: policy.Escalate, Paths: &policy.PathRule{Within: system}}}
	onStage(t, with, func(s *stage) {
		tool, _ := s.FindTool(s.Context(), "kid__echo")
		for args, want := range map[string]struct {
			decision policy.Decision
			refusal  string
		}{
			readArgs(s.root):    {policy.Allow, ""},
			readArgs(s.outside): {policy.Deny, "is outside"},
			readArgs(system):    {policy.Escalate, "the person said no"},
		} {
			p, err := s.PreviewCall(s.Context(), tool, []byte(args))
			if err != nil {
				t.Fatal(err)
			}
			if p.Verdict.Decision != want.decision || !strings.Contains(p.Refusal, want.refusal) || (p.Refusal == "") != (want.refusal == "") {
				t.Errorf("%s: %s, %q", args, p.Verdict.Decision, p.Refusal)
			}
			if len(p.Closed) != 0 {
				t.Errorf("%s: the kernel closes %v", args, p.Closed)
			}
		}
		if _, err := s.PreviewCall(s.Context(), tool, []byte(`[`)); err == nil {
			t.Error("arguments that cannot be read are judged")
		}
		s.instances.busy = 1
		s.instances.plan = func(*rootsmgr.RootsView) ([]string, bool) { return []string{s.root}, true }
		p, err := s.PreviewCall(s.Context(), tool, []byte(readArgs(s.outside)))
		if err != nil || p.Cwd != s.root || len(p.Served) != 1 {
			t.Errorf("without a child: %+v, %v", p, err)
		}
		s.wantReached("tools/call", 0)
		s.wantReleased()
	})
}

// What a session may see of what a child wrote is what its own wrote.
func TestASessionSeesTheStderrOfItsOwnChildAlone(t *testing.T) {
	t.Parallel()
	onStage(t, oneChild(childtest.Script{}), func(s *stage) {
		st := s.offering.ChildStatus("kid")
		st.Stderr = "a secret"
		if st.Instance != s.ID || s.StderrOf(st) != "a secret" {
			t.Errorf("of its own: %q", s.StderrOf(st))
		}
		st.Instance = "another"
		if s.StderrOf(st) != "" {
			t.Error("that of another is shown")
		}
	})
}
