package call_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"mcphub/children"
	"mcphub/children/launch"
	"mcphub/children/link"
	"mcphub/children/offers"
	"mcphub/children/process"
	"mcphub/children/sandbox"
	"mcphub/children/spec"
	"mcphub/e2e/childtest"
	"mcphub/e2e/rootstest"
	"mcphub/hub/approval"
	"mcphub/hub/audit"
	"mcphub/hub/audit/trail"
	"mcphub/hub/call"
	"mcphub/hub/catalog"
	"mcphub/hub/configuration"
	"mcphub/hub/declaration"
	"mcphub/hub/handshake"
	"mcphub/hub/inflight"
	"mcphub/hub/offering"
	"mcphub/hub/record"
	"mcphub/hub/results"
	"mcphub/hub/tasks"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/principal"
	"mcphub/rootsmgr"
	"mcphub/rootsmgr/guard"
	"mcphub/rootsmgr/platform"
	"mcphub/validate"
	"mcphub/validate/access"
	"mcphub/validate/declare"
	"mcphub/validate/policy"
)

// A stage is a Sender in a time of its own, with children that a test scripts. Its client is one of
// the handshake's era that gives one root.
type stage struct {
	*testing.T
	*call.Sender
	base          string                 // the directory of the ones that follow
	root, outside string                 // directories
	judge         func(*validate.Config) // changes what calls are judged by; nil: nothing does
	client        *scriptedClient
	instances     *scriptedInstances
	children      *theater
	conf          *configuration.Configuration // the first one
	inForce       *configuration.Current
	offering      *offering.Offering
	roots         *rootstest.Client
	settings      configuration.Settings
	recorder      *audit.Recorder
	recordFull    atomic.Bool // there is no room for the record
	tasks         tasks.Table
	progress      inflight.Progress
	ignoresOffers atomic.Bool // the catalogue learns nothing about what children offer from now on
}

// staging is what a test changes before a stage is made.
type staging struct {
	scripts  []scriptedChild
	rules    []policy.Rule
	limit    int // on the text of a result; 0: none
	broken   []configuration.Broken
	own      []catalog.HubTool
	recorded bool
	required bool // what cannot be recorded is denied
	options  func(*configuration.Settings)
	judge    func(s *stage, judged *validate.Config)
	silent   bool // the client does not announce other roots
	// unknown: what the children offer is not waited for.
	unknown bool
}

// A scriptedChild is one entry of hub.json.
type scriptedChild struct {
	name    string
	script  childtest.Script
	share   spec.Share
	sandbox sandbox.Settings // how the kernel is to hold it
	slow    bool             // its link has nothing that is sent without waiting
}

// oneChild returns a stage with one child of that name.
func oneChild(script childtest.Script) staging {
	return staging{scripts: []scriptedChild{{name: "kid", script: script}}}
}

// onStage runs a test on a stage, beside the others.
func onStage(t *testing.T, with staging, test func(s *stage)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(newStage(t, with)) })
}

func newStage(t *testing.T, with staging) *stage {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := &stage{T: t, base: base, root: filepath.Join(base, "root"), outside: filepath.Join(base, "outside"), children: newTheater()}
	for _, dir := range []string{s.root, s.outside} {
		for _, err := range []error{os.Mkdir(dir, 0o700), os.WriteFile(filepath.Join(dir, "a.txt"), nil, 0o600)} {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	s.settings = configuration.Settings{
		FS: guard.OS{}, Dir: "/", Log: zerolog.Nop(), Broken: with.broken, Approval: approval.Options{Timeout: time.Minute}, Roots: rootsmgr.DefaultSettings(),
	}
	for _, c := range with.scripts {
		entry := childtest.Spec(c.name, c.script)
		entry.StartTimeout, entry.CallTimeout = 20*time.Second, time.Minute
		entry.Share, entry.Sandbox = c.share, c.sandbox
		s.children.scripts[c.name] = c
		s.settings.Children = append(s.settings.Children, configuration.Child{Spec: entry, Prefix: c.name + "__", ResultMax: with.limit})
	}
	if with.options != nil {
		with.options(&s.settings)
	}
	if with.judge != nil {
		s.judge = func(judged *validate.Config) { with.judge(s, judged) }
	}
	s.settings.Checker = s.checker(with.rules...)
	if s.conf, err = configuration.New(s.settings, with.own, nil); err != nil {
		t.Fatal(err)
	}
	s.inForce = &configuration.Current{}
	s.inForce.Set(s.conf)
	s.instances = &scriptedInstances{s: s}
	s.offering = offering.New(s.conf, s.inForce, func(child string) bool { return s.instances.AwaitsList(child) })
	s.instances.supervisor = children.NewSupervisor(children.SupervisorOptions{
		Specs: s.conf.Specs(), Launcher: s.children,
		Changed: func(st children.Status, raw *offers.RawOffer) {
			var offer *catalog.Offer // nil: it has not listed anything yet
			conf := s.inForce.InForce()
			if entry := conf.Child(st.Child); raw != nil && entry != nil {
				offer = conf.ReadOffer(entry, raw)
			}
			if !s.ignoresOffers.Load() {
				s.offering.Take(&st, offer)
			}
		},
		Request: func(ctx context.Context, k spec.Key, m *jsonrpc.Message) jsonrpc.Answer {
			return s.AskClient(ctx, k, m)
		},
		Notification: func(_ context.Context, k spec.Key, m *jsonrpc.Message) {
			if m.Method == "notifications/progress" {
				s.progress.Relay(k, m)
			}
		},
	})
	s.roots = rootstest.NewClient()
	s.roots.Always(platform.Host().FormatURI(s.root))
	manager := rootsmgr.NewManager(s.roots, rootsmgr.Fallback{}, s.settings.Roots, guard.OS{}, zerolog.Nop())
	manager.NoteHandshake(true, !with.silent)
	s.run(s.instances.supervisor.Run)
	s.run(manager.Run)
	s.conf.MarkFollowed(nil)
	known := make(chan struct{})
	close(known)
	s.offering.Recall(t.Context(), known, func(*configuration.Configuration, *configuration.Child) *offers.RawOffer { return nil })
	s.client = &scriptedClient{}
	s.client.Client = handshake.NewMain(&s.client.messenger, &host{s, manager})
	set := record.Settings{Required: with.required}
	if with.recorded {
		s.startRecord(&set)
	}
	s.Sender = &call.Sender{
		ID: "session-0123456789", MainClient: s.client, Current: s.inForce, Offering: s.offering, Instances: s.instances, RootsManager: manager,
		Approvals: approval.New(guard.OS{}, zerolog.Nop(), func() approval.Rules { return s.inForce.InForce().ApprovalRules() }),
		Tasks:     &s.tasks, Progress: &s.progress, Results: results.NewStore(&results.Shelf{}, "somebody", 0), Log: zerolog.Nop(),
		ServeHubTool: func(_ context.Context, tool string, _ *jsonrpc.Message) jsonrpc.Answer {
			return jsonrpc.ResultAnswer([]byte(`{"own":"` + tool + `"}`))
		},
		AdoptTask: func(_ context.Context, _ *children.Lease, tool string, answer jsonrpc.Answer, drop func()) jsonrpc.Answer {
			drop()
			return jsonrpc.ResultAnswer([]byte(`{"adopted":"` + tool + `"}`))
		},
	}
	s.Records = record.New(s.ID, "", func() *record.Settings { return &set }, record.NewGroup(set.Recorder, zerolog.Nop()), nil)
	s.instances.Start()
	if !with.unknown {
		for _, c := range with.scripts {
			s.offering.AwaitListed(t.Context(), []string{c.name})
		}
	}
	return s
}

// checker judges the stage's children. A call may name a file to read as path, to write as out. The
// methods that a child is told to ask for are no paths.
func (s *stage) checker(rules ...policy.Rule) *validate.Checker {
	s.Helper()
	judged := validate.Config{FS: guard.OS{}, Home: s.TempDir(), Policy: policy.Policy{Rules: rules}}
	for _, c := range s.settings.Children {
		judged.Children = append(judged.Children, validate.ChildConfig{Name: c.Spec.Name, Command: c.Spec.Command, Args: map[string]map[string]declare.ArgRule{
			"*": {"/path": {Role: access.Read}, "/out": {Role: access.Write}, "/method": {Role: access.None}, "/ask/q/method": {Role: access.None}},
		}})
	}
	if s.judge != nil {
		s.judge(&judged)
	}
	checker, err := validate.NewChecker(judged)
	if err != nil {
		s.Fatal(err)
	}
	return checker
}

// run runs something for the length of the test.
func (s *stage) run(f func(context.Context) error) {
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- f(ctx) }()
	s.Cleanup(func() {
		if stop(); <-done != nil {
			s.Error("it has not ended well")
		}
	})
}

// reload puts other rules in force. change changes the other settings; nil changes none. The session and
// its children go by the former ones until follow is called.
func (s *stage) reload(change func(*configuration.Settings), rules ...policy.Rule) (follow func()) {
	s.Helper()
	set, old := s.settings, s.inForce.InForce()
	set.Children = slices.Clone(set.Children)
	if change != nil {
		change(&set)
	}
	s.settings = set
	set.Checker = s.checker(rules...)
	conf, err := configuration.New(set, nil, old)
	if err != nil {
		s.Fatal(err)
	}
	s.inForce.Set(conf)
	return func() {
		_, had := s.offering.Offers()
		renewed := map[*offers.RawOffer]*catalog.Offer{}
		for name, of := range had {
			if entry := conf.Child(name); entry != nil && of != nil {
				renewed[of.Raw] = conf.ReadOffer(entry, of.Raw)
			}
		}
		s.offering.Adopt(conf, renewed)
		s.instances.supervisor.ApplySpecs(conf.Specs())
		conf.MarkFollowed(old)
		s.instances.Start()
	}
}

// relist has the catalogue be what the children offer now.
func (s *stage) relist() {
	for _, c := range s.settings.Children {
		lease := s.instances.TryAcquire(s.inForce.InForce(), c.Spec.Name)
		st := s.offering.ChildStatus(c.Spec.Name)
		s.offering.Take(&st, s.inForce.InForce().ReadOffer(s.inForce.InForce().Child(c.Spec.Name), lease.Offer()))
		lease.Release()
	}
}

// request returns a request of the client. params is a JSON object.
func request(t testing.TB, method, params string) *jsonrpc.Message {
	t.Helper()
	m := &jsonrpc.Message{}
	if err := jsonrpc.Split([]byte(`{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":`+params+`}`), true, m); err != nil {
		t.Fatal(err)
	}
	return m
}

// notification returns one of the client.
func notification(t testing.TB, method, params string) *jsonrpc.Message {
	t.Helper()
	m := &jsonrpc.Message{}
	if err := jsonrpc.Split([]byte(`{"jsonrpc":"2.0","method":"`+method+`","params":`+params+`}`), true, m); err != nil {
		t.Fatal(err)
	}
	return m
}

// echoParams returns the params of a call of the tool echo of kid. more are further members of them.
func echoParams(args string, more ...string) string {
	return `{"name":"kid__echo","arguments":` + args + strings.Join(append([]string{""}, more...), ",") + `}`
}

func readArgs(path string) string  { return fmt.Sprintf(`{"path":%q}`, path) }
func writeArgs(path string) string { return fmt.Sprintf(`{"out":%q}`, path) }

// callWaiting makes a call of a tool on the waiting path.
func (s *stage) callWaiting(params string) string {
	s.Helper()
	return answerText(s.ServeTool(s.Context(), request(s.T, "tools/call", params)))
}

// tryFast makes a call of a tool on the fast path; false: that left it to the other one.
func (s *stage) tryFast(params string) (string, bool) {
	s.Helper()
	answer, ok := s.TryCallToolAndWait(s.client, &call.AwaitedAnswer{Cancellation: &jsonrpc.Cancellation{}}, request(s.T, "tools/call", params))
	return answerText(answer), ok
}

// fastTries is how often a call is made that was left to the waiting path: nothing is done for it then, and the kernel may have its path in
// memory at the next look only.
// Other systems than Linux have no look that may not wait.
var fastTries = map[bool]int{true: 1000, false: 1}[runtime.GOOS == "linux"]

// farDirectory is an absolute directory in which no part of a stage lies.
var farDirectory = filepath.VolumeName(os.TempDir()) + filepath.FromSlash("/nowhere")

// warmUpPaths has the kernel take the directories of the stage into memory: a look that may not wait does not.
func (s *stage) warmUpPaths() {
	for _, dir := range []string{s.root, s.outside} {
		_, _ = os.ReadDir(dir)
		_, _ = os.Lstat(filepath.Join(dir, "a.txt"))
	}
}

// callFast works like tryFast for a call that nothing keeps from the fast path.
func (s *stage) callFast(params string) (got string, ok bool) {
	s.Helper()
	for range fastTries {
		s.warmUpPaths()
		if got, ok = s.tryFast(params); ok {
			break
		}
	}
	return got, ok
}

// answerText returns an answer as text.
func answerText(answer jsonrpc.Answer) string {
	if answer.Error != nil {
		return "error " + string(answer.Error)
	}
	return string(answer.Result)
}

// wantParts compares an answer with what is to be in it.
func (s *stage) wantParts(got string, parts ...string) {
	s.Helper()
	for _, part := range parts {
		not, is := strings.CutPrefix(part, "!")
		if is == strings.Contains(got, not) || not == "isError" && is && strings.HasPrefix(got, "error ") {
			s.Errorf("want %q in %s", part, got)
		}
	}
}

// wantReached wants the children to have had so many requests or notifications of a method.
func (s *stage) wantReached(method string, n int) {
	s.Helper()
	if got := s.children.messagesSent(method); len(got) != n {
		s.Errorf("%s has reached a child %d times, want %d: %q", method, len(got), n, got)
	}
}

// wantReleased wants every lease to have been released, and nothing to be under way.
func (s *stage) wantReleased() {
	s.Helper()
	synctest.Wait()
	if n := s.progress.Routes(); n != 0 {
		s.Errorf("%d routes of progress are open", n)
	}
	s.instances.supervisor.ApplySpecs(nil) // a run whose leases are not all released goes on
	time.Sleep(5 * time.Second)
	synctest.Wait()
	if s.children.liveCount() != 0 {
		s.Error("a lease was not released")
	}
}

// startRecord makes the record of a stage, in a folder of the test.
func (s *stage) startRecord(set *record.Settings) {
	s.Helper()
	to := audit.NewRecorder(audit.Options{Dir: filepath.Join(s.TempDir(), "audit"), Write: func(f io.Writer, b []byte) (int, error) {
		if s.recordFull.Load() {
			return 0, syscall.ENOSPC
		}
		return f.Write(b)
	}}, nil)
	if err := to.Open(); err != nil {
		s.Fatal(err)
	}
	set.Recorder, set.Arguments = to, true
	s.recorder = to
	s.run(to.Run)
}

// decisions returns what was recorded so far, in short.
func (s *stage) decisions() []string {
	s.Helper()
	synctest.Wait()
	time.Sleep(5 * time.Second) // outcomes are written now and then
	synctest.Wait()
	all, err := trail.Decisions(s.recorder.State().Dir, trail.Filter{})
	if err != nil {
		s.Fatal(err)
	}
	return decisionWords(all)
}

// wantRecorded wants these decisions.
func (s *stage) wantRecorded(want ...string) {
	s.Helper()
	if got := s.decisions(); !slices.Equal(got, want) {
		s.Errorf("recorded %q, want %q", got, want)
	}
}

// decisionWords returns the decisions of a record in short: what was decided, why, by whom, and what became of it.
func decisionWords(all []trail.Decision) (out []string) {
	for i := range all {
		d := &all[i]
		word := strings.TrimSpace(d.Child + " " + d.Tool + " " + d.Decision + " " + d.Code)
		if d.By != "" {
			word += " by " + d.By
		}
		if d.Approver != "" {
			word += " " + strings.ReplaceAll(d.Approver, principal.Account(), "ACCOUNT")
		}
		if d.Outcome != nil {
			word += " " + d.Outcome.Result
		}
		out = append(out, word)
	}
	return out
}

// scriptedClient is a client of the handshake's era, of which a test changes what it needs.
type scriptedClient struct {
	*handshake.Client
	messenger   scriptedMessenger
	form        bool // it can show a form
	url         bool
	sendsRoots  bool
	otherRoots  bool // it brings other roots than the child has
	before      error
	after       error
	verdict     error // of CheckVerdict
	profile     link.ClientProfile
	refuseFast  int // which question about the fast path it answers with no, from 1
	fastAsked   atomic.Int32
	kept        atomic.Bool // KeepResultType was called
	yielded     atomic.Int32
	canFetch    bool
	gaveRoots   bool
	fetched     func(judge func(rootsmgr.RootsView) error)
	reconsiders func() (rootsmgr.RootsView, bool, error)
}

func (c *scriptedClient) Claims() declaration.Claims {
	claims := declaration.Claims{Known: true, Roots: true, Name: "test", Version: "1"}
	claims.Can.Form, claims.Can.URL = c.form, c.url
	return claims
}
func (c *scriptedClient) ClientProfile() link.ClientProfile    { return c.profile }
func (c *scriptedClient) SendsRoots() bool                     { return c.sendsRoots }
func (c *scriptedClient) BringsOtherRoots(*spec.Spec) bool     { return c.otherRoots }
func (c *scriptedClient) CheckVerdict(*validate.Verdict) error { return c.verdict }
func (c *scriptedClient) NoteScan(*validate.Scan)              {}
func (c *scriptedClient) KeepResultType()                      { c.kept.Store(true) }
func (c *scriptedClient) YieldChild()                          { c.yielded.Add(1) }
func (c *scriptedClient) AwaitRootsAfter(lease *children.Lease) error {
	if c.after != nil {
		lease.Release()
	}
	return c.after
}
func (c *scriptedClient) AwaitRootsBefore(context.Context, *spec.Spec) error { return c.before }
func (c *scriptedClient) CanFetchRoots(string) bool                          { return c.canFetch }
func (c *scriptedClient) GaveRoots() bool                                    { return c.gaveRoots }
func (c *scriptedClient) FetchRoots(_ context.Context, _ string, judge func(rootsmgr.RootsView) error) {
	c.canFetch = false
	c.fetched(judge)
}
func (c *scriptedClient) AllowsFastPath(_ spec.Share, mirrored bool, _ *children.Lease) bool {
	if mirrored {
		return false
	}
	return int(c.fastAsked.Add(1)) != c.refuseFast
}
func (c *scriptedClient) Reconsider(ctx context.Context, waitBudget *rootsmgr.WaitBudget, limit time.Duration) (rootsmgr.RootsView, bool, error) {
	if c.reconsiders != nil {
		return c.reconsiders()
	}
	return c.Client.Reconsider(ctx, waitBudget, limit)
}

// A scriptedMessenger is the way to the client.
type scriptedMessenger struct {
	mu    sync.Mutex
	told  []string // methods and params of notifications
	asked []string
	// answers is a result, or "!" and the message of an error; "" leaves a question standing.
	answers func(method, params string) string
	asks    func(ctx context.Context, params string) string // in its place
}

func (p *scriptedMessenger) Call(ctx context.Context, method string, params ...[]byte) (*jsonrpc.Response, error) {
	raw := string(slices.Concat(params...))
	p.mu.Lock()
	p.asked = append(p.asked, method+" "+raw)
	p.mu.Unlock()
	result := ""
	switch {
	case p.asks != nil:
		result = p.asks(ctx, raw)
	case p.answers == nil:
		return nil, jsonrpc.ErrClosed
	default:
		result = p.answers(method, raw)
	}
	if result == "" {
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}
	if text, is := strings.CutPrefix(result, "!"); is {
		return &jsonrpc.Response{Error: jsonrpc.ErrorAnswer(jsonrpc.CodeInternal, text).Error}, nil
	}
	return &jsonrpc.Response{Result: []byte(result)}, nil
}
func (p *scriptedMessenger) TryNotify(method string, params ...[]byte) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.told = append(p.told, method+" "+string(slices.Concat(params...)))
	return true
}
func (p *scriptedMessenger) Notify(_ context.Context, method string, params ...[]byte) error {
	p.TryNotify(method, params...)
	return nil
}
func (p *scriptedMessenger) TryNotifyLeavingRoom(method string, params ...[]byte) bool {
	return p.TryNotify(method, params...)
}
func (p *scriptedMessenger) Serving() int                     { return 0 }
func (p *scriptedMessenger) Connected() bool                  { return true }
func (p *scriptedMessenger) AwaitReady(context.Context) error { return nil }

// notes returns what the client was told so far.
func (p *scriptedMessenger) notes() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.told)
}

// questions returns what the client was asked so far.
func (p *scriptedMessenger) questions() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.asked)
}

type host struct {
	s     *stage
	roots *rootsmgr.Manager
}

func (h *host) Capabilities() declaration.Claims { return h.s.client.Claims() }
func (h *host) Level() declaration.Level         { return 0 }
func (h *host) Roots() *rootsmgr.Manager         { return h.roots }
func (h *host) RootsTimeout() time.Duration      { return time.Minute }
func (h *host) AwaitServed(context.Context, rootsmgr.RootsView, time.Duration) error {
	return nil
}

// scriptedInstances are the instances that the Supervisor runs, one of each child, of which a
// test changes what it needs.
type scriptedInstances struct {
	s          *stage
	supervisor *children.Supervisor
	given      atomic.Int32           // leases
	byRoots    bool                   // the roots decide which process it is
	stale      bool                   // the children have other roots than the client
	moved      atomic.Pointer[string] // a child whose process has not listed its tools yet
	other      string                 // another instance that serves the session now; "": the first one does
	busy       int                    // how often TryAcquire gives none before it does
	tried      func()                 // is called by TryAcquire
	plan       func(*rootsmgr.RootsView) (served []string, ok bool)
	acquire    func() error // before a lease is waited for
	serves     []guard.Root
	rootsGiven func() bool
}

func (i *scriptedInstances) key(child string) spec.Key {
	return spec.Key{Child: child, Instance: i.s.ID + i.other}
}

// Start has the children run.
func (i *scriptedInstances) Start() {
	for _, name := range i.s.inForce.InForce().ChildNames() {
		i.supervisor.WithBoundary(sandbox.Boundary{Areas: []sandbox.Rule{{Path: i.s.root, Access: sandbox.Read | sandbox.Write | sandbox.Execute}}}).EnsureInstance(i.key(name), nil)
	}
}

func (i *scriptedInstances) ByRoots(*configuration.Child) bool { return i.byRoots }
func (i *scriptedInstances) RootsAreCurrent() bool             { return !i.stale }
func (i *scriptedInstances) AwaitsList(child string) bool {
	of := i.moved.Load()
	return of != nil && *of == child
}
func (i *scriptedInstances) RootsGiven(string) bool                  { return i.rootsGiven == nil || i.rootsGiven() }
func (i *scriptedInstances) AwaitRootsGiven(context.Context, string) {}
func (i *scriptedInstances) Plan(_ *configuration.Configuration, _ string, rootsView *rootsmgr.RootsView) (string, []string, bool) {
	if i.plan == nil {
		return "", nil, false
	}
	served, ok := i.plan(rootsView)
	return i.s.root, served, ok
}
func (i *scriptedInstances) RootsFor(*configuration.Configuration, *configuration.Child, rootsmgr.RootsView) []guard.Root {
	return i.serves
}
func (i *scriptedInstances) AwaitGrants(context.Context, time.Duration, uint64) error { return nil }

func (i *scriptedInstances) TryAcquire(conf *configuration.Configuration, child string) *children.Lease {
	if i.tried != nil {
		i.tried()
	}
	if i.busy > 0 {
		i.busy--
		return nil
	}
	if conf.IsDenied(child) {
		return nil
	}
	lease, _ := i.supervisor.TryAcquire(i.key(child))
	if lease != nil && lease.Revision() != conf.Child(child).Spec.Revision {
		lease.Release()
		return nil
	}
	if lease != nil {
		i.given.Add(1)
	}
	return lease
}

func (i *scriptedInstances) Acquire(ctx context.Context, conf *configuration.Configuration, child string) (*children.Lease, error) {
	if i.acquire != nil {
		if err := i.acquire(); err != nil {
			return nil, err
		}
	}
	lease, err := i.supervisor.Acquire(ctx, i.key(child))
	switch {
	case i.s.inForce.IsSuperseded(conf, child):
		lease.Release()
		return nil, configuration.ErrSuperseded
	case err == nil:
		i.given.Add(1)
	}
	return lease, err
}

// A theater is a Launcher that plays children in this process, and notes what each is sent.
type theater struct {
	scripts map[string]scriptedChild
	mu      sync.Mutex
	heard   []string // child, method and params
	running int
	played  []*scriptedLink
	refuse  func(method string) error // what a request fails with instead of its answer; nil: none does
}

func newTheater() *theater { return &theater{scripts: map[string]scriptedChild{}} }

// messagesSent returns the params of what the children got of a method, in its order.
func (th *theater) messagesSent(method string) (all []string) {
	th.mu.Lock()
	defer th.mu.Unlock()
	for _, what := range th.heard {
		if _, params, ok := strings.Cut(what, " "+method+" "); ok {
			all = append(all, params)
		}
	}
	return all
}

// crash ends the runs of a child.
func (th *theater) crash(child string) {
	th.mu.Lock()
	defer th.mu.Unlock()
	for _, p := range th.played {
		if p.child == child {
			p.hangUp()
		}
	}
}

// launched returns how many runs of children there were.
func (th *theater) launched() int {
	th.mu.Lock()
	defer th.mu.Unlock()
	return len(th.played)
}

func (th *theater) liveCount() int {
	th.mu.Lock()
	defer th.mu.Unlock()
	return th.running
}

// Launch starts a player.
func (th *theater) Launch(l launch.Launch, entry spec.Spec, h jsonrpc.Handler, log zerolog.Logger) (link.ChildConnection, error) {
	c := th.scripts[entry.Name]
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	p := &scriptedLink{theater: th, child: entry.Name, conn: jsonrpc.NewConn(outR, inW, h, jsonrpc.ConnOptions{Log: log}), ended: make(chan int, 1)}
	p.hangUp = sync.OnceFunc(func() {
		_ = inR.CloseWithError(io.ErrClosedPipe)
		_ = outW.Close()
	})
	go func() {
		code := c.script.Exit
		if code == 0 {
			code = c.script.Serve(inR, outW, io.Discard, l.Args)
		}
		p.ended <- code
		p.hangUp()
	}()
	th.mu.Lock()
	defer th.mu.Unlock()
	th.running++
	th.played = append(th.played, p)
	if c.slow {
		return struct{ link.ChildConnection }{p}, nil
	}
	return p, nil
}

// scriptedLink is the link to a child that a script plays.
type scriptedLink struct {
	theater *theater
	child   string
	conn    *jsonrpc.Conn
	ended   chan int
	hangUp  func()
}

func (p *scriptedLink) Run(ctx context.Context) error {
	err := p.conn.Run(ctx)
	p.hangUp()
	code := <-p.ended
	p.theater.mu.Lock()
	defer p.theater.mu.Unlock()
	p.theater.running--
	switch {
	case ctx.Err() != nil:
		return nil
	case err != nil:
		return err
	}
	return &process.ExitError{Text: "hung up", Code: code}
}

// note keeps what the child is sent.
func (p *scriptedLink) note(method string, params [][]byte) {
	p.theater.mu.Lock()
	defer p.theater.mu.Unlock()
	p.theater.heard = append(p.theater.heard, p.child+" "+method+" "+string(slices.Concat(params...)))
}

func (p *scriptedLink) Call(ctx context.Context, method string, params ...[]byte) (*jsonrpc.Response, error) {
	p.note(method, params)
	if refuse := p.theater.refuse; refuse != nil {
		if err := refuse(method); err != nil {
			return nil, err
		}
	}
	return p.conn.Call(ctx, method, params...)
}

func (p *scriptedLink) Notify(ctx context.Context, method string, params ...[]byte) error {
	p.note(method, params)
	return p.conn.Notify(ctx, method, params...)
}

// Prepare is for what is sent without waiting: what that is, the child alone knows.
func (p *scriptedLink) Prepare(s *jsonrpc.PreparedCall, handler jsonrpc.ResponseHandler) {
	p.note("fast", nil)
	p.conn.Prepare(s, handler)
}

func (p *scriptedLink) Facts() link.ConnectionFacts {
	return link.ConnectionFacts{Heard: p.conn.Stats().Heard}
}
