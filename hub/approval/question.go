package approval

import (
	"encoding/hex"
	"fmt"
	"sync/atomic"

	"mcphub/children/spec"
	"mcphub/internal/jsonrpc"
	"mcphub/validate"
	"mcphub/validate/access"
)

// A Question is what a person is asked about one request. Immutable, but for who has
// allowed it.
type Question struct {
	child    *spec.Spec
	name     string // of the tool or the method
	text     string
	proposal *proposal
	checker  *validate.Checker       // by whose policy it is asked
	key      Digest                  // of the request and of all that the question says
	allowed  *atomic.Pointer[string] // who was the first to say yes; of an empty one no one has
}

// claimBy reports whether by is the one whose yes counts: the first.
func (question *Question) claimBy(by string) bool {
	return question.allowed.CompareAndSwap(nil, &by) || *question.allowed.Load() == by
}

// digestAsked names what was asked and which answers are offered, for who shows it.
func (question *Question) digestAsked() string {
	parts := [][]byte{question.key[:]}
	for _, o := range question.proposal.offers {
		parts = append(parts, []byte(o.choice))
	}
	d := DigestOf(parts...)
	return hex.EncodeToString(d[:])
}

// makeQuestion makes the question for a request that was escalated. why reports
// that no one may be asked, and the reason.
func (q *Queue) makeQuestion(request *EscalatedRequest, judgement *Judgement) (question *Question, why string) {
	switch share := judgement.Child.Share; {
	case share != spec.ShareSession:
		return nil, fmt.Sprintf(`the server %q is shared between sessions ("share": %q in hub.json), so nothing can be opened in it for one of them; give it "share": "session"`, judgement.Child.Name, share)
	case request.Unaskable != "":
		return nil, request.Unaskable
	}
	open := judgement.RootsView.Snapshot.Paths()
	plans := grantPlanner{
		fs: q.fs, ceiling: judgement.RootsView.Ceiling,
		wide:    func(dir string) bool { return judgement.Checker.IsTooWide(dir, open) },
		useless: func(role access.Role) string { return uselessFile(judgement.Child, role) },
		held:    judgement.Child.Sandbox.Confines(),
	}
	proposal, why := plans.proposeGrants(judgement.Verdict, request.Args)
	if why != "" {
		return nil, why
	}
	text := questionText(judgement.Child.Name, request, proposal, q.perCall)
	return &Question{child: judgement.Child, name: request.Name, text: text, proposal: proposal, checker: judgement.Checker, key: DigestOf(request.Digest[:], []byte(text)), allowed: new(atomic.Pointer[string])}, ""
}

// The form of a question. The names of the choices are what a client shows.
const (
	choiceMember = "decision"
	choiceDeny   = "deny"
)

// Form returns the question as the params of elicitation/create
// (2025-06-18, 2025-11-25 and 2026-07-28 alike: a string with an enum,
// no default).
func (question *Question) Form() []byte {
	b := jsonrpc.AppendString([]byte(`{"message":`), question.text)
	b = append(b, `,"requestedSchema":{"type":"object","properties":{"`+choiceMember+
		`":{"type":"string","title":"Decision","description":"Deny the call, or allow what is described above","enum":["`+choiceDeny+`"`...)
	for _, o := range question.proposal.offers {
		b = jsonrpc.AppendString(append(b, ','), o.choice)
	}
	return append(b, `]}},"required":["`+choiceMember+`"]}}`...)
}

// Read reads the result of a client that was asked by the form. Only an accepted
// form that names an offer itself allows anything.
func (question *Question) Read(result []byte) Answer {
	chosen, why := readChoice(result, question.proposal.offers)
	return Answer{offer: chosen, why: why, closed: chosen == nil && why == whyClosed}
}

// readChoice reads the answer to a form; why says about everything but an offer
// what it was.
func readChoice(result []byte, offers []answerOffer) (chosen *answerOffer, why string) {
	member := func(raw []byte, wanted string) (value []byte, ok bool) {
		ok = true
		err := jsonrpc.Members(raw, func(name string, v []byte) bool {
			if name == wanted {
				ok = ok && value == nil
				value = v
			}
			return true
		})
		return value, ok && err == nil
	}
	raw, sound := member(result, "action")
	action, _ := jsonrpc.String(raw)
	switch {
	case !sound:
		return nil, "the answer could not be read"
	case action == "decline":
		return nil, WhyDeclined
	case action == "cancel":
		return nil, whyClosed
	case action != "accept":
		return nil, "the answer could not be read"
	}
	content, sound := member(result, "content")
	if !sound || !jsonrpc.IsObject(content) {
		return nil, whyNoChoice
	}
	raw, sound = member(content, choiceMember)
	choice, ok := jsonrpc.String(raw)
	if !sound || !ok {
		return nil, whyNoChoice
	}
	return chooseOffer(choice, offers)
}

// chooseOffer finds the offer that a choice names.
func chooseOffer(choice string, offers []answerOffer) (chosen *answerOffer, why string) {
	if choice == choiceDeny {
		return nil, WhyDeclined
	}
	for i := range offers {
		if offers[i].choice == choice {
			return &offers[i], ""
		}
	}
	return nil, whyNoChoice
}
