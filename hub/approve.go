package hub

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"time"

	"mcphub/children"
	"mcphub/validate"
)

// This file is what happens when a rule says escalate (P3): a human is asked,
// and where they allow it the call is judged afresh and made.
//
// The answer is bound to the one call that asked: a warrant of the digest of
// session, child, tool and argument bytes, good once and for a short time.
// Nothing that a model or a server can send makes a warrant; only an asker does.

// Approval says how a human is asked for what a rule escalates.
type Approval struct {
	Timeout  time.Duration // how long a question stands; 0: 2 min
	Terminal bool          // a client that cannot be asked waits for `mcphub approve` on a terminal
}

func (a Approval) withDefaults() Approval {
	if a.Timeout <= 0 {
		a.Timeout = 2 * time.Minute
	}
	return a
}

type fingerprint [sha256.Size]byte

// digestOf is the digest of texts, of which none can be taken for another one.
func digestOf(parts ...[]byte) fingerprint {
	h := sha256.New()
	for _, p := range parts {
		var n [8]byte
		binary.BigEndian.PutUint64(n[:], uint64(len(p)))
		h.Write(n[:])
		h.Write(p)
	}
	return fingerprint(h.Sum(nil))
}

// A warrant is one answer of a human to one call. It is made by an answer, and
// used up by the call being sent.
type warrant struct {
	call    fingerprint
	rule    string // that escalated the call itself and is lifted for it; "" for none
	rules   []string
	by      string // who was asked: client or terminal
	expires time.Time

	mu    sync.Mutex
	spent bool
}

var (
	errOtherCall = errors.New("the approval was given for another call")
	errSpent     = errors.New("the approval was used already")
	errExpired   = errors.New("the approval came too long ago")
)

// spend uses the warrant up for a call with this digest.
func (t *warrant) spend(call fingerprint, now time.Time) error {
	if subtle.ConstantTimeCompare(t.call[:], call[:]) != 1 {
		return errOtherCall
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.spent:
		return errSpent
	case now.After(t.expires):
		return errExpired
	}
	t.spent = true
	return nil
}

// approved is the rule that a warrant lifts for its call; nil lifts none.
func (t *warrant) approved() string {
	if t == nil {
		return ""
	}
	return t.rule
}

// A petition is one call, or other request, that a rule escalates.
type petition struct {
	what   string // in the question: the tool "x", or the method
	name   string // of the tool or method, for reports
	digest fingerprint
	args   []byte // raw; shown where a rule is about the call itself
	mute   string // why nobody is asked about such a request; "" where somebody may be
	// consider judges the request from the start, under a warrant or nil.
	consider func(ctx context.Context, t *warrant) (*judgement, error)
}

// An approvalQuestion is a question as it is put to a human.
type approvalQuestion struct {
	child    *Child
	what     string
	text     string
	proposal *proposal
	planner  planner
	checker  *validate.Checker // by whose policy it is asked
	key      fingerprint       // of the call and of all that the question says
}

// inquire makes the question for a judgement that escalates; why says that
// nobody may be asked, and the reason.
func (s *Session) inquire(p *petition, j *judgement) (q *approvalQuestion, why string) {
	child := j.gen.byName[j.child]
	switch share := child.Spec.Share; {
	case share != children.ShareSession:
		return nil, fmt.Sprintf(`the server %q is shared between sessions ("share": %q in hub.json), so nothing can be opened in it for one of them; give it "share": "session"`, j.child, share)
	case p.mute != "":
		return nil, p.mute
	}
	open := j.view.Snapshot.Paths()
	checker := j.gen.cfg.Checker
	plans := planner{
		fs: j.gen.cfg.FS, ceiling: j.view.Ceiling,
		wide:    func(dir string) bool { return checker.TooWide(dir, open) },
		useless: func(role validate.Role) string { return uselessFile(&child.Spec, role) },
	}
	proposal, why := plans.propose(j.verdict, p.args)
	if why != "" {
		return nil, why
	}
	text := inquiryText(j.child, p.what, p.name, proposal, s.consent.once)
	return &approvalQuestion{child: child, what: p.name, text: text, proposal: proposal, planner: plans, checker: checker, key: digestOf(p.digest[:], []byte(text))}, ""
}

// seekApproval is appeal for a request that is sent next: what was allowed is
// used up by it. The caller ends the warrant with the request.
func (s *Session) seekApproval(ctx context.Context, p *petition, j *judgement) (*judgement, error) {
	j, err := s.appeal(ctx, p, j)
	if err != nil {
		return nil, err
	}
	if err := j.redeem(p.digest); err != nil {
		j.refusal = err.Error()
	}
	return j, nil
}

// appeal asks a human about a request that a rule escalates. What comes back is
// as from consider: where it was allowed, a judgement made afresh after the
// answer, under its warrant; else one with the reason that it was not. The lease
// of j is given back: a person takes their time.
func (s *Session) appeal(ctx context.Context, p *petition, j *judgement) (*judgement, error) {
	for {
		q, why := s.inquire(p, j)
		if why == "" {
			why = s.consent.throttled(j.child, time.Now())
		}
		if why != "" {
			j.refusal = why
			return j, nil
		}
		j.lease.Release()
		s.clientOf(ctx).Yield()
		st, first, why := s.consent.join(q, p.name)
		switch {
		case why != "":
			j.refusal = why
			return j, nil
		case first:
			next, r, err := s.lead(ctx, p, j, q, st)
			if r == nil {
				if err != nil || next.verdict.Decision != validate.Escalate {
					return next, err
				}
				j = next
				continue
			}
			return s.answered(ctx, p, j, q, r)
		}
		r, err := s.consent.follow(ctx, st)
		if err != nil {
			return nil, err
		}
		if r != nil {
			return s.answered(ctx, p, j, q, r)
		}
		// Who asked has gone, and the question with it.
		if j, err = p.consider(ctx, nil); err != nil || j.verdict.Decision != validate.Escalate {
			return j, err
		}
	}
}

// whatWaits is what a client is told while a person is asked, or others are.
const whatWaits = "waiting for approval"

// lead asks for everybody who waits for st. Without a reply there is what the
// request is judged to be now, for the grants have changed while it waited for
// its turn, or an error.
func (s *Session) lead(ctx context.Context, p *petition, j *judgement, q *approvalQuestion, st *standing) (next *judgement, r *reply, err error) {
	defer func() { s.consent.finish(st, r) }()
	taken := s.consent.once || s.consent.tryTurn() // requests that stand alone belong to different people
	defer func() {
		if taken && !s.consent.once {
			s.consent.endTurn()
		}
	}()
	for fresh := taken; !fresh; fresh = taken {
		over := waitingFor(ctx, whatWaits)
		taken, err = s.consent.takeTurn(ctx)
		over()
		if err != nil {
			return nil, nil, err
		}
		if next, err = p.consider(ctx, nil); err != nil {
			return nil, nil, err
		}
		if now, why := s.inquire(p, next); next.verdict.Decision != validate.Escalate || why != "" || now.key != q.key || s.consent.throttled(j.child, time.Now()) != "" {
			return next, nil, nil
		}
		next.lease.Release()
	}
	asker := s.askerFor(ctx)
	defer waitingFor(ctx, whatWaits)()
	limit := s.hub.now().cfg.Approval.Timeout
	s.consent.begin(st, asker.who(), time.Now())
	s.log.Info().Str("child", j.child).Str("what", p.name).Str("asked", asker.who()).Strs("rules", q.proposal.rules).Msg("a person is asked to approve a call")
	until, cancel := context.WithTimeoutCause(ctx, limit, errUnanswered)
	defer cancel()
	s.recordQuestion(ctx, p, j, questionAsked, &reply{}, asker.who())
	answer := asker.ask(until, q)
	if ctx.Err() != nil {
		return nil, nil, context.Cause(ctx) // nobody waits for it: whatever came opens nothing
	}
	s.consent.note(j.child, &answer, time.Now())
	s.log.Info().Str("child", j.child).Str("what", p.name).Str("answer", answer.choice()).Str("why", answer.why).Msg("the question was answered")
	if answer.offer != nil {
		s.grant(q, &answer)
	}
	said := questionDeclined
	if answer.offer != nil {
		said = questionAllowed
	}
	s.recordQuestion(ctx, p, j, said, &answer, asker.who())
	return nil, &answer, nil
}

// grant opens what was allowed. Where something else stands there by now nothing
// is, and the reply has no offer any more.
func (s *Session) grant(q *approvalQuestion, r *reply) {
	grants := r.offer.grants
	for i := range grants {
		if g := &grants[i]; !g.unchanged(q.planner.fs) {
			r.offer, r.why = nil, fmt.Sprintf("it was allowed, but %s is not what it was when the question was asked", legible(clip(g.Path, 200)))
			return
		}
	}
	now := time.Now()
	r.warrant = &warrant{rules: q.proposal.rules, by: r.by}
	given := make([]*grant, 0, len(grants))
	for i := range grants {
		g := &grants[i]
		given = append(given, &grant{
			child: q.child.Spec.Name, revision: q.child.Spec.Revision, what: q.what, policy: q.checker,
			offer: *g, warrant: r.warrant, since: now, once: s.consent.once,
		})
	}
	r.version = s.consent.give(given)
	s.consent.prune(s.hub.now()) // hub.json may have been read anew since the question
}

// answered goes on with a request once its question has an answer.
func (s *Session) answered(ctx context.Context, p *petition, j *judgement, q *approvalQuestion, r *reply) (*judgement, error) {
	if r.offer == nil {
		j.refusal = r.why
		return j, nil
	}
	t := r.warrant
	if !s.consent.once { // each who waited has one of their own: it is good for one call
		t = &warrant{rules: q.proposal.rules, by: r.by}
	}
	t.call, t.rule = p.digest, q.proposal.rule
	t.expires = time.Now().Add(max(j.gen.startLimit(j.child), time.Minute))
	if err := s.awaitGranted(ctx, r.version, j.gen.cfg.Roots.Timeout); err != nil {
		return nil, err
	}
	next, err := p.consider(ctx, t)
	if err != nil {
		s.consent.over(t)
		return nil, err
	}
	next.warrant = t
	if next.verdict.Decision != validate.Allow {
		// What was allowed is not what the call would do now. Nothing stays open.
		s.consent.take(r.warrant)
		if next.verdict.Decision == validate.Escalate {
			next.refusal = "it was allowed, but where the call leads has changed since the question was asked"
		}
	}
	return next, nil
}

// redeem uses up the approval of a call that is about to be sent; nil where it
// needed none.
func (j *judgement) redeem(call fingerprint) error {
	if j.warrant == nil {
		return nil
	}
	return j.warrant.spend(call, time.Now())
}
