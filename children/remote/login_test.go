package remote_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"mcphub/children/link"
	"mcphub/children/remote"
	"mcphub/e2e/childtest"
	"mcphub/e2e/oauthtest"
)

// login has tokens in order, and goes to the next if one is refused.
type login struct {
	mu     sync.Mutex
	tokens []string
	advice string
	unsent string // why no request is sent
	status []int
}

func (l *login) Token(context.Context) (token, advice string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.tokens[0], l.unsent
}

func (l *login) Refused(_ context.Context, used string, status int, _ http.Header) (token, advice string, logIn bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.status = append(l.status, status)
	if used == l.tokens[0] && len(l.tokens) > 1 {
		l.tokens = l.tokens[1:]
	}
	if l.tokens[0] == used {
		return "", l.advice, true
	}
	return l.tokens[0], "", false
}

// guarded answers the token "good" only, and tells what it has seen.
func guarded(t *testing.T) (address string, seen func() []string) {
	t.Helper()
	var mu sync.Mutex
	var tokens []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token := r.Header.Get("Authorization")
		mu.Lock()
		tokens = append(tokens, token)
		mu.Unlock()
		if token != "Bearer good" {
			http.Error(w, "who are you", http.StatusUnauthorized)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"jsonrpc":"2.0","id":1,"result":{}}`))
	}))
	t.Cleanup(s.Close)
	return s.URL, func() []string { mu.Lock(); defer mu.Unlock(); return tokens }
}

func TestLogin(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		tokens []string
		sent   string
		want   string // of the error; "": none
	}{
		{"at once", []string{"good"}, "Bearer good", ""},
		{"renewed", []string{"old", "good"}, "Bearer old,Bearer good", ""},
		{"at hand, and renewed", []string{"", "old", "good"}, ",Bearer old,Bearer good", ""},
		{"none", []string{""}, "", "401 (Unauthorized); run: this"},
		{"no end of tokens", []string{"1", "2", "3", "4", "good"}, "Bearer 1,Bearer 2,Bearer 3", "401 (Unauthorized); it refuses the token of the login, and new ones too"},
	} {
		t.Run(test.name, func(t *testing.T) {
			at, seen := guarded(t)
			l, _, stop := open(t, remote.Server{URL: at, Transport: remote.HTTP, Login: &login{tokens: test.tokens, advice: "run: this"}})
			_, err := l.Call(t.Context(), "tools/list", []byte(`{"a":1}`))
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("%v, want %q", err, test.want)
			}
			if sent := strings.Join(seen(), ","); sent != test.sent {
				t.Errorf("sent %q, want %q", sent, test.sent)
			}
			_ = stop()
		})
	}
}

// TestNoRequestWithoutToken: if there must be a token and is none, the server is not asked, and the error has the reason. Control: the
// same request, once there is one.
func TestNoRequestWithoutToken(t *testing.T) {
	t.Parallel()
	at, seen := guarded(t)
	without := &login{tokens: []string{""}, unsent: "there is no token; run: this"}
	l, _, _ := open(t, remote.Server{URL: at, Transport: remote.HTTP, Login: without})
	_, err := l.Call(t.Context(), "tools/list", []byte(`{"a":1}`))
	if err == nil || !strings.HasSuffix(err.Error(), "was sent no request: there is no token; run: this") || link.AsksForLogin(err) {
		t.Error(err)
	}
	if err := l.Notify(t.Context(), "notifications/x"); err == nil || !strings.Contains(err.Error(), "was sent no request") {
		t.Error(err)
	}
	if len(seen()) != 0 || len(without.status) != 0 {
		t.Errorf("the server was asked: %q, %d", seen(), without.status)
	}
	without.mu.Lock()
	without.tokens, without.unsent = []string{"good"}, ""
	without.mu.Unlock()
	if err := l.Notify(t.Context(), "notifications/x"); err != nil || len(seen()) != 1 {
		t.Errorf("the control: %v, %q", err, seen())
	}
}

// An absence is a login whose token is missing once after each call of Store(true).
type absence struct{ atomic.Bool }

func (l *absence) Token(context.Context) (token, advice string) {
	if l.Swap(false) {
		return "", "there is no token"
	}
	return "good", ""
}

func (*absence) Refused(context.Context, string, int, http.Header) (token, advice string, logIn bool) {
	return "", "", false
}

// TestOwnStreamWaitsForToken: the stream of a server is opened again once there is a token, because its caller may come back.
func TestOwnStreamWaitsForToken(t *testing.T) {
	t.Parallel()
	s, without := childtest.NewServer(t), &absence{}
	var opened atomic.Int32
	s.Get = func(w http.ResponseWriter, r *http.Request) {
		n := opened.Add(1)
		if n == 1 {
			without.Store(true)
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = fmt.Fprintf(w, "retry: 5\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"n%d\"}\n\n", n)
		_ = http.NewResponseController(w).Flush()
		if n > 1 {
			<-r.Context().Done()
		}
	}
	l, h, stop := open(t, remote.Server{URL: s.URL, Login: without})
	greet(t, l)
	for _, want := range []string{"n1", "n2"} {
		if got := <-h.note; got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if without.Load() {
		t.Error("the control: no request lacked a token")
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

// Without a login nothing is added, and nothing is asked.
func TestNoLogin(t *testing.T) {
	t.Parallel()
	s := oauthtest.New(t)
	l, _, _ := open(t, remote.Server{URL: s.Resource, Transport: remote.HTTP})
	if _, err := l.Call(t.Context(), "tools/list"); err == nil || !strings.Contains(err.Error(), `check "headers"`) {
		t.Error(err)
	}
}
