package admin

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"

	"mcphub/hub/approval"
	"mcphub/internal/caller"
)

// This file lets a person answer what the hub asks at a terminal, or on the console
// that they have begun there. The one who may look at the hub sees what waits. The ids
// and codes that an answer takes are for a program that talks to someone at a
// terminal: [Server.onlyPersons] keeps out who cannot be that, as far as the kernel
// can tell.

// Approvals is what a hub has for a person; *[approval.Terminal] is one.
type Approvals interface {
	Pending() []approval.Pending
	Code(id string) (string, error)
	Answer(r approval.PendingAnswer) error
}

type issuedCode struct {
	Code string `json:"code"`
}

// Waiting are the questions of a hub that wait for a person.
type Waiting struct {
	Approvals []approval.Pending `json:"approvals"`
	// Refused reports why the caller may look only; "": it may answer. If it may not, the
	// questions have no ID.
	Refused string `json:"refused,omitempty"`
}

// onlyIfAsked serves what there is only if a person is asked.
func (s *Server) onlyIfAsked(serve http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if s.cfg.Approvals == nil {
			writeAnswer(w, http.StatusNotImplemented, outcome{Error: "this hub asks nobody at a terminal"})
			return
		}
		serve(w, r)
	}
}

// aPerson returns what a caller must be to answer.
func (s *Server) aPerson() caller.Want {
	want := caller.Want{Person: true}
	if s.cfg.Clients != nil {
		want.Clients = s.cfg.Clients()
	}
	want.Unknown = slices.ContainsFunc(want.Clients, func(c caller.Process) bool { return c.PID < 0 })
	return want
}

// onlyPersons lets only those in who may be a person at a terminal.
func (s *Server) onlyPersons(serve http.HandlerFunc) http.HandlerFunc {
	return s.onlyIfAsked(func(w http.ResponseWriter, r *http.Request) {
		s.admitCallers(s.aPerson(), "a process may not approve calls", serve)(w, r)
	})
}

func (s *Server) listApprovals(w http.ResponseWriter, r *http.Request) {
	list := Waiting{Approvals: s.cfg.Approvals.Pending()}
	if err := s.refusalError(r, s.aPerson()); err != nil {
		list.Refused = err.Error()
		for i := range list.Approvals {
			list.Approvals[i].ID = ""
		}
	}
	writeAnswer(w, http.StatusOK, list)
}

func (s *Server) approvalCode(w http.ResponseWriter, r *http.Request) {
	code, err := s.cfg.Approvals.Code(r.URL.Query().Get("id"))
	writeResponse(w, issuedCode{code}, err)
}

func (s *Server) answerApproval(w http.ResponseWriter, r *http.Request) {
	var a approval.PendingAnswer
	d := json.NewDecoder(r.Body)
	d.DisallowUnknownFields()
	if err := d.Decode(&a); err != nil {
		writeAnswer(w, http.StatusBadRequest, outcome{Error: "the body is no answer: " + err.Error()})
		return
	}
	writeResponse(w, outcome{OK: true}, s.cfg.Approvals.Answer(a))
}

// PendingApprovals lists what waits for a person.
func (h Hub) PendingApprovals(ctx context.Context) (Waiting, error) {
	return askHub[Waiting](ctx, h, answerTime, http.MethodGet, "/approvals", nil)
}

// ApprovalCode has the hub make a code, which is for the terminal only.
func (h Hub) ApprovalCode(ctx context.Context, id string) (string, error) {
	c, err := askHub[issuedCode](ctx, h, answerTime, http.MethodPost, "/approvals/code?id="+url.QueryEscape(id), nil)
	return c.Code, err
}

// AnswerApproval answers one question. The errors of [approval.Terminal.Answer] come as
// errors of the same text.
func (h Hub) AnswerApproval(ctx context.Context, r approval.PendingAnswer) error {
	body, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("the answer cannot be sent: %w", err)
	}
	_, err = askHub[outcome](ctx, h, answerTime, http.MethodPost, "/approvals/answer", body)
	return err
}
