package call_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mcphub/children/link"
	"mcphub/e2e/childtest"
	"mcphub/hub/approval"
	"mcphub/hub/configuration"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/principal"
	"mcphub/validate/policy"
)

// What a person answers.
const (
	yes = `{"action":"accept","content":{"decision":"file"}}`
	no  = `{"action":"accept","content":{"decision":"deny"}}`
)

// asking is a stage in which a person is asked about each path outside the roots.
func asking(t *testing.T, test func(s *stage), change ...func(*staging)) {
	t.Helper()
	t.Parallel()
	with := oneChild(childtest.Script{Library: true})
	with.rules = []policy.Rule{{Name: "ask", Then: policy.Escalate, Paths: &policy.PathRule{Outside: true}}}
	for _, f := range change {
		f(&with)
	}
	onStage(t, with, func(s *stage) {
		s.client.form = true
		test(s)
	})
}

// answering has the person of the stage answer.
func (s *stage) answering(answer string) {
	s.client.messenger.answers = func(string, string) string { return answer }
}

// Only what a person has allowed is sent, and the record has their answer. Their yes is good for one path, and the
// next call about it is not asked about.
func TestOnlyWhatWasAllowedIsSent(t *testing.T) {
	for name, tc := range map[string]struct {
		answer, want string
		sent         int
		recorded     []string
	}{
		"yes":      {yes, "a.txt", 1, []string{"kid echo asked by client", "kid echo allowed by client nobody", "kid echo allow by client nobody ok"}},
		"no":       {no, "the person said no", 0, []string{"kid echo asked by client", "kid echo declined the person said no by client nobody", "kid echo escalate rule-escalate"}},
		"declined": {`{"action":"decline"}`, "the person said no", 0, nil},
		"no form":  {`{"action":"accept"}`, "without one of the answers", 0, nil},
		"closed":   {`{"action":"cancel"}`, "closed the question", 0, nil},
		"failed":   {"!broken", "the client did not ask: broken", 0, nil},
		"never":    {"", "nobody has answered in time", 0, nil},
	} {
		t.Run(name, func(t *testing.T) {
			asking(t, func(s *stage) {
				s.answering(tc.answer)
				call := echoParams(readArgs(filepath.Join(s.outside, "a.txt")))
				got := s.callWaiting(call)
				s.wantParts(got, tc.want)
				if denied := strings.Contains(got, `"isError":true`); denied != (tc.sent == 0) {
					t.Errorf("denied %t: %s", denied, got)
				}
				s.wantReached("tools/call", tc.sent)
				if got := len(s.client.messenger.questions()); got != 1 {
					t.Errorf("%d questions", got)
				}
				if s.client.yielded.Load() == 0 {
					t.Error("other requests wait for the child while a person is asked")
				}
				if tc.recorded != nil {
					s.wantRecorded(tc.recorded...)
				}
				s.wantReleased()
			}, func(with *staging) { with.recorded = true })
		})
	}
}

// What a person allowed is not sent if it takes too long until it could be: the call is allowed by the rules then, and
// refused all the same.
func TestAnApprovalThatCameTooLongAgo(t *testing.T) {
	asking(t, func(s *stage) {
		s.Principal = principal.Principal{Name: "anna"}
		s.answering(yes)
		late := false
		s.client.messenger.answers = func(string, string) string { late = true; return yes }
		s.instances.tried = func() {
			if late {
				time.Sleep(time.Hour)
			}
		}
		s.wantParts(s.callWaiting(echoParams(readArgs(filepath.Join(s.outside, "a.txt")))), "the approval came too long ago", `"isError":true`)
		s.wantReached("tools/call", 0)
		s.wantRecorded("kid echo asked by client", "kid echo allowed by client anna", "kid echo deny approval")
		s.wantReleased()
	}, func(with *staging) { with.recorded = true })
}

// An approval is of what is sent next. A call that its server refuses until a person has logged in is asked about again.
func TestAnApprovalIsNotKeptOverALogin(t *testing.T) {
	asking(t, func(s *stage) {
		s.Logins.Start(s.Context())
		defer s.Logins.Stop()
		s.client.url = true
		s.children.refuse = func(string) error {
			s.children.refuse = nil
			return &link.StatusError{LogIn: true}
		}
		answers := []string{yesCall, `{"action":"accept"}`, no} // to the approval, the login and the second approval
		s.client.messenger.answers = func(string, string) (answer string) {
			answer, answers = answers[0], answers[1:]
			return answer
		}
		s.wantParts(s.callWaiting(echoParams(`{}`)), "the person said no")
		s.wantReached("tools/call", 1)
		s.wantReleased()
	}, func(with *staging) {
		with.rules = []policy.Rule{{Name: "ask", Then: policy.Escalate, Tools: []string{"echo"}}}
		with.options = func(set *configuration.Settings) {
			set.StartLogin = func(_ context.Context, _ string, _ principal.Principal, page func(address, code string) error) error {
				return page("https://login.example/", "")
			}
		}
	})
}

// A client that shows no form is not asked.
func TestWhoCannotBeAsked(t *testing.T) {
	asking(t, func(s *stage) {
		s.client.form = false
		s.answering(yes)
		s.wantParts(s.callWaiting(echoParams(readArgs(filepath.Join(s.outside, "a.txt")))), "the client cannot ask")
		if got := s.client.messenger.questions(); len(got) != 0 {
			t.Errorf("it was asked %q", got)
		}
		s.wantReached("tools/call", 0)
	})
}

// A person at a terminal is asked if hub.json says so, and sees which session asks.
func TestTheTerminalIsAsked(t *testing.T) {
	asking(t, func(s *stage) {
		s.Terminal = &approval.Terminal{}
		answer := make(chan string)
		go func() { answer <- s.callWaiting(echoParams(readArgs(filepath.Join(s.outside, "a.txt")))) }()
		time.Sleep(time.Second)
		all := s.Terminal.Pending()
		if len(all) != 1 || all[0].Session != s.ID[:8] || all[0].Client != "test 1" {
			t.Fatalf("%+v", all)
		}
		if err := s.Terminal.Answer(approval.PendingAnswer{ID: all[0].ID, Digest: all[0].Digest, From: approval.AskedTerminal, Decision: "deny"}); err != nil {
			t.Fatal(err)
		}
		s.wantParts(<-answer, "the person said no")
		s.wantReached("tools/call", 0)
		s.wantRecorded("kid echo asked by terminal", "kid echo declined the person said no by terminal ACCOUNT", "kid echo escalate rule-escalate")
		s.wantReleased()
	}, func(with *staging) {
		with.recorded = true
		with.options = func(set *configuration.Settings) { set.Approval.From = &approval.Channels{Terminal: true} }
	})
}

// No person is asked about a completion or a notification, and neither is sent. A person is asked about a prompt, and what
// they said no to is not sent.
func TestNoPersonIsAskedAboutACompletionOrANotification(t *testing.T) {
	asking(t, func(s *stage) {
		s.answering(no)
		outside := filepath.Join(s.outside, "a.txt")
		ref := `{"ref":{"type":"ref/prompt","name":"kid__greet"},"argument":{"name":"path","value":"` + outside + `"}}`
		s.wantParts(answerText(s.ServeCompletion(s.Context(), request(t, "completion/complete", ref))), "nobody is asked while something is typed")
		if got := s.client.messenger.questions(); len(got) != 0 {
			t.Errorf("asked %q", got)
		}
		s.wantParts(answerText(s.ServePrompt(s.Context(), request(t, "prompts/get", `{"name":"kid__greet","arguments":`+readArgs(outside)+`}`))), "the person said no")
		if got := s.client.messenger.questions(); len(got) != 1 {
			t.Errorf("asked %q", got)
		}
		s.wantReached("completion/complete", 0)
		s.wantReached("prompts/get", 0)
		s.wantReleased()
	})
}

// A resource is asked about likewise, by what it is. It is read once a person has allowed that.
func TestAResourceIsAskedAbout(t *testing.T) {
	asking(t, func(s *stage) {
		read := func() string {
			return answerText(s.ServeResource(s.Context(), request(t, "resources/read", `{"uri":"file://`+filepath.Join(s.outside, "a.txt")+`"}`)))
		}
		s.answering(no)
		s.wantParts(read(), "the person said no")
		s.wantReached("resources/read", 0)
		if got := s.client.messenger.questions(); len(got) != 1 || !strings.Contains(got[0], `a request \"resources/read\"`) {
			t.Errorf("asked %q", got)
		}
		s.answering(yes)
		s.wantParts(read(), "!denied")
		s.wantReached("resources/read", 1)
		s.wantReleased()
	})
}

// What a person is asked about is what is sent: the same path under another name of a member is another call.
func TestTheDigestIsOfTheWholeCall(t *testing.T) {
	asking(t, func(s *stage) {
		s.answering(no)
		for _, args := range []string{readArgs(filepath.Join(s.outside, "a.txt")), writeArgs(filepath.Join(s.outside, "a.txt"))} {
			s.callWaiting(echoParams(args))
		}
		if got := s.client.messenger.questions(); len(got) != 2 || strings.EqualFold(got[0], got[1]) {
			t.Errorf("%q", got)
		}
		if answer := jsonrpc.Answer(s.ServeTool(s.Context(), request(t, "tools/call", echoParams(`{}`)))); answer.Error != nil {
			t.Error(answerText(answer))
		}
	})
}
