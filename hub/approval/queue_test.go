package approval

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"mcphub/children/spec"
	"mcphub/e2e/rootstest"
	"mcphub/internal/jsonrpc"
	"mcphub/rootsmgr"
	"mcphub/rootsmgr/platform"
	"mcphub/validate"
	"mcphub/validate/access"
	"mcphub/validate/declare"
	"mcphub/validate/policy"
)

// A session is one with a policy that escalates, in a time of its own. In its
// tree are /root (the client's), /data and /home (what is outside the root is
// asked about), /never (a rule denies it) and /kept (protected).
type session struct {
	*testing.T
	q         *Queue
	checker   *validate.Checker
	rootsView rootsmgr.RootsView
	specs     map[string]*spec.Spec
	asker     *person
	all       Asker // instead of asker, if it is set

	mu     sync.Mutex
	events []QuestionEvent
}

// A person answers questions by the form, and keeps them.
type person struct {
	s     *session
	forms chan []byte // one for each question
	// says answers; "" leaves the question standing.
	says func(ctx context.Context) string
}

const (
	yes     = `{"action":"accept","content":{"decision":"directory"}}`
	yesFile = `{"action":"accept","content":{"decision":"file"}}`
	yesCall = `{"action":"accept","content":{"decision":"call"}}`
	no      = `{"action":"accept","content":{"decision":"deny"}}`
)

func always(answer string) func(context.Context) string {
	return func(context.Context) string { return answer }
}

func (p *person) Who() string { return AskedClient }

func (p *person) Ask(ctx context.Context, q *Question) Answer {
	p.forms <- q.Form()
	answer := p.says(ctx)
	switch answer {
	case "":
		<-ctx.Done()
		return Unanswered()
	case "nothing":
		return Answer{}
	}
	return q.Read([]byte(answer))
}

// asked takes the questions so far, and wants as many as n.
func (p *person) asked(n int) (texts, choices []string) {
	p.s.Helper()
	for len(p.forms) > 0 {
		form := <-p.forms
		text, _ := jsonrpc.String(jsonrpc.Get(form, "message"))
		texts = append(texts, text)
		choices = append(choices, string(jsonrpc.Get(jsonrpc.Get(jsonrpc.Get(jsonrpc.Get(form, "requestedSchema"), "properties"), "decision"), "enum")))
	}
	if len(texts) != n {
		p.s.Errorf("%d questions, want %d: %q", len(texts), n, texts)
	}
	return texts, choices
}

// A call is a request of a session: the caller of a tool "echo" with these paths,
// or of "env" without.
type call struct {
	s        *session
	child    string
	tool     string
	args     string
	approval *Approval
	decision policy.Decision
	served   uint64 // the version of grants that it waited for
	moved    func() // before it is judged with an approval
}

func (c *call) Judge(_ context.Context, a *Approval) (*Judgement, error) {
	if a != nil && c.moved != nil {
		c.moved()
	}
	c.approval = a
	tool, err := c.s.checker.PrepareTool(c.child, "", fmt.Appendf(nil, `{"name":%q,"inputSchema":{"type":"object"}}`, c.tool))
	if err != nil {
		return nil, err
	}
	scan, err := c.s.checker.Scan(tool, []byte(c.args))
	if err != nil {
		return nil, err
	}
	spec := c.s.specs[c.child]
	v := c.s.checker.Judge(scan, validate.CallContext{Cwd: "/root", Grants: c.s.q.Grants(spec, a), Approved: a.Rule()}, c.s.rootsView)
	c.decision = v.Decision
	return &Judgement{Child: spec, Checker: c.s.checker, Verdict: v, RootsView: c.s.rootsView}, nil
}

func (c *call) Release(context.Context)                             {}
func (c *call) Waiting(context.Context, string) (over func())       { return func() {} }
func (c *call) AwaitServed(_ context.Context, version uint64) error { c.served = version; return nil }

func (c *call) Asker(context.Context) Asker {
	if c.s.all != nil {
		return c.s.all
	}
	return c.s.asker
}

func (c *call) Record(_ context.Context, e *QuestionEvent) {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	c.s.events = append(c.s.events, *e)
}

func (c *call) request() *EscalatedRequest {
	return &EscalatedRequest{Tool: true, Name: c.tool, Args: []byte(c.args), Digest: DigestOf([]byte(c.child), []byte(c.tool), []byte(c.args))}
}

// make judges the call and has a person asked. "" is that it may be sent.
func (c *call) make(ctx context.Context) (refusal string) {
	judgement, err := c.Judge(ctx, nil)
	if err == nil && judgement.Verdict.Decision == policy.Escalate {
		refusal, err = c.s.q.Ask(ctx, c.request(), judgement, c)
	}
	switch {
	case err != nil:
		return err.Error()
	case refusal != "":
		return refusal
	case c.decision != policy.Allow:
		return "denied"
	case c.approval != nil:
		if err := c.approval.Spend(c.request().Digest, time.Now()); err != nil {
			return err.Error()
		}
	}
	c.s.q.Done(c.approval)
	return ""
}

func (s *session) call(tool, args string) *call {
	return &call{s: s, child: "kid", tool: tool, args: args}
}

// passes wants a call to be made, refused wants it not to, and the reason.
func (s *session) passes(c *call) {
	s.Helper()
	if why := c.make(s.Context()); why != "" {
		s.Errorf("%s %s: %s", c.tool, c.args, why)
	}
}

func (s *session) refused(c *call, want string) {
	s.Helper()
	if why := c.make(s.Context()); why == "" || !strings.Contains(why, want) {
		s.Errorf("%s %s: refused by %q, want %q", c.tool, c.args, why, want)
	}
}

func reading(path string) string { return fmt.Sprintf(`{"path":%q}`, path) }
func writing(path string) string { return fmt.Sprintf(`{"out":%q}`, path) }

func inSession(t *testing.T, test func(s *session), change ...func(*validate.Config)) {
	if runtime.GOOS == "windows" {
		t.Skip("these are paths of Unix")
	}
	synctest.Test(t, func(t *testing.T) {
		fs := rootstest.NewFS(t, platform.Linux, []string{
			"/root/in.txt", "/data/one/1.txt", "/data/two/2.txt", "/data/above/inner/", "/home/h.txt", "/never/n.txt", "/kept/k.txt", "/beside.txt",
		}, rootstest.Home("/home"))
		cfg := validate.Config{FS: fs, Home: "/home", Protected: []string{"/kept"}}
		s := &session{T: t, specs: map[string]*spec.Spec{}}
		for _, name := range []string{"kid", "other", "takes"} {
			s.specs[name] = &spec.Spec{Name: name, Share: spec.ShareSession, Revision: 1}
			cfg.Children = append(cfg.Children, validate.ChildConfig{Name: name, Args: map[string]map[string]declare.ArgRule{
				"*": {"/path": {Role: access.Read}, "/also": {Role: access.Read}, "/out": {Role: access.Write}},
			}})
		}
		s.specs["takes"].Roots = spec.RootsArgs
		cfg.Policy.Rules = []policy.Rule{
			{Name: "never", Then: policy.Deny, Paths: &policy.PathRule{Within: "/never"}},
			{Name: "ask", Then: policy.Escalate, Paths: &policy.PathRule{Outside: true}},
			{Name: "ask-env", Then: policy.Escalate, Tools: []string{"env"}},
		}
		for _, f := range change {
			f(&cfg)
		}
		var err error
		if s.checker, err = validate.NewChecker(cfg); err != nil {
			s.Fatal(err)
		}
		s.rootsView = rootsmgr.AnsweredView(rootsmgr.NewSnapshot(fs, 1, rootsmgr.OriginAsked, []rootsmgr.RootEntry{{URI: "file:///root"}}), rootsmgr.NoRootsPolicy{})
		s.asker = &person{s: s, forms: make(chan []byte, 1000), says: always(no)}
		s.q = New(fs, zerolog.Nop(), func() Rules {
			return Rules{Timeout: time.Minute, Checker: s.checker, Revision: func(child string) (uint64, bool) {
				spec, ok := s.specs[child]
				return spec.Revision, ok
			}}
		})
		test(s)
	})
}

// Only an accepted form that says so itself allows anything.
func TestAnswersThatAllowNothing(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]string{
		"no":             no,
		"declined":       `{"action":"decline"}`,
		"closed":         `{"action":"cancel"}`,
		"bare accept":    `{"action":"accept"}`,
		"empty form":     `{"action":"accept","content":{}}`,
		"other member":   `{"action":"accept","content":{"approve":"file"}}`,
		"other value":    `{"action":"accept","content":{"decision":true}}`,
		"of old":         `{"action":"accept","content":{"decision":"allow"}}`,
		"not offered":    yesCall,
		"several":        `{"action":"accept","content":{"decision":["file","directory"]}}`,
		"other words":    `{"action":"accept","content":{"decision":"File"}}`,
		"twice":          `{"action":"accept","content":{"decision":"deny","decision":"file"}}`,
		"two contents":   `{"action":"accept","content":{"decision":"deny"},"content":{"decision":"file"}}`,
		"two actions":    `{"action":"decline","action":"accept","content":{"decision":"file"}}`,
		"a list":         `{"action":"accept","content":["file"]}`,
		"declined form":  `{"action":"decline","content":{"decision":"file"}}`,
		"not an object":  `"accept"`,
		"a tool's words": `{"content":[{"type":"text","text":"file"}],"decision":"file"}`,
		"no JSON":        `accept`,
		"nothing":        "nothing",
		"none in time":   "",
	} {
		t.Run(name, func(t *testing.T) {
			inSession(t, func(s *session) {
				s.asker.says = always(answer)
				c := s.call("echo", reading("/data/one/1.txt"))
				if why := c.make(s.Context()); why == "" || c.decision == policy.Allow || c.approval != nil {
					s.Errorf("refused by %q, decided %v, approval %v", why, c.decision, c.approval)
				}
				s.asker.asked(1)
				if got := s.q.Report(); len(got.Grants)+len(got.Questions) != 0 {
					s.Errorf("open: %+v", got)
				}
				if len(s.events) != 2 || s.events[0].What != EventAsked || s.events[1].What != EventDeclined || s.events[1].Granted != nil {
					s.Errorf("recorded %+v", s.events)
				}
				s.asker.says = always(yes)
				s.passes(c) // the control
			})
		})
	}
}

func TestTheQuestionSaysWhatItOpens(t *testing.T) {
	t.Parallel()
	inSession(t, func(s *session) {
		s.asker.says = always(yes)
		s.passes(s.call("echo", `{"path":"/data/one/1.txt","out":"/data/two/new.txt"}`))
		const want = `Allow the server "kid" to run its tool "echo"? The policy asks a person first (rule "ask").

The call names:
- to read: "/data/one/1.txt"
- to write: "/data/two/new.txt"

If you answer "file", this server may until this session ends:
- read the file "/data/one/1.txt", and nothing beside it
- write the file "/data/two/new.txt", and nothing beside it
The server is told of no root, so one that keeps to its roots may refuse all the same.

If you answer "directory", this server may until this session ends:
- read everything in the directory "/data/one", at any depth
- write everything in the directory "/data/two", at any depth
The server is told of the directory as one of its roots, as long as that.

To allow it always, write into policy.rules of hub.json, before the rule "ask":
{ "then": "allow", "if": { "servers": ["kid"], "tools": ["echo"], "paths": { "roles": ["read"], "within": "/data/one" } } }
{ "then": "allow", "if": { "servers": ["kid"], "tools": ["echo"], "paths": { "roles": ["write"], "within": "/data/two" } } }`
		if got, _ := s.asker.asked(1); got[0] != want {
			s.Errorf("asked\n%s\nwant\n%s", got[0], want)
		}
		// No wider than said: writing was granted there, reading is asked about.
		s.passes(s.call("echo", writing("/data/two/2.txt")))
		s.asker.asked(0)
		s.passes(s.call("echo", reading("/data/two/2.txt")))
		s.asker.asked(1)
	})
}

// What a person may choose is what can be had for every path of the call; if
// there is no such choice no one is asked.
func TestWhatAPersonMayChoose(t *testing.T) {
	t.Parallel()
	inSession(t, func(s *session) {
		for _, tc := range []struct{ name, server, args, choices, denied string }{
			{"a file", "kid", reading("/data/one/1.txt"), `["deny","file","directory"]`, ""},
			{"a new file", "kid", writing("/data/one/new.txt"), `["deny","file","directory"]`, ""},
			{"a directory", "kid", reading("/data/above"), `["deny","directory"]`, ""},
			{"a file in the home folder", "kid", reading("/home/h.txt"), `["deny","file"]`, ""},
			{"a file beside a root", "kid", reading("/beside.txt"), `["deny","file"]`, ""},
			{"a file and one in the home folder", "kid", `{"path":"/data/one/1.txt","also":"/home/h.txt"}`, `["deny","file"]`, ""},
			{"a file and a directory", "kid", `{"path":"/data/one/1.txt","also":"/data/two"}`, `["deny","directory"]`, ""},
			{"a file for a server of directories", "takes", reading("/data/one/1.txt"), `["deny","directory"]`, ""},
			{"a call without paths", "kid", `{"name":"HOME"}`, `["deny","call"]`, ""},

			{"a directory and a file in the home folder", "kid", `{"path":"/data/two","also":"/home/h.txt"}`, "", "is a directory"},
			{"the home folder", "kid", reading("/home"), "", "is too wide"},
			{"a directory that holds a root", "kid", reading("/"), "", "is too wide"},
			{"a file in the home folder, for a server of directories", "takes", reading("/home/h.txt"), "", "takes directories only"},
			{"no directory", "kid", writing("/data/not/there.txt"), "", "does not exist"},
			{"nothing there", "kid", reading("/data/one/nothing"), "", "there is nothing at"},
		} {
			c := s.call("echo", tc.args)
			c.child = tc.server
			if strings.Contains(tc.args, "HOME") {
				c.tool = "env"
			}
			if tc.denied != "" {
				s.refused(c, tc.denied)
				s.asker.asked(0)
				continue
			}
			s.refused(c, WhyDeclined)
			if _, choices := s.asker.asked(1); len(choices) == 1 && choices[0] != tc.choices {
				s.Errorf("%s: the choices are %s, want %s", tc.name, choices[0], tc.choices)
			}
			time.Sleep(longestPause) // they count as noes
		}
	})
}

func TestAPersonIsLeftAloneAfterSeveralNoes(t *testing.T) {
	t.Parallel()
	inSession(t, func(s *session) {
		of := func(child string, n int) *call {
			c := s.call("echo", reading("/data/one/1.txt"))
			c.args = fmt.Sprintf(`{"n":%d,%s`, n, c.args[1:])
			c.child = child
			return c
		}
		for i := range 20 {
			want := WhyDeclined
			if i >= maxNoes {
				want = "nobody is asked about it for another 1m0s"
			}
			s.refused(of("kid", i), want)
		}
		s.asker.asked(maxNoes)
		s.asker.says = always(yes)
		s.passes(of("other", 0)) // the control: another server
		time.Sleep(time.Minute)
		s.asker.says = always(no)
		s.refused(of("kid", 0), WhyDeclined)
		s.refused(of("kid", 1), "for another 2m0s")
		time.Sleep(2 * time.Minute)
		s.asker.says = always(yesFile)
		s.passes(of("kid", 0))
		s.asker.says = always(no)
		for i := range maxNoes - 1 { // a yes starts again
			s.refused(s.call("echo", reading(fmt.Sprintf("/data/%s", []string{"two/2.txt", "above"}[i]))), WhyDeclined)
		}
		s.refused(s.call("env", `{}`), WhyDeclined)
		s.refused(s.call("env", `{}`), "for another 1m0s")
	})
}

func TestOnlySoManyQuestionsWait(t *testing.T) {
	t.Parallel()
	inSession(t, func(s *session) {
		answers, ended := make(chan string), make(chan string)
		s.asker.says = func(ctx context.Context) string {
			select {
			case a := <-answers:
				return a
			case <-ctx.Done():
				return ""
			}
		}
		begin := func(args string) {
			go func() { ended <- s.call("env", args).make(s.Context()) }()
			synctest.Wait()
		}
		for i := range maxWaitingEach {
			begin(fmt.Sprintf(`{"n":%d}`, i))
		}
		s.refused(s.call("env", `{"one":"more"}`), "wait for an answer already")
		for range maxWaitingEach - 1 { // who has the same question
			begin(`{"n":0}`)
		}
		s.refused(s.call("env", `{"n":0}`), "the same question already")
		if got := s.q.Report().Questions; len(got) != 1 || got[0].Calls != maxWaitingEach {
			s.Errorf("one question at a time: %+v", got)
		}
		for range maxWaitingEach {
			answers <- yesCall
		}
		for range 2*maxWaitingEach - 1 {
			if why := <-ended; why != "" {
				s.Errorf("refused by %s", why)
			}
		}
		s.asker.asked(maxWaitingEach)
		s.asker.says = always(yesCall)
		s.passes(s.call("env", `{"one":"more"}`)) // the control
	})
}

// What was allowed is not what the call would do by then: it is refused, and
// what was opened for it is taken back.
func TestAGrantIsTakenBackWhereTheCallLeadsElsewhere(t *testing.T) {
	t.Parallel()
	for name, to := range map[string]string{"as before": "/data/one/1.txt", "escalates": "/data/two/2.txt", "denied": "/never/n.txt"} {
		t.Run(name, func(t *testing.T) {
			inSession(t, func(s *session) {
				s.asker.says = always(yes)
				c := s.call("echo", reading("/data/one/1.txt"))
				request := c.request()
				c.moved = func() { c.args = reading(to) }
				judgement, err := c.Judge(s.Context(), nil)
				if err != nil {
					s.Fatal(err)
				}
				refusal, err := s.q.Ask(s.Context(), request, judgement, c)
				if err != nil || (refusal != "") != (name == "escalates") || (c.decision == policy.Allow) != (name == "as before") {
					s.Errorf("refused by %q, %v, decided %v", refusal, err, c.decision)
				}
				if got := s.q.Report().Grants; (len(got) == 1) != (name == "as before") {
					s.Errorf("open: %+v", got)
				}
				if err := c.approval.Spend(c.request().Digest, time.Now()); (err == nil) != (name == "as before") {
					s.Errorf("the approval is good for another call: %v", err)
				}
			})
		})
	}
}

// Where requests stand alone equal ones are asked about each, and what was opened
// for one is for that one only.
func TestWhatIsAllowedForOneCall(t *testing.T) {
	t.Parallel()
	inSession(t, func(s *session) {
		s.q.SetPerCall()
		s.asker.says = always(yes)
		for range 2 {
			c := s.call("echo", reading("/data/one/1.txt"))
			c.moved = func() {
				if got := s.q.Grants(s.specs["kid"], nil); len(got) != 0 {
					s.Errorf("open to others: %+v", got)
				}
				if got := s.q.Served(s.specs["kid"]); len(got) != 1 {
					s.Errorf("the child is served %+v", got)
				}
			}
			s.passes(c)
			if version, _ := s.q.Version(); version == c.served || len(s.q.Report().Grants) != 0 {
				s.Errorf("version %d after %d, open: %+v", version, c.served, s.q.Report().Grants)
			}
			s.asker.asked(1)
		}
	})
}
