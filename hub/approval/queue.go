package approval

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"mcphub/rootsmgr/guard"
	"mcphub/validate"
	"mcphub/validate/policy"
)

// Options describe how a person is asked about what a rule escalates.
type Options struct {
	Timeout time.Duration // how long a question stands; 0: 2 min
	From    *Channels     // who may answer; nil: the client
	Quiet   bool          // the desktop is not told about a question
}

// WithDefaults fills in what is not set.
func (options Options) WithDefaults() Options {
	if options.Timeout <= 0 {
		options.Timeout = 2 * time.Minute
	}
	if options.From == nil {
		options.From = &Channels{Client: true}
	}
	return options
}

// ClientOnly returns the Options by which the client alone can be asked.
func (options Options) ClientOnly() Options {
	if options.From != nil {
		options.From = &Channels{Client: options.From.Client}
	}
	return options
}

// Rules are the parts of the configuration in force that a [Queue] goes by.
type Rules struct {
	Timeout time.Duration // how long a question stands
	Checker *validate.Checker
	// Revision is the revision of a child as it is configured; ok is false if there is none.
	Revision func(child string) (revision uint64, ok bool)
}

// A Queue is what a person is asked, and has allowed, in one session. Questions
// are put one at a time.
type Queue struct {
	fs         guard.FS
	log        zerolog.Logger
	inForce    func() Rules
	pending    *atomic.Int64 // questions that people have not answered, of this queue and others; nil: no one counts
	perCall    bool          // each request of the session stands alone, and so does what is allowed for it
	personLock chan struct{} // holds the token of the one who asks

	mu       sync.Mutex // guards what follows
	grants   []*grant
	version  uint64        // of the directories that grants serve
	changed  chan struct{} // closed and replaced when version changes
	granted  chan struct{} // closed and replaced when a grant is given
	waiting  map[Digest]*queuedQuestion
	refusals map[string]*refusalStreak // by child
	serial   uint64
}

// New makes the queue of a session. inForce is the configuration that counts
// for what begins now.
func New(fs guard.FS, log zerolog.Logger, inForce func() Rules) *Queue {
	return &Queue{
		fs: fs, log: log, inForce: inForce, personLock: make(chan struct{}, 1),
		changed: make(chan struct{}), granted: make(chan struct{}), waiting: map[Digest]*queuedQuestion{}, refusals: map[string]*refusalStreak{},
	}
}

// SetPerCall is for a session whose requests may come from different people: no two
// of them share a question, and a grant ends with the request that it was given
// for. It is called before the first request.
func (q *Queue) SetPerCall() { q.perCall = true }

// SetPendingCounter has the questions that stand counted in n. It is called before the first request.
func (q *Queue) SetPendingCounter(n *atomic.Int64) { q.pending = n }

// waitsFor is what a client is told while others are asked, and waitsAt while a person is.
const waitsFor = "waiting for approval"

func waitsAt(who string) string {
	if at, _ := answerPlaces(who); at != "" {
		return waitsFor + ": a person can answer " + at
	}
	return waitsFor
}

// unansweredAt is told if no one whom an Asker names has answered in time.
func unansweredAt(who string) string {
	if at, _ := answerPlaces(who); at != "" {
		return whyUnanswered + "; a person could have answered " + at + " (ask your user to run `mcphub why`)"
	}
	return whyUnanswered
}

// A questionOutcome is what all get who wait for one question.
type questionOutcome struct {
	Answer
	approval *Approval // nil: it was not allowed
	version  uint64    // of the grants that came of it
}

// Ask puts a request that was escalated to a person, and waits. If they allow
// it, the caller has judged it again with their approval when Ask returns; if
// that is not needed any more, it has judged it without one. Its last judgement
// decides. refusal reports why the request was not approved; then it must not be
// sent.
func (q *Queue) Ask(ctx context.Context, request *EscalatedRequest, judgement *Judgement, owner RequestOwner) (refusal string, err error) {
	for {
		question, why := q.makeQuestion(request, judgement)
		if why == "" {
			why = q.pauseReason(judgement.Child.Name, time.Now())
		}
		if why != "" {
			return why, nil
		}
		owner.Release(ctx)
		queued, first, why := q.joinQuestion(question)
		if why != "" {
			return why, nil
		}
		var out *questionOutcome
		var next *Judgement
		if first {
			out, next, err = q.putQuestion(ctx, request, question, queued, owner)
		} else if out, err = q.awaitOutcome(ctx, queued, owner); out == nil && err == nil {
			next, err = owner.Judge(ctx, nil) // the one who asked has gone, and the question with them
		}
		switch {
		case err != nil:
			return "", err
		case out != nil && out.approval == nil:
			return cmp.Or(out.why, whyUnanswered), nil
		case out != nil:
			refusal, err = q.resumeRequest(ctx, request, judgement, question, out, owner)
			if first {
				q.settleOpen(ctx, question, out, owner)
			}
			return refusal, err
		case next.Verdict.Decision != policy.Escalate:
			return "", nil
		}
		judgement = next
	}
}

// putQuestion asks for all who wait for an entry. out is nil if there was no need to
// ask, because the grants have changed while the request waited for the person; next is
// how it is judged now.
func (q *Queue) putQuestion(ctx context.Context, request *EscalatedRequest, question *Question, queued *queuedQuestion, owner RequestOwner) (out *questionOutcome, next *Judgement, err error) {
	defer func() { q.finishQuestion(queued, out) }()
	locked := q.perCall || q.tryLockPerson() // requests that stand alone may be of different people
	defer func() {
		if locked && !q.perCall {
			q.unlockPerson()
		}
	}()
	for waited := !locked; waited; waited = !locked {
		endNotice := owner.Waiting(ctx, waitsFor)
		locked, err = q.lockPerson(ctx)
		endNotice()
		if err != nil {
			return nil, nil, err
		}
		if next, err = owner.Judge(ctx, nil); err != nil {
			return nil, nil, err
		}
		if next.Verdict.Decision != policy.Escalate || !q.isSameQuestion(question, request, next) || q.pauseReason(queued.child, time.Now()) != "" {
			return nil, next, nil
		}
		owner.Release(ctx)
	}
	asker := owner.Asker(ctx)
	defer owner.Waiting(ctx, waitsAt(asker.Who()))()
	q.noteAsked(queued, asker.Who(), time.Now())
	q.log.Info().Str("child", queued.child).Str("what", request.Name).Str("asked", asker.Who()).Strs("rules", question.proposal.rules).Msg("a person is asked to approve a call")
	until, cancel := context.WithTimeoutCause(ctx, q.inForce().Timeout, ErrUnanswered)
	var answer Answer
	defer func() {
		if out == nil || out.approval == nil || !answer.others.keepQuestion(cancel) {
			answer.others.closeQuestion()
			cancel()
		}
	}()
	owner.Record(ctx, &QuestionEvent{What: EventAsked, By: asker.Who()})
	answer = q.askAndCount(until, asker, question)
	if ctx.Err() != nil {
		return nil, nil, context.Cause(ctx) // no caller waits for it: whatever came opens nothing
	}
	switch {
	case answer.late:
		answer.by, answer.why = AskedNobody, unansweredAt(asker.Who())
	case answer.notAsked:
		answer.by = AskedNobody
	}
	answer.by = cmp.Or(answer.by, asker.Who())
	q.countAnswer(queued.child, &answer, time.Now())
	q.log.Info().Str("child", queued.child).Str("what", request.Name).Str("answer", answer.choiceWord()).Str("by", answer.by).Str("why", answer.why).Msg("the question was answered")
	out = q.grantAnswer(question, answer)
	event := QuestionEvent{What: EventDeclined, By: answer.by, Why: out.why, Granted: out.grantsOpened()}
	if out.approval != nil {
		event.What = EventAllowed
	}
	owner.Record(ctx, &event)
	return out, nil, nil
}

// askAndCount asks, and counts the question while it stands.
func (q *Queue) askAndCount(ctx context.Context, asker Asker, question *Question) Answer {
	if q.pending != nil {
		q.pending.Add(1)
		defer q.pending.Add(-1)
	}
	return asker.Ask(ctx, question)
}

// isSameQuestion reports whether the question for a request would still be this one.
func (q *Queue) isSameQuestion(question *Question, request *EscalatedRequest, judgement *Judgement) bool {
	now, why := q.makeQuestion(request, judgement)
	return why == "" && now.key == question.key
}

// grantAnswer opens what was allowed. Where something else stands there by now nothing
// is opened.
func (q *Queue) grantAnswer(question *Question, answer Answer) *questionOutcome {
	if answer.offer == nil {
		return &questionOutcome{Answer: answer}
	}
	grants := answer.offer.grants
	for i := range grants {
		if g := &grants[i]; !g.isUnchanged(q.fs) {
			return &questionOutcome{Answer: Answer{why: fmt.Sprintf("it was allowed, but %s is not what it was when the question was asked", quoteLegible(clipText(g.Path, 200)))}}
		}
	}
	now := time.Now()
	out := &questionOutcome{Answer: answer, approval: &Approval{rules: question.proposal.rules, by: answer.by}}
	given := make([]*grant, 0, len(grants))
	for i := range grants {
		given = append(given, &grant{
			child: question.child.Name, revision: question.child.Revision, name: question.name, checker: question.checker,
			offer: grants[i], approval: out.approval, since: now, perCall: q.perCall,
		})
	}
	out.version = q.addGrants(given)
	q.Prune(q.inForce()) // hub.json may have been read again since the question
	return out
}

// resumeRequest goes on with a request that was allowed.
func (q *Queue) resumeRequest(ctx context.Context, request *EscalatedRequest, judgement *Judgement, question *Question, out *questionOutcome, owner RequestOwner) (refusal string, err error) {
	a := out.approval
	if !q.perCall { // each who waited has one of their own: it is good for one request
		a = &Approval{rules: question.proposal.rules, by: a.by}
	}
	a.request, a.rule = request.Digest, question.proposal.rule
	a.expires = time.Now().Add(max(judgement.StartLimit, time.Minute))
	if err := owner.AwaitServed(ctx, out.version); err != nil {
		return "", err
	}
	next, err := owner.Judge(ctx, a)
	if err != nil {
		q.Done(a)
		return "", err
	}
	if next.Verdict.Decision != policy.Allow {
		q.revokeGrants(out.approval) // what was allowed is not what the request would do now
	}
	if next.Verdict.Decision == policy.Escalate {
		return "it was allowed, but where the call leads has changed since the question was asked", nil
	}
	if no := out.others.closeQuestion(); no != nil {
		q.revokeGrants(out.approval)
		return no.why + afterYes, nil
	}
	return "", nil
}

// afterYes is said of a no that came after the yes of another.
const afterYes = ", after it was allowed elsewhere and before it was sent"

// settleOpen ends what an answer has left open: no one is asked any more. A no that came
// after the yes is noted and recorded.
func (q *Queue) settleOpen(ctx context.Context, question *Question, out *questionOutcome, owner RequestOwner) {
	no := out.others.closeQuestion()
	if no == nil {
		return
	}
	q.revokeGrants(out.approval)
	q.countAnswer(question.child.Name, no, time.Now())
	owner.Record(ctx, &QuestionEvent{What: EventDeclined, By: no.by, Why: no.why + afterYes})
}
