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

// This file lets a person answer what the hub asks on a terminal. What it hands
// out, questions with their ids and codes, is for a program that talks to
// somebody at a terminal: [Server.person] keeps out who cannot be that, as far
// as the kernel can tell.

// Approvals is what a hub has for a terminal; *[approval.Terminal] is one.
type Approvals interface {
	Pending() []approval.Pending
	Code(id string) (string, error)
	Answer(id, code, choice string) error
}

// An approvalAnswer is the body of POST /approvals/answer.
type approvalAnswer struct {
	ID       string `json:"id"`
	Code     string `json:"code"`
	Decision string `json:"decision"` // deny, or one of the question's choices
}

type issuedCode struct {
	Code string `json:"code"`
}

type pendingApprovals struct {
	Approvals []approval.Pending `json:"approvals"`
}

// person lets only those in who may be a person at a terminal.
func (s *Server) person(serve http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if s.cfg.Approvals == nil {
			answer(w, http.StatusNotImplemented, outcome{Error: "this hub asks nobody at a terminal"})
			return
		}
		want := caller.Want{Person: true}
		if s.cfg.Clients != nil {
			want.Clients = s.cfg.Clients()
		}
		want.Unknown = slices.ContainsFunc(want.Clients, func(c caller.Process) bool { return c.PID < 0 })
		s.admit(want, "a process may not approve calls", serve)(w, r)
	}
}

func (s *Server) listApprovals(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, pendingApprovals{s.cfg.Approvals.Pending()})
}

func (s *Server) approvalCode(w http.ResponseWriter, r *http.Request) {
	code, err := s.cfg.Approvals.Code(r.URL.Query().Get("id"))
	respond(w, issuedCode{code}, err)
}

func (s *Server) answerApproval(w http.ResponseWriter, r *http.Request) {
	var a approvalAnswer
	d := json.NewDecoder(r.Body)
	d.DisallowUnknownFields()
	if err := d.Decode(&a); err != nil {
		answer(w, http.StatusBadRequest, outcome{Error: "the body is no answer: " + err.Error()})
		return
	}
	respond(w, outcome{OK: true}, s.cfg.Approvals.Answer(a.ID, a.Code, a.Decision))
}

// PendingApprovals lists what waits for a terminal.
func (h Hub) PendingApprovals(ctx context.Context) ([]approval.Pending, error) {
	p, err := ask[pendingApprovals](ctx, h, answerTime, http.MethodGet, "/approvals", nil)
	return p.Approvals, err
}

// ApprovalCode has the hub make a code, which is for the terminal only.
func (h Hub) ApprovalCode(ctx context.Context, id string) (string, error) {
	c, err := ask[issuedCode](ctx, h, answerTime, http.MethodPost, "/approvals/code?id="+url.QueryEscape(id), nil)
	return c.Code, err
}

// AnswerApproval answers one question: with "deny", or with one of its choices and
// its code.
func (h Hub) AnswerApproval(ctx context.Context, id, code, choice string) error {
	body, err := json.Marshal(approvalAnswer{id, code, choice})
	if err != nil {
		return fmt.Errorf("the answer cannot be sent: %w", err)
	}
	_, err = ask[outcome](ctx, h, answerTime, http.MethodPost, "/approvals/answer", body)
	return err
}
