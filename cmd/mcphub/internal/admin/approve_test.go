package admin

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"mcphub/hub/approval"
	"mcphub/internal/caller"
)

// counter is the Approvals of a test.
type counter struct {
	asked []string
	err   error
}

func (c *counter) Pending() []approval.Pending {
	c.asked = append(c.asked, "list")
	return []approval.Pending{{ID: "the id", Text: "the text", Until: time.Now().Add(time.Minute)}}
}

func (c *counter) Code(id string) (string, error) {
	c.asked = append(c.asked, "code "+id)
	return "THECODE", c.err
}

func (c *counter) Answer(r approval.PendingAnswer) error {
	c.asked = append(c.asked, strings.Join([]string{r.Decision, r.ID, r.Digest, r.From, r.Code}, " "))
	return c.err
}

// approving serves a hub that admits whom who does.
func approving(t *testing.T, a Approvals, who func(caller.Conn, caller.Want) error) Hub {
	t.Helper()
	dir := folder(t)
	s := New(Config{Folders: []string{dir}, Log: zerolog.Nop(), Status: aHub, Approvals: a})
	s.who = who
	serve(t, s)
	return await(t, 1, dir)[0]
}

func anybody(caller.Conn, caller.Want) error { return nil }

func TestApprovals(t *testing.T) {
	t.Parallel()
	c := &counter{}
	h := approving(t, c, anybody)
	list, err := h.PendingApprovals(t.Context())
	if got := list.Approvals; err != nil || len(got) != 1 || got[0].ID != "the id" || got[0].Text != "the text" || list.Refused != "" {
		t.Errorf("%+v, %v", list, err)
	}
	if code, err := h.ApprovalCode(t.Context(), "a&id=b"); err != nil || code != "THECODE" {
		t.Errorf("%q, %v", code, err)
	}
	if err := h.AnswerApproval(t.Context(), approval.PendingAnswer{ID: "i", Digest: "d", From: "terminal", Code: "c", Decision: "file"}); err != nil {
		t.Error(err)
	}
	if err := h.AnswerApproval(t.Context(), approval.PendingAnswer{ID: "i", Digest: "d", From: "console", Decision: "deny"}); err != nil {
		t.Error(err)
	}
	if got := strings.Join(c.asked, "; "); got != "list; code a&id=b; file i d terminal c; deny i d console " {
		t.Errorf("asked %q", got)
	}
	for _, want := range []error{approval.ErrNoQuestion, approval.ErrWrongCode, approval.ErrNoChoice, approval.ErrTooMany, approval.ErrTooManyCodes, approval.ErrAnswered, approval.ErrQuestionChanged, approval.ErrNotAsked} {
		c.err = want
		if err := h.AnswerApproval(t.Context(), approval.PendingAnswer{ID: "i", Digest: "d", From: "terminal", Code: "c", Decision: "file"}); err == nil || err.Error() != want.Error() {
			t.Errorf("%v came as %v", want, err)
		}
	}
	// The status tells neither an id nor a code.
	r, err := h.client.Get("http://mcphub/status")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	if raw, err := io.ReadAll(r.Body); err != nil || bytes.Contains(raw, []byte("the id")) || bytes.Contains(raw, []byte("THECODE")) {
		t.Errorf("%s, %v", raw, err)
	}
}

func TestBadApprovals(t *testing.T) {
	t.Parallel()
	c := &counter{}
	h := approving(t, c, anybody)
	for _, bad := range []struct {
		method, path, body string
		status             int
	}{
		{"POST", "/approvals", "", 405},
		{"GET", "/approvals/answer", "", 405},
		{"GET", "/approvals/code?id=x", "", 405},
		{"POST", "/approvals/answer", "", 400},
		{"POST", "/approvals/answer", `{"id":"i","code":"c","decision":true}`, 400},
		{"POST", "/approvals/answer", `{"id":"i","code":"c","decision":"file","all":true}`, 400},
		{"POST", "/approvals/answer", `{"id":"` + strings.Repeat("x", bodySize) + `"}`, 400},
	} {
		req, err := http.NewRequestWithContext(t.Context(), bad.method, "http://mcphub"+bad.path, strings.NewReader(bad.body))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := h.client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != bad.status {
			t.Errorf("%s %s %.60s: %d, want %d", bad.method, bad.path, bad.body, resp.StatusCode, bad.status)
		}
	}
	if len(c.asked) != 0 {
		t.Errorf("asked %q", c.asked)
	}
}

// Who may look at the hub and is no person at a terminal, such as an agent's shell, sees what waits, and
// gets neither an id nor a code, and answers nothing.
func TestWhoMayLookAnswersNothing(t *testing.T) {
	t.Parallel()
	c := &counter{}
	h := approving(t, c, func(_ caller.Conn, want caller.Want) error {
		if want.Person {
			return errors.New("no person")
		}
		return nil
	})
	list, err := h.PendingApprovals(t.Context())
	if got := list.Approvals; err != nil || len(got) != 1 || got[0].ID != "" || got[0].Text != "the text" || list.Refused != "no person" {
		t.Errorf("%+v, %v", list, err)
	}
	if code, err := h.ApprovalCode(t.Context(), "the id"); err == nil || code != "" {
		t.Error("it gets a code")
	}
	for _, decision := range []string{"file", "deny"} {
		if err := h.AnswerApproval(t.Context(), approval.PendingAnswer{ID: "the id", From: "console", Decision: decision}); err == nil || err.Error() != "no person" {
			t.Errorf("%s: %v", decision, err)
		}
	}
	if got := strings.Join(c.asked, "; "); got != "list" {
		t.Errorf("asked %q", got)
	}
}

// Who may not approve sees none of it, and a hub without approvals says so.
func TestStrangersApproveNothing(t *testing.T) {
	t.Parallel()
	c := &counter{}
	for name, h := range map[string]Hub{
		"cannot be told": approving(t, c, func(caller.Conn, caller.Want) error { return errors.New("no answer") }),
		"no approvals":   approving(t, nil, anybody),
	} {
		if _, err := h.PendingApprovals(t.Context()); err == nil {
			t.Errorf("%s: it lists", name)
		}
		if code, err := h.ApprovalCode(t.Context(), "i"); err == nil || code != "" {
			t.Errorf("%s: a code", name)
		}
		if err := h.AnswerApproval(t.Context(), approval.PendingAnswer{ID: "i", Digest: "d", From: "terminal", Code: "c", Decision: "file"}); err == nil {
			t.Errorf("%s: an answer", name)
		}
	}
	if runtime.GOOS == "linux" {
		// The hub itself, which is this process, is not a person either.
		h := approving(t, c, caller.Peer)
		if err := h.AnswerApproval(t.Context(), approval.PendingAnswer{ID: "i", Digest: "d", From: "terminal", Code: "c", Decision: "file"}); err == nil {
			t.Error("the hub has approved its own call")
		}
	}
	if len(c.asked) != 0 {
		t.Errorf("asked %q", c.asked)
	}
}
