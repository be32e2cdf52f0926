package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"

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
		want := caller.Want{Person: true, Clients: []caller.Process{{PID: s.cfg.Client}}, Unknown: s.cfg.Client < 0}
		s.admit(want, "a process may not approve calls", serve)(w, r)
	}
}

func (s *Server) listApprovals(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, pendingApprovals{s.cfg.Approvals.Pending()})
}

func (s *Server) approvalCode(w http.ResponseWriter, r *http.Request) {
	code, err := s.cfg.Approvals.Code(r.URL.Query().Get("id"))
	if err != nil {
		answer(w, refusedStatus(err), outcome{Error: err.Error()})
		return
	}
	answer(w, http.StatusOK, issuedCode{code})
}

func (s *Server) answerApproval(w http.ResponseWriter, r *http.Request) {
	var a approvalAnswer
	d := json.NewDecoder(r.Body)
	d.DisallowUnknownFields()
	if err := d.Decode(&a); err != nil {
		answer(w, http.StatusBadRequest, outcome{Error: "the body is no answer: " + err.Error()})
		return
	}
	if err := s.cfg.Approvals.Answer(a.ID, a.Code, a.Decision); err != nil {
		answer(w, refusedStatus(err), outcome{Error: err.Error()})
		return
	}
	answer(w, http.StatusOK, outcome{OK: true})
}

func refusedStatus(err error) int {
	switch {
	case errors.Is(err, approval.ErrNoQuestion):
		return http.StatusNotFound
	case errors.Is(err, approval.ErrTooManyAsks):
		return http.StatusTooManyRequests
	}
	return http.StatusUnprocessableEntity
}

// PendingApprovals lists what waits for a terminal.
func (h Hub) PendingApprovals(ctx context.Context) ([]approval.Pending, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	var p pendingApprovals
	err := h.do(ctx, http.MethodGet, "/approvals", nil, &p)
	return p.Approvals, err
}

// ApprovalCode has the hub make a code, which is for the terminal only.
func (h Hub) ApprovalCode(ctx context.Context, id string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	var c issuedCode
	err := h.do(ctx, http.MethodPost, "/approvals/code?id="+url.QueryEscape(id), nil, &c)
	return c.Code, err
}

// AnswerApproval answers one question: with "deny", or with one of its choices and
// its code.
func (h Hub) AnswerApproval(ctx context.Context, id, code, choice string) error {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	body, err := json.Marshal(approvalAnswer{id, code, choice})
	if err != nil {
		return fmt.Errorf("the answer cannot be sent: %w", err)
	}
	return h.do(ctx, http.MethodPost, "/approvals/answer", body, &outcome{})
}
