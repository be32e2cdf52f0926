package record

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"mcphub/children/sandbox"
	"mcphub/hub/audit"
	"mcphub/hub/modern"
	"mcphub/hub/telemetry"
	"mcphub/hub/tracing"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/jsonrpc/lines"
	"mcphub/internal/methods"
	"mcphub/internal/principal"
	"mcphub/internal/printable"
	"mcphub/internal/redact"
	"mcphub/rootsmgr"
	"mcphub/validate"
	"mcphub/validate/access"
	"mcphub/validate/policy"
)

// Settings describe how decisions are recorded.
type Settings struct {
	Recorder  *audit.Recorder // nil: they are not
	Required  bool            // what cannot be recorded is denied
	Arguments bool            // arguments are recorded, and not only the paths in them
	Recent    *audit.Recent   // keeps the last refusals where Recorder is nil; nil: no one does
}

// Status is how the record of decisions stands.
type Status struct {
	audit.State
	Required  bool `json:"required"`  // what cannot be recorded is denied
	Arguments bool `json:"arguments"` // arguments are recorded too
}

// Status returns how the record stands by these settings.
func (s *Settings) Status() Status {
	st := Status{Required: s.Required, Arguments: s.Arguments}
	if s.Recorder != nil {
		st.State = s.Recorder.State()
	}
	return st
}

// sendError takes the error of recording a request. It returns an error if the request must not be sent,
// and nil if it may: it was recorded, or the record is not required.
func (s *Settings) sendError(err error) error {
	switch {
	case err == audit.ErrGroup:
		return err
	case err != nil && s.Required:
		return &UnrecordedError{err}
	}
	return nil
}

// errUnwritten is told to everybody, so it says no more.
var errUnwritten = errors.New("the record that audit.required asks for cannot be written")

// Ready returns an error while calls are refused because they cannot be recorded. It tries
// to write what waits.
func (s *Settings) Ready(ctx context.Context) error {
	if s.Required && (s.Recorder == nil || s.Recorder.Ready(ctx) != nil) {
		return errUnwritten
	}
	return nil
}

// errNoLog: a reload asks for a record if the hub was started without one.
var errNoLog = errors.New("no audit log is kept, and audit.dir takes effect after a restart")

// An UnrecordedError is a call that was not made because it cannot be recorded.
type UnrecordedError struct{ err error }

func (e *UnrecordedError) Error() string {
	return fmt.Sprintf("the call was not made: it cannot be recorded, and hub.json requires that (audit.required): %s; make room or let the hub write to its folder, and call again (mcphub status shows how it stands)", e.err)
}

func (e *UnrecordedError) Unwrap() error { return e.err }

// A Writer records what is decided in one session.
type Writer struct {
	session, principal string
	settings           func() *Settings
	group              *Group
	metrics            *telemetry.SessionMetrics // nil: no one watches
	client             atomic.Pointer[string]    // as lines have it; nil: it is not known
}

// A Group is the group commit of all sessions, for calls that wait for nothing but their
// line. The calls whose lines are written together leave in one batch.
type Group struct {
	audit.GroupCommit
	batch lines.Batch // of the goroutine that writes
}

// BeforeSend records the calls that came in one read of a client.
func (g *Group) BeforeSend(*lines.Batch) { g.Flush() }

// NewGroup makes the Group of all sessions that record to one audit.Recorder; nil: they do not record.
func NewGroup(to *audit.Recorder, log zerolog.Logger) *Group {
	g := &Group{}
	g.To = to
	g.InBatch = func(tell func()) { g.batch.Do(func(*lines.Batch) { tell() }) }
	g.Panicked = func(p any) {
		log.Error().Str("panic", fmt.Sprint(p)).Bytes("stack", debug.Stack()).Msg("recording calls panicked")
	}
	return g
}

// New makes the Writer of a session, which belongs to a principal. now returns the settings in force, whose
// Recorder is always the group's.
func New(session, principal string, now func() *Settings, group *Group, metrics *telemetry.SessionMetrics) *Writer {
	return &Writer{session: session, principal: principal, settings: now, group: group, metrics: metrics}
}

// SetClient has the lines that follow name the client of the session, as it calls itself.
func (w *Writer) SetClient(name string) {
	if name != "" {
		name = recordedName(name)
		w.client.Store(&name)
	}
}

// clientName returns the client as lines have it; "" if it is not known.
func (w *Writer) clientName() string {
	if name := w.client.Load(); name != nil {
		return *name
	}
	return ""
}

// RecordSession writes the line of a session that begins. It waits for nothing.
func (w *Writer) RecordSession(by audit.ClientInfo) {
	if to := w.settings().Recorder; to != nil {
		to.Note(audit.KindSession, &audit.Record{Session: w.session, Principal: w.principal, ClientInfo: by})
	}
}

// RecordEnd writes the line of a session that the operator of the hub has ended. It waits for nothing.
func (w *Writer) RecordEnd() {
	if to := w.settings().Recorder; to != nil {
		to.Note(audit.KindEnded, &audit.Record{Session: w.session, Principal: w.principal, Client: w.clientName(), DecisionFields: audit.DecisionFields{By: byOperator, Approver: principal.Account()}})
	}
}

// byOperator is the word for the operator of the hub, in the line of a session that the operator has ended.
const byOperator = "operator"

// IsEnabled reports whether decisions are recorded.
func (w *Writer) IsEnabled() bool { return w.settings().Recorder != nil }

// CheckRequired returns why nothing may be sent: the record is required, and none is kept.
func (w *Writer) CheckRequired() error {
	if w.IsEnabled() {
		return nil
	}
	return w.settings().sendError(errNoLog)
}

// MaySend decides whether a call may be sent. err is the error of writing its line. If the call may not be
// sent, MaySend records that, and returns an error and no ticket.
func (w *Writer) MaySend(t audit.Ticket, err error) (audit.Ticket, error) {
	if err = w.settings().sendError(err); err != nil {
		t.RecordOutcome(audit.ResultNotSent)
		return audit.Ticket{}, err
	}
	return t, nil
}

// Enqueue records an allowed call together with others that come at the same time. Calls of one batch
// are recorded when the batch ends. Enqueue does not wait. The goroutine that writes the line calls m.Recorded, which asks
// MaySend. size is how many bytes m holds until then.
func (w *Writer) Enqueue(rec audit.CallRecord, m audit.GroupMember, batch *lines.Batch, size int) {
	if !w.settings().Arguments {
		rec.Arguments = nil
	}
	rec.Session, rec.Principal, rec.Client = w.session, w.principal, w.clientName()
	if w.group.Add(rec, m); batch == nil {
		w.group.Flush()
	} else {
		batch.Defer(w.group, size)
	}
}

// Batch returns the batch that gathers calls as they are recorded. The member that Enqueue has taken sends its call by this batch, within
// its method Recorded, so that all calls of one write leave together.
func (w *Writer) Batch() *lines.Batch { return &w.group.batch }

// Waiting returns how many calls, of all sessions, wait to be recorded together.
func (w *Writer) Waiting() int { return w.group.Waiting() }

// A Decision is what was decided of a request.
type Decision struct {
	Verdict   *validate.Verdict
	RootsView *rootsmgr.RootsView // that it was decided by
	Declined  bool                // a person did not approve it, or was not asked
	By        string              // who approved it; "" for no one
	Approver  string              // the name of that person
	Kernel    string              // how far the kernel holds the child
	Protocol  string              // the version that the child is spoken to in; "" if it does not run
}

// IsAllowed reports whether the request may be sent.
func (d Decision) IsAllowed() bool { return d.Verdict.Decision == policy.Allow && !d.Declined }

// approvedBy returns what person's approval lets a request through: of this one,
// by the one who was asked, or an earlier one that is still open.
func (d Decision) approvedBy() string {
	if d.By != "" {
		return d.By
	}
	for i := range d.Verdict.Findings {
		if d.Verdict.Findings[i].Code == validate.CodeGranted {
			return byGrant
		}
	}
	return ""
}

// fillFields writes the decision into a line of the record. at is the pointer of the arguments
// within the ones that the client sent.
func (d Decision) fillFields(rec *audit.DecisionFields, at string) {
	v := d.Verdict
	rec.Decision, rec.Rule, rec.Rewritten, rec.Lenient = v.Decision.String(), v.Rule, len(v.Rewrites), v.Lenient
	rec.RootsBasis, rec.Kernel = rootsBasisOf(v, d.RootsView), d.Kernel
	rec.Findings, rec.More = findingsOf(v, at)
	if d.IsAllowed() {
		rec.By, rec.Approver = d.approvedBy(), d.Approver
	}
}

// Encoded returns the part of the line that a call of a tool has by this decision.
func (d Decision) Encoded() audit.EncodedDecision {
	fields := audit.DecisionFields{Child: d.Verdict.Child, Tool: d.Verdict.Tool}
	d.fillFields(&fields, "")
	return audit.EncodeDecision(&fields)
}

// A Ticket is the place of a decision, for its outcome.
type Ticket struct {
	audit.Ticket
	timing *telemetry.RequestTiming // nil: no one watches
}

// TicketOf returns the Ticket of a request on the fast path, which has no context. It has no place in the record yet.
func TicketOf(timing *telemetry.RequestTiming) Ticket { return Ticket{timing: timing} }

// RecordOutcome records what became of a request that its server did not answer.
func (t Ticket) RecordOutcome(word string) {
	t.Ticket.RecordOutcome(word)
	t.timing.EndServerTime(word, nil)
}

// RecordAnswer records what its server answered, and returns the word for that.
func (t Ticket) RecordAnswer(a jsonrpc.Answer) (word string) {
	word = ResultWord(a.Result, a.Error)
	t.Ticket.RecordOutcome(word)
	t.timing.EndServerTime(word, a.Error)
	return word
}

// BeginClientSpan begins the span of the request to the server, and returns the context that the
// server gets: see telemetry.RequestTiming.
func (t Ticket) BeginClientSpan(in tracing.Context, version string) tracing.Context {
	return t.timing.BeginClientSpan(in, version)
}

// WriteDecision writes the line of a request that was judged, and counts the decision. If there is
// an error, nothing may be sent.
func (w *Writer) WriteDecision(ctx context.Context, req *RequestRecord, subject Subject, d Decision) (Ticket, error) {
	if req == nil {
		t, err := w.appendDecision(ctx, nil, subject, d)
		return Ticket{Ticket: t}, err
	}
	req.recorded = true
	decision := policy.Allow
	if !d.IsAllowed() {
		decision = policy.Deny
	}
	req.timing.SetOperation(req.m.Method, subject.Child, subject.Tool)
	req.timing.SetPrompt(subject.Prompt)
	req.timing.CountDecision(decision.String(), d.Verdict.Rule)
	req.beginSpan()
	t, err := w.appendDecision(ctx, req, subject, d)
	if err == nil && d.IsAllowed() {
		req.timing.StartServerTime(d.Protocol)
	}
	return Ticket{t, &req.timing}, err
}

func (w *Writer) appendDecision(ctx context.Context, req *RequestRecord, subject Subject, d Decision) (audit.Ticket, error) {
	settings, v := w.settings(), d.Verdict
	if settings.Recorder == nil && d.IsAllowed() {
		return w.MaySend(audit.Ticket{}, errNoLog)
	}
	rec := w.beginLine(req, settings, subject)
	d.fillFields(&rec.DecisionFields, subject.At)
	switch {
	case d.IsAllowed():
		rec.Micros = 0
	case v.Decision == policy.Allow:
		rec.Decision, rec.Code = policy.Deny.String(), codeApproval
	default:
		if rec.Code = v.Rule; v.Deciding != nil && v.Deciding.Code != "" {
			rec.Code = v.Deciding.Code
		}
	}
	if !d.IsAllowed() && d.RootsView.Snapshot != nil {
		rec.Within = d.RootsView.Snapshot.Paths()
	}
	if settings.Recorder == nil {
		settings.keepRefusal(audit.KindDecision, &rec)
		return audit.Ticket{}, nil
	}
	t, err := settings.Recorder.Append(ctx, &rec)
	if err != nil && ctx.Err() != nil {
		t.RecordOutcome(audit.ResultCancelled) // no caller waits for it any more, so it is not sent
		return audit.Ticket{}, context.Cause(ctx)
	}
	return w.MaySend(t, err)
}

// WriteRefusal writes the line of a request that was not judged, and counts it.
func (w *Writer) WriteRefusal(ctx context.Context, req *RequestRecord, subject Subject, code string) {
	settings := w.settings()
	if errors.Is(context.Cause(ctx), modern.ErrRootsFirst) { // no refusal: it comes again with them
		return
	}
	if req != nil {
		req.recorded = true
		if subject.Child != "" {
			req.timing.SetOperation(req.m.Method, subject.Child, subject.Tool)
		}
		req.timing.CountDecision(refused, code)
	}
	if settings.Recorder == nil {
		return
	}
	rec := w.beginLine(req, settings, subject)
	rec.Decision, rec.Code = refused, code
	// Whether it can be written or not, nothing is sent.
	_, _ = settings.Recorder.Append(context.WithoutCancel(ctx), &rec)
}

// keepRefusal keeps a refusal if no log does.
func (s *Settings) keepRefusal(kind string, rec *audit.Record) {
	if s.Recent != nil {
		one, _ := rec.Refusal(kind, time.Now())
		s.Recent.Add(one)
	}
}

// Flush waits for a moment until the lines that were noted are with the operating system.
func (s *Settings) Flush(ctx context.Context) {
	if s.Recorder == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, slowestLine)
	defer cancel()
	s.Recorder.Flush(ctx)
}

// RecordKernelRefusal records what the kernel has refused to a child that serves these directories. It
// does not wait.
func (s *Settings) RecordKernelRefusal(session, whose string, subject Subject, f sandbox.Refusal, dirs []string) {
	rec := audit.Record{
		Session: session, Principal: whose, Method: subject.Method, DecisionFields: audit.DecisionFields{Child: subject.Child, Tool: subject.Tool, Code: audit.CodeClosed},
		NamedBy: string(f.By), Opens: f.Opens, Why: f.Why, Within: dirs,
	}
	switch {
	case f.Unexplained:
		rec.Code = audit.CodeUnexplained
	case f.Sockets:
		rec.Code = audit.CodeSockets
	case f.KeepsRunning:
		rec.Code = audit.CodeStays
	}
	if f.Path != "" {
		role := access.Read
		if f.Access&sandbox.Write != 0 {
			role = access.Write
		}
		rec.Findings = []audit.Finding{{At: f.At, Role: role.String(), Path: f.Path}}
	} else if f.Variable != "" {
		rec.Findings = []audit.Finding{{At: "/env/" + f.Variable}}
	}
	if s.Recorder == nil {
		s.keepRefusal(audit.KindRefusal, &rec)
		return
	}
	s.Recorder.Note(audit.KindRefusal, &rec)
}

// RecordKernelRefusal records what the kernel has refused to a child while it served a request. It
// waits, because the answer reports where to read it.
func (w *Writer) RecordKernelRefusal(subject Subject, f sandbox.Refusal, dirs []string) {
	settings := w.settings()
	if !f.Unexplained {
		w.metrics.CountKernelRefusal(subject.Child)
	}
	settings.RecordKernelRefusal(w.session, w.principal, subject, f, dirs)
	settings.Flush(context.Background())
}

// slowestLine bounds how long an answer waits for a line that only explains it.
const slowestLine = time.Second

// QuestionFields are what a person is asked about a request, or what became of that.
type QuestionFields struct {
	What    string // asked, or the answer
	Why, By string
	// Approver is the name of the person who has answered; "" for no one.
	Approver string
	Granted  []audit.Granted
}

// WriteQuestion writes the line of a question. If that fails, the person is asked nevertheless:
// the request that their answer lets through has a line of its own.
func (w *Writer) WriteQuestion(ctx context.Context, req *RequestRecord, subject Subject, d Decision, q QuestionFields) {
	settings := w.settings()
	if settings.Recorder == nil {
		return
	}
	if req != nil {
		req.timing.SetOperation(req.m.Method, subject.Child, subject.Tool)
		req.timing.SetPrompt(subject.Prompt)
	}
	rec := w.beginLine(req, settings, subject)
	rec.Decision, rec.Rule, rec.Code, rec.By, rec.Arguments, rec.Micros = q.What, d.Verdict.Rule, q.Why, q.By, nil, 0
	rec.Granted, rec.Approver = q.Granted, q.Approver
	rec.RootsBasis = rootsBasisOf(d.Verdict, d.RootsView)
	rec.Findings, rec.More = findingsOf(d.Verdict, "")
	_ = settings.Recorder.Question(ctx, &rec)
}

// A Subject is what a request is about.
type Subject struct {
	Method      string // if it is no tool
	Child, Tool string // Tool "": the server lists none that is called so
	Unlisted    string // the name of a tool that the server does not list: it is recorded, and not counted by
	Arguments   []byte // raw, of a tool
	At          string // where they stand in the arguments that the client sent
	Prompt      string // that a server lists
}

// A RequestRecord is what the record tells about one request of the client. It belongs to the goroutine that
// serves it. A nil RequestRecord is one that the hub makes by itself, or that no one watches.
type RequestRecord struct {
	m        *jsonrpc.Message
	started  time.Time
	recorded bool            // a line is written, or none is due
	in       tracing.Context // that it came with
	timing   telemetry.RequestTiming
}

// StartRequest begins a request of the client, whose answer FinishRequest is given; nil: no one watches.
// timing is the timing of the request.
func (w *Writer) StartRequest(m *jsonrpc.Message, timing telemetry.RequestTiming) *RequestRecord {
	if !w.IsEnabled() && w.metrics == nil {
		return nil
	}
	return &RequestRecord{m: m, started: time.Now(), in: tracing.ParseMeta(m.Param("_meta")).Context, timing: timing}
}

// Telemetry times the requests of the session; nil: no one watches.
func (w *Writer) Telemetry() *telemetry.SessionMetrics { return w.metrics }

// beginSpan begins the span of the request, and returns the context within the hub: see
// telemetry.RequestTiming.
func (req *RequestRecord) beginSpan() tracing.Context {
	return req.timing.BeginServerSpan(req.in, req.m.Method, req.m.ID)
}

// SetOwnTool reports that the request is of a tool of the hub's own.
func (req *RequestRecord) SetOwnTool(tool string) {
	if req != nil {
		req.timing.SetOperation(req.m.Method, "", tool)
	}
}

// FinishRequest takes the answer of a request. One that was refused before anybody judged it is
// recorded.
func (w *Writer) FinishRequest(ctx context.Context, req *RequestRecord, a jsonrpc.Answer) {
	if req == nil {
		return
	}
	word := ResultWord(a.Result, a.Error)
	if !req.recorded {
		w.recordUnjudged(ctx, req, word)
	}
	if ctx.Err() != nil {
		word = audit.ResultCancelled
	}
	req.beginSpan()
	req.timing.EndRequest(req.m.Method, word, a.Error)
}

func (w *Writer) recordUnjudged(ctx context.Context, req *RequestRecord, word string) {
	switch word {
	case audit.ResultError:
		w.WriteRefusal(ctx, req, Subject{Method: req.m.Method}, codeRequest)
	case audit.ResultToolError:
		w.WriteRefusal(ctx, req, Subject{Method: req.m.Method}, codeNotServed)
	}
}

// recordedName returns how a name is recorded that a client made up.
func recordedName(name string) string { return redact.Text(printable.Escape(name, 200)) }

// beginLine begins a line: who asks for what. It is for the goroutine that serves the
// request.
func (w *Writer) beginLine(req *RequestRecord, settings *Settings, subject Subject) audit.Record {
	rec := audit.Record{Session: w.session, Principal: w.principal, Client: w.clientName(), Method: subject.Method, DecisionFields: audit.DecisionFields{Child: subject.Child, Tool: subject.Tool}}
	if subject.Unlisted != "" {
		rec.Tool = recordedName(subject.Unlisted)
	}
	if req == nil { // the hub asks by itself
		return rec
	}
	req.recorded = true
	rec.Request, rec.Micros = req.m.ID, max(time.Since(req.started).Microseconds(), 1)
	rec.Trace = audit.Trace(req.beginSpan())
	if subject.Method == methods.CallTool {
		rec.Method = ""
	}
	if subject.Tool == "" && subject.Unlisted == "" && rec.Method != methods.ReadResource {
		// A name, which is no argument, as the URI of a resource is; and of a call
		// that came to no tool, one that the client made up.
		name, _ := jsonrpc.String(req.m.Param("name"))
		rec.Tool = recordedName(name)
	}
	if settings.Arguments {
		if rec.Arguments = subject.Arguments; subject.Method != "" {
			rec.Arguments = req.m.Params
		}
	}
	return rec
}
