package approval

import (
	"slices"
	"time"

	"mcphub/internal/printable"
	"mcphub/rootsmgr/platform"
	"mcphub/validate/policy"
)

// nameOfGrants is how a granted directory is called in reports.
const nameOfGrants = "escalation-approved"

// A GrantReport is one grant as get-roots, explain and status show it.
type GrantReport struct {
	URI      string    `json:"uri"`
	Name     string    `json:"name"`   // always escalation-approved
	Server   string    `json:"server"` // the only one that it is for
	Roles    []string  `json:"roles"`
	File     bool      `json:"file"`     // that path alone; else the directory and all below it
	Served   bool      `json:"served"`   // the server is told about it as a root
	Lifetime string    `json:"lifetime"` // session or call
	Since    time.Time `json:"since"`
	By       string    `json:"approvedBy"` // client, terminal or console
	Rules    []string  `json:"rules"`      // that asked
}

// A QuestionReport is one question that a person is asked now.
type QuestionReport struct {
	Server string    `json:"server"`
	What   string    `json:"what"`  // the tool, or the method
	Asked  string    `json:"asked"` // client, terminal, console; several with commas between
	Since  time.Time `json:"since"`
	Calls  int       `json:"calls"` // that wait for its answer
}

// A Report is what a person has allowed in a session, and is being asked.
type Report struct {
	Grants    []GrantReport    `json:"grants"`
	Questions []QuestionReport `json:"questions"`
}

// Report describes the whole queue.
func (q *Queue) Report() Report {
	grants, questions := []GrantReport{}, []QuestionReport{}
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, g := range q.grants {
		r := GrantReport{
			URI: platform.Host().FormatURI(g.offer.Path), Name: nameOfGrants, Server: g.child, Roles: []string{}, File: g.offer.File, Served: g.offer.isServed(),
			Lifetime: "session", Since: g.since, By: g.approval.by, Rules: append([]string{}, g.approval.rules...),
		}
		if g.perCall {
			r.Lifetime = "call"
		}
		for _, role := range g.offer.Roles.List() {
			r.Roles = append(r.Roles, role.String())
		}
		grants = append(grants, r)
	}
	for _, queued := range q.waiting {
		if !queued.since.IsZero() {
			questions = append(questions, QuestionReport{queued.child, printable.Escape(queued.name, 100), queued.by, queued.since, queued.requests})
		}
	}
	slices.SortFunc(questions, func(a, b QuestionReport) int { return a.Since.Compare(b.Since) })
	return Report{grants, questions}
}

// An Explanation is what a person has to do with a request that is explained.
type Explanation struct {
	Question string        `json:"question,omitempty"` // what a person would be asked before the call is made
	Unasked  string        `json:"unasked,omitempty"`  // why no one could be asked, so that the call would be denied
	Grants   []GrantReport `json:"grants,omitempty"`   // of the session, for this server
}

// Explain makes the question by the code that asks it, and asks no one.
func (q *Queue) Explain(request *EscalatedRequest, judgement *Judgement) (e Explanation) {
	for _, g := range q.Report().Grants {
		if g.Server == judgement.Child.Name {
			e.Grants = append(e.Grants, g)
		}
	}
	if judgement.Verdict.Decision != policy.Escalate {
		return e
	}
	question, why := q.makeQuestion(request, judgement)
	if e.Unasked = why; why == "" {
		e.Question = question.text
	}
	return e
}
