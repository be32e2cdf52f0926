package logins_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"mcphub/cmd/mcphub/internal/oauth"
	"mcphub/cmd/mcphub/internal/oauth/logins"
	"mcphub/cmd/mcphub/internal/secrets"
	"mcphub/e2e/oauthtest"
	"mcphub/e2e/seeds"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv("LOGINS_TEST_RENEWER"); dir != "" {
		renewer(dir)
	}
	if web, ok := http.DefaultTransport.(*http.Transport); ok {
		web.DisableKeepAlives = true // none of the tests' own stays behind
	}
	goleak.VerifyTestMain(m)
}

func store(dir string) *logins.Store {
	return logins.New(secrets.New(secrets.Options{FileOnly: true, Dir: dir}), filepath.Join(dir, "logins"))
}

// logIn makes a login and keeps it.
func logIn(t testing.TB, st *logins.Store, s *oauthtest.Server, principal string) *logins.Login {
	t.Helper()
	c, err := oauth.New(oauth.Settings{Server: s.Resource, Issuer: s.Issuer})
	if err != nil {
		t.Fatal(err)
	}
	p, err := c.Discover(t.Context(), oauth.Challenge{Bearer: true})
	if err != nil {
		t.Fatal(err)
	}
	g, err := c.Browser(t.Context(), p, oauth.Request{}, func(at string) error { return oauthtest.Visit(t.Context(), at) })
	if err != nil {
		t.Fatal(err)
	}
	l := &logins.Login{TokenSet: *g, Server: s.Resource, Principal: principal, Made: time.Now().UTC()}
	if err := st.Keep(t.Context(), l); err != nil {
		t.Fatal(err)
	}
	return l
}

func source(t testing.TB, st *logins.Store, s *oauthtest.Server, o logins.Options) *logins.Source {
	t.Helper()
	o.Settings.Server, o.Settings.Name, o.Settings.Issuer = s.Resource, "protected", s.Issuer
	src, err := st.Source(o)
	if err != nil {
		t.Fatal(err)
	}
	return src
}

// call asks the server, as a connection does, and returns the status and the advice.
func call(ctx context.Context, src *logins.Source, to string) (status int, advice string, err error) {
	token, advice := src.Token(ctx)
	if advice != "" {
		return 0, advice, nil
	}
	for range 3 {
		req, e := http.NewRequestWithContext(ctx, http.MethodPost, to, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call"}`))
		if e != nil {
			return 0, "", e
		}
		if token != "" {
			req.Header.Set("Authorization", "Bearer "+token)
		}
		resp, e := http.DefaultClient.Do(req)
		if e != nil {
			return 0, "", e
		}
		_ = resp.Body.Close()
		status = resp.StatusCode
		if status != http.StatusUnauthorized && status != http.StatusForbidden {
			return status, "", nil
		}
		if token, advice, _ = src.Refused(ctx, token, status, resp.Header); token == "" {
			return status, advice, nil
		}
	}
	return status, "", nil
}

func expect(t *testing.T, src *logins.Source, s *oauthtest.Server, status int, advice string) {
	t.Helper()
	got, said, err := call(t.Context(), src, s.Resource)
	if err != nil || got != status || advice == "" && said != "" || !strings.Contains(said, advice) || strings.Contains(said, oauthtest.Canary) {
		t.Errorf("status %d, %q, %v; want %d, %q", got, said, err, status, advice)
	}
}

func TestSource(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, st := oauthtest.New(t), store(dir)
	src := source(t, st, s, logins.Options{})
	expect(t, src, s, http.StatusUnauthorized, "run: mcphub auth login protected")
	logIn(t, st, s, "")
	expect(t, src, s, http.StatusOK, "")
	expect(t, source(t, st, s, logins.Options{Principal: "alice"}), s, http.StatusUnauthorized, "run: mcphub auth login protected --principal alice")
	s.Expire()
	expect(t, src, s, http.StatusOK, "")
	if n := s.Rotations(); n != 1 {
		t.Errorf("%d rotations", n)
	}
	// Another process has the former token, and does not renew what was renewed.
	expect(t, source(t, st, s, logins.Options{Asked: true}), s, http.StatusOK, "")
	if n := s.Rotations(); n != 1 {
		t.Errorf("%d rotations", n)
	}
	s.Scope = "more"
	expect(t, src, s, http.StatusForbidden, "scopes more; run: mcphub auth login protected")
	if l, err := st.Find(t.Context(), s.Resource, ""); err != nil || len(l.Wanted) != 1 || l.Wanted[0] != "more" {
		t.Errorf("%+v %v", l, err)
	}
	s.Scope = ""
	s.EndLogins()
	expect(t, src, s, http.StatusUnauthorized, "the login is over: the authorization server does not renew the login")
	l, err := st.Find(t.Context(), s.Resource, "")
	if err != nil || l.Lost == "" || strings.Contains(l.Lost, oauthtest.Canary) || strings.Contains(l.Lost, "cut off") {
		t.Errorf("%+v %v", l, err)
	}
	logIn(t, st, s, "")
	expect(t, src, s, http.StatusOK, "")
	s.Consent = "bob" // at once, although the former token is good
	logIn(t, store(dir), s, "")
	expect(t, src, s, http.StatusOK, "")
	if calls := s.Calls(); calls[len(calls)-1].User != "bob" {
		t.Errorf("the server saw %+v after somebody else had logged in", calls[len(calls)-1])
	}
	if _, err := st.Forget(t.Context(), s.Resource, ""); err != nil {
		t.Error(err)
	}
	if _, err := st.Find(t.Context(), s.Resource, ""); !errors.Is(err, logins.ErrNone) {
		t.Error(err)
	}
	before := len(s.Calls())
	expect(t, src, s, http.StatusUnauthorized, "run: mcphub auth login protected") // nothing was revoked, and it is not used
	if len(s.Calls()) != before {
		t.Error("a token was used after the logout")
	}
	if s.Twice() != 0 {
		t.Error("a token was used twice")
	}
}

func TestEarlyRenewal(t *testing.T) {
	t.Parallel()
	s, st := oauthtest.New(t), store(t.TempDir())
	s.Life = time.Second // less than what a request needs
	logIn(t, st, s, "")
	s.Life = time.Hour
	src := source(t, st, s, logins.Options{Asked: true})
	before := len(s.Calls())
	expect(t, src, s, http.StatusOK, "")
	if s.Rotations() != 1 || len(s.Calls()) != before+1 {
		t.Errorf("%d rotations", s.Rotations())
	}
}

// What an authorization server says, or does not say, of a renewal.
func TestRenewalFails(t *testing.T) {
	t.Parallel()
	s, st := oauthtest.New(t), store(t.TempDir())
	logIn(t, st, s, "")
	src := source(t, st, s, logins.Options{})
	s.Expire()
	s.Change(func() {
		s.Token = func(w http.ResponseWriter, _ url.Values) bool {
			http.Error(w, oauthtest.Canary, http.StatusServiceUnavailable)
			return true
		}
	})
	expect(t, src, s, http.StatusUnauthorized, "cannot be renewed now")
	s.Change(func() { s.Token = nil })
	expect(t, src, s, http.StatusOK, "") // nothing was lost
	// An answer that no one reads: the login is gone, and that is said.
	s.Expire()
	s.Change(func() {
		s.Token = func(_ http.ResponseWriter, f url.Values) bool {
			s.Spend(f.Get("refresh_token"))
			panic(http.ErrAbortHandler)
		}
	})
	expect(t, src, s, http.StatusUnauthorized, "cannot be renewed now")
	if l, err := st.Find(t.Context(), s.Resource, ""); err != nil || l.Began.IsZero() {
		t.Errorf("no mark: %+v %v", l, err)
	}
	s.Change(func() { s.Token = nil })
	expect(t, src, s, http.StatusUnauthorized, "cut off before its answer was read")
}

// One renewal serves all who wait, in the process and beside it.
func TestOneRenewal(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, st := oauthtest.New(t), store(dir)
	logIn(t, st, s, "")
	s.Expire()
	var wg sync.WaitGroup
	for range 4 {
		other := store(dir)
		for range 8 {
			src := source(t, other, s, logins.Options{})
			wg.Go(func() {
				if status, advice, err := call(context.Background(), src, s.Resource); status != http.StatusOK {
					t.Errorf("%d %q %v", status, advice, err)
				}
			})
		}
	}
	wg.Wait()
	if s.Rotations() != 1 || s.Twice() != 0 {
		t.Errorf("%d rotations, %d tokens used twice", s.Rotations(), s.Twice())
	}
}

// A caller that gives up does not take the answer with it.
func TestGivenUp(t *testing.T) {
	t.Parallel()
	s, st := oauthtest.New(t), store(t.TempDir())
	was := logIn(t, st, s, "")
	s.Expire()
	ctx, cancel := context.WithCancel(t.Context())
	asked, goOn := make(chan struct{}), make(chan struct{})
	s.Token = func(http.ResponseWriter, url.Values) bool { close(asked); <-goOn; return false }
	src := source(t, st, s, logins.Options{})
	done := make(chan string)
	go func() {
		token, _, _ := src.Refused(ctx, was.Access, http.StatusUnauthorized, http.Header{})
		done <- token
	}()
	<-asked
	cancel()
	if token := <-done; token != "" {
		t.Error("a token for nobody")
	}
	close(goOn)
	st.Wait(t.Context())
	if l, err := st.Find(t.Context(), s.Resource, ""); err != nil || !s.Accepts(l.Access) || !l.Began.IsZero() {
		t.Errorf("%+v %v", l, err)
	}
}

func TestMachineAndPrincipals(t *testing.T) {
	t.Parallel()
	s, st := oauthtest.New(t), store(t.TempDir())
	set := oauth.Settings{ClientID: "confidential", ClientSecret: s.Secret}
	a, b := source(t, st, s, logins.Options{Settings: set, Machine: true}), source(t, st, s, logins.Options{Settings: set, Machine: true, Principal: "alice"})
	expect(t, a, s, http.StatusOK, "")
	expect(t, b, s, http.StatusOK, "")
	calls := s.Calls()
	if len(calls) != 2 || calls[0].Login != calls[1].Login {
		t.Errorf("the client has logged in twice: %+v", calls)
	}
	s.Consent = "ann"
	logIn(t, st, s, "a")
	s.Consent = "bob"
	logIn(t, st, s, "b")
	var wg sync.WaitGroup
	for i := range 8 {
		principal, user := "a", "ann"
		if i%2 == 1 {
			principal, user = "b", "bob"
		}
		src := source(t, st, s, logins.Options{Principal: principal})
		wg.Go(func() {
			for range 25 {
				token, _ := src.Token(context.Background())
				if token == "" {
					token, _, _ = src.Refused(context.Background(), "", http.StatusUnauthorized, http.Header{})
				}
				if got := s.User(token); got != user {
					t.Errorf("%s has the token of %q", principal, got)
				}
			}
		})
	}
	wg.Wait()
}

// renewer is another process: it lets the token end and calls, again and again, and
// tells each answer, until it is killed.
func renewer(dir string) {
	st := logins.New(secrets.New(secrets.Options{FileOnly: true, Dir: dir}), os.Getenv("LOGINS_TEST_LOCKS"))
	server := os.Getenv("LOGINS_TEST_SERVER")
	src, err := st.Source(logins.Options{Settings: oauth.Settings{Server: server, Issuer: os.Getenv("LOGINS_TEST_ISSUER"), Name: "protected"}})
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	for {
		l, err := st.Find(ctx, server, "")
		if err != nil {
			fmt.Println("error", err)
			continue
		}
		token, advice, _ := src.Refused(ctx, l.Access, http.StatusUnauthorized, http.Header{"Www-Authenticate": {"Bearer"}})
		switch {
		case advice != "":
			fmt.Println("advice", advice)
			os.Exit(0)
		case token != "":
			fmt.Println("token")
		}
	}
}

// renewers has eight processes renew one login until they are killed, each at some
// moment after a few answers. It returns what they say but that they have a token.
func renewers(t *testing.T, r *rand.Rand, dir string, s *oauthtest.Server, locks func(n int) string) (said []string) {
	t.Helper()
	var wg sync.WaitGroup
	var mu sync.Mutex
	for n := range 8 {
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), "LOGINS_TEST_RENEWER="+dir, "LOGINS_TEST_LOCKS="+locks(n), "LOGINS_TEST_SERVER="+s.Resource, "LOGINS_TEST_ISSUER="+s.Issuer)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		after, moment := r.IntN(12), time.Duration(r.IntN(3000))*time.Microsecond
		wg.Go(func() {
			lines := bufio.NewScanner(out)
			for n := 0; lines.Scan(); n++ {
				if line := lines.Text(); line != "token" {
					mu.Lock()
					said = append(said, line)
					mu.Unlock()
				} else if n == after { // then at a moment of the next one
					time.AfterFunc(moment, func() { _ = cmd.Process.Kill() })
				}
			}
			_ = cmd.Wait()
		})
	}
	wg.Wait()
	return said
}

// Eight processes share a login whose refresh tokens are good once, and are killed at
// any moment. No login is lost whose answer was read, and no token is used twice but
// those with which a process was killed before it had read the answer.
func TestKilledAtAnyMoment(t *testing.T) {
	t.Parallel()
	cases, r := seeds.Cases(t, 60), seeds.Rand(t)
	const cut = "cut off before its answer was read"
	dir := t.TempDir()
	s, st := oauthtest.New(t), store(dir)
	logIn(t, st, s, "")
	lost, kills, cuts := 0, 0, 0
	// settle counts a login that is lost, and says whether there is one.
	settle := func() {
		l, err := st.Find(t.Context(), s.Resource, "")
		switch {
		case err != nil:
			t.Fatal(err)
		case l.Lost != "":
			lost++
			if !strings.Contains(l.Lost, "cut off") {
				t.Errorf("lost, although every answer was read: %s", l.Lost)
			}
			logIn(t, st, s, "")
		case !l.Began.IsZero(): // its process was killed; the next renewal tries the token that is there
			cuts++
			if !st.CutOff(t.Context(), l) {
				t.Error("a renewal counts as under way, and nobody does it")
			}
		}
	}
	for s.Rotations() < cases && !t.Failed() {
		for _, line := range renewers(t, r, dir, s, func(int) string { return filepath.Join(dir, "logins") }) {
			switch {
			case strings.HasPrefix(line, "error"):
				t.Error(line)
			case !strings.Contains(line, cut):
				t.Errorf("lost, although every answer was read: %s", line)
			}
		}
		kills += 8
		settle()
	}
	if l, err := st.Find(t.Context(), s.Resource, ""); err == nil { // the last renewal may have been cut off
		_, _, _ = source(t, st, s, logins.Options{}).Refused(t.Context(), l.Access, http.StatusUnauthorized, http.Header{})
	}
	settle()
	if s.Twice() != lost {
		t.Errorf("%d tokens were used twice, and %d logins were lost by a kill between sending and reading", s.Twice(), lost)
	}
	t.Logf("%d rotations, %d processes started and killed, %d renewals found cut off, %d logins lost between sending and reading, no other login lost, no other token used twice", s.Rotations(), kills, cuts, lost)
}

// The control: without a common lock, processes use one token twice, and lose logins.
func TestKilledAtAnyMomentWithoutLock(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, st, r := oauthtest.New(t), store(dir), seeds.Rand(t)
	for round := range 50 {
		logIn(t, st, s, "")
		said := renewers(t, r, dir, s, func(n int) string { return filepath.Join(dir, fmt.Sprint("locks", n)) })
		if s.Twice() > 0 && len(said) > 0 {
			t.Logf("in round %d", round)
			return
		}
	}
	t.Error("nothing is lost without a lock: the test above proves nothing")
}

// Nothing in the folder shows a token.
func TestNothingInTheClear(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, st := oauthtest.New(t), store(dir)
	l := logIn(t, st, s, "")
	if text, _ := json.Marshal(l); !strings.Contains(string(text), oauthtest.Canary) {
		t.Fatal("the control finds nothing")
	}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := os.ReadFile(path)
		if strings.Contains(string(raw), oauthtest.Canary) {
			t.Errorf("%s holds a token", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
