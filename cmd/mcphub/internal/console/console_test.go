package console

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"mcphub/cmd/mcphub/internal/admin"
	"mcphub/hub/audit"
	"mcphub/hub/audit/trail"
	"mcphub/hub/status"
)

const testHost = "127.0.0.1:4321"

// fakes returns a world that a console shows; text stands in every place that someone else fills.
func fakes(text, record string) Config {
	at := time.Now().Add(-time.Minute)
	r := admin.Report{PID: 77, Version: text, Started: at, Socket: "/run/77.sock", Config: admin.ConfigReport{Path: text, Error: text, Waiting: text}}
	c := status.Child{Server: text, State: "ready", Since: &at, Error: text, Stderr: text}
	c.Command, c.Args, c.Cwd, c.LastFailure, c.RootsServed = text, []string{text}, text, text, []string{text}
	c.Lacks, c.Closed, c.Refused, c.LastRefused, c.Mend = []string{text}, []string{text}, 1, text, &status.Mend{Text: text}
	r.Children = []status.Child{c}
	r.NotServed = []status.NotServed{{Server: text, Reason: text}}
	s := status.Session{ID: "0123456789", Since: at, Client: text, Principal: text, Protocol: text, Passed: 12345}
	s.Folder, s.Roots, s.RootsError, s.Toolsets = text, []string{text}, text, []string{text}
	r.Sessions = []status.Session{s}
	changed := func(e Edit) Change {
		return Change{Edit: e, File: text, Entry: []string{text}, Opens: []string{text}, Lines: []string{" " + text, "-" + text, "+" + text}, Notes: []string{text}, Digest: text, Folder: text}
	}
	return Config{
		Version: text, Record: record,
		Command: func(config string, words ...string) string { return strings.Join(append(words, config), " ") },
		Hubs:    func(context.Context) ([]admin.Report, []string) { return []admin.Report{r}, []string{text} },
		Restart: func(context.Context, string, string) (string, error) { return text, nil },
		Reload:  func(context.Context, string) error { return errors.New(text) },
		Mends: func() func(audit.Refusal) Mend {
			return func(audit.Refusal) Mend { return Mend{text, text, &Allowance{text, text, true, true}} }
		},
		Servers: func(context.Context) Entries {
			e := Entry{Name: text, Kind: text, Wrong: text, Instances: []Instance{{text, c}}, Tools: &status.ServerTools{Server: text, Hidden: []string{text}}}
			e.Tools.Tools = []status.OfferedTool{{Tool: status.Tool{Name: text, ToolName: text, Description: text}, Tokens: 7}}
			return Entries{File: text, Wrong: text, Servers: []Entry{e, {Name: text, Disabled: true}, {Name: text, Wrong: text}}, Silent: []string{text},
				Sets: []Toolset{{Name: text, Instructions: text, By: []string{text}, Servers: []ToolsetServer{{Name: text, Whole: true}, {Name: text, Known: true, Tools: []string{text}}}}}}
		},
		Find: func(context.Context, string) ([]Found, bool, error) {
			return []Found{{Name: text, Version: text, Description: text, Ways: []string{text}}}, true, nil
		},
		MayEdit: func() error { return nil },
		Change:  func(_ context.Context, e Edit) (Change, error) { return changed(e), nil },
		Try: func(_ context.Context, e Edit, _ string) (Change, error) {
			c := changed(e)
			c.Tried = []string{text}
			return c, nil
		},
		Write: func(context.Context, Edit, string) (string, error) { return text, nil },
		Exports: []Export{{Name: "jsonl", Title: "JSON lines", Media: "application/x-ndjson", Write: func(w io.Writer, _ trail.Filter) error {
			_, err := io.WriteString(w, "jsonl")
			return err
		}}},
		File: func(_ context.Context, brief bool) File {
			if brief {
				return File{Path: text, Text: text, Error: text, Brief: true}
			}
			return File{Path: text, Text: text, Error: text, Validate: text, Plan: text}
		},
		Questions: func(context.Context) ([]Question, []string) {
			return []Question{{Title: text, Text: text, Command: text}, {Title: text, Text: text, Hub: text, ID: text, Digest: text, Choices: []string{text}}}, []string{text}
		},
		Answer: func(_ context.Context, a Answer) error { return errors.New(text + a.ID) },
	}
}

func testServer(cfg Config) *Server {
	return &Server{cfg: cfg, guard: newGuard(testHost), spent: make(chan struct{}), pages: parsePages()}
}

// ask makes a request as a page of this console does, and changes it.
func ask(s *Server, method, path string, form url.Values, change func(*http.Request)) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "http://"+testHost+path, strings.NewReader(form.Encode()))
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Origin", "http://"+testHost)
	}
	if change != nil {
		change(r)
	}
	w := httptest.NewRecorder()
	s.makeHandler().ServeHTTP(w, r)
	return w
}

// begin exchanges the code, and returns the form that a session's requests carry.
func begin(t testing.TB, s *Server) url.Values {
	t.Helper()
	w := ask(s, "POST", "/open", url.Values{"code": {s.Code()}}, nil)
	found := regexp.MustCompile(`name="session" value="([A-Z2-7.]+)"`).FindStringSubmatch(w.Body.String())
	if w.Code != http.StatusOK || found == nil {
		t.Fatalf("the code opens nothing: %d %s", w.Code, w.Body)
	}
	return url.Values{"session": {found[1]}}
}

// secretText is on every page that shows anything.
const secretText = "this-is-shown-to-the-person-only"

var everyView = []string{"/now", "/decisions", "/record", "/verify", "/configuration", "/questions", "/answer", "/restart", "/reload", "/servers", "/find", "/change", "/try", "/write", "/export"}

// Each attack has a control: the same request without what makes it one is answered.
func TestOnlyThePageItselfIsServed(t *testing.T) {
	t.Parallel()
	s := testServer(fakes(secretText, t.TempDir()))
	session := begin(t, s)
	attacks := map[string]func(*http.Request){
		"a name bound to this address":    func(r *http.Request) { r.Host = "evil.example:4321" },
		"a name, no port":                 func(r *http.Request) { r.Host = "127.0.0.1" },
		"localhost, which may be another": func(r *http.Request) { r.Host = "localhost:4321" },
		"a form of another page":          func(r *http.Request) { r.Header.Set("Origin", "https://evil.example") },
		"a page at another port":          func(r *http.Request) { r.Header.Set("Origin", "http://127.0.0.1:8080") },
		"a sandboxed frame":               func(r *http.Request) { r.Header.Set("Origin", "null") },
		"no origin":                       func(r *http.Request) { r.Header.Del("Origin") },
		"two origins":                     func(r *http.Request) { r.Header.Add("Origin", "https://evil.example") },
		"the same site, another origin":   func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "same-site") },
		"another site":                    func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") },
		"no secret":                       func(r *http.Request) { r.Body = http.NoBody },
		"another secret":                  func(r *http.Request) { r.Body = io.NopCloser(strings.NewReader("session=" + strings.Repeat("A", 52))) },
		"an empty secret":                 func(r *http.Request) { r.Body = io.NopCloser(strings.NewReader("session=")) },
		"the secret in the address": func(r *http.Request) {
			r.URL.RawQuery, r.Body = session.Encode(), http.NoBody
		},
		"the secret in a cookie": func(r *http.Request) {
			r.Body = http.NoBody
			r.AddCookie(&http.Cookie{Name: "session", Value: session.Get("session")})
		},
		"the secret in a header": func(r *http.Request) {
			r.Body = http.NoBody
			r.Header.Set("Authorization", "Bearer "+session.Get("session"))
		},
		"the part of the secret by which one answers alone": func(r *http.Request) {
			_, answers, _ := strings.Cut(session.Get("session"), ".")
			r.Body = io.NopCloser(strings.NewReader("session=" + answers))
		},
		"a body of another type": func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") },
	}
	for _, view := range everyView {
		form := url.Values{"session": session["session"], "format": {"jsonl"}}
		if w := ask(s, "POST", view, form, nil); w.Code != http.StatusOK {
			t.Errorf("the control: POST %s is answered with %d: %s", view, w.Code, w.Body)
		}
		for name, attack := range attacks {
			if w := ask(s, "POST", view, form, attack); w.Code < 400 || strings.Contains(w.Body.String(), secretText) {
				t.Errorf("%s: POST %s is answered with %d", name, view, w.Code)
			}
		}
		if w := ask(s, "GET", view+"?"+form.Encode(), nil, nil); w.Code < 400 || strings.Contains(w.Body.String(), secretText) {
			t.Errorf("GET %s is answered with %d", view, w.Code)
		}
	}
	for _, view := range []string{"/now", "/configuration", "/questions", "/servers", "/find", "/change", "/try", "/write"} {
		if w := ask(s, "POST", view, session, nil); !strings.Contains(w.Body.String(), secretText) {
			t.Errorf("the control: %s shows nothing", view)
		}
	}
}

// What anybody may ask for says nothing, and nothing is ever kept in a cookie.
func TestWhatAnybodyMaySee(t *testing.T) {
	t.Parallel()
	s := testServer(fakes(secretText, t.TempDir()))
	session := begin(t, s)
	for _, path := range []string{"/", "/static/console.js", "/static/console.css", "/static/icon.svg", "/static/", "/now", "/nothing"} {
		w := ask(s, "GET", path, nil, nil)
		if strings.Contains(w.Body.String(), secretText) || strings.Contains(w.Body.String(), session.Get("session")) {
			t.Errorf("GET %s tells something", path)
		}
	}
	if w := ask(s, "GET", "/", nil, func(r *http.Request) { r.Host = "evil.example" }); w.Code != http.StatusMisdirectedRequest {
		t.Errorf("the first page for a name bound anew: %d", w.Code)
	}
	for _, w := range []*httptest.ResponseRecorder{ask(s, "GET", "/", nil, nil), ask(s, "GET", "/static/console.js", nil, nil), ask(s, "POST", "/now", session, nil), ask(s, "POST", "/now", nil, nil)} {
		h := w.Result().Header
		if h.Get("Content-Security-Policy") != policy || h.Get("Cache-Control") != "no-store" || h.Get("Cross-Origin-Resource-Policy") != "same-origin" || h.Get("X-Frame-Options") != "DENY" || h.Get("Referrer-Policy") != "same-origin" {
			t.Errorf("the headers are %v", h)
		}
		if h.Get("Set-Cookie") != "" || h.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("the headers are %v", h)
		}
	}
	if strings.Contains(policy, "unsafe") || strings.Contains(policy, "http") || strings.Contains(policy, "*") {
		t.Error("the policy lets something in")
	}
}

// The policy forbids inline code, so a page that had some would be broken.
func TestNoInlineCode(t *testing.T) {
	t.Parallel()
	s := testServer(fakes(secretText, t.TempDir()))
	session := begin(t, s)
	inline := regexp.MustCompile(`(?i)<script(?: [^>]*)?>[^<]|\son[a-z]+=|\sstyle=|<style|javascript:|(?:src|href|action)="(?:https?:)?//`)
	if !inline.MatchString(`<b onclick="x">`) || !inline.MatchString(`<script>x</script>`) || !inline.MatchString(`<a href="//evil.example">`) {
		t.Fatal("the control: inline code is not seen")
	}
	for _, view := range everyView {
		if found := inline.FindString(ask(s, "POST", view, session, nil).Body.String()); found != "" {
			t.Errorf("%s has %q", view, found)
		}
	}
}

func TestTheCodeCountsOnce(t *testing.T) {
	t.Parallel()
	s := testServer(fakes("x", ""))
	code := s.Code()
	begin(t, s)
	if w := ask(s, "POST", "/open", url.Values{"code": {code}}, nil); w.Code != http.StatusForbidden || strings.Contains(w.Body.String(), s.guard.secret) {
		t.Errorf("the second exchange: %d", w.Code)
	}
	if w := ask(s, "POST", "/open", url.Values{"code": {""}}, nil); w.Code != http.StatusForbidden || strings.Contains(w.Body.String(), s.guard.secret) {
		t.Errorf("an empty code after the exchange: %d", w.Code)
	}
	for range 2 * maxWrong { // nothing is left to guess, so no one can end the session by it
		ask(s, "POST", "/open", url.Values{"code": {"AAAAA-AAAAA"}}, nil)
	}
	select {
	case <-s.spent:
		t.Error("wrong codes after the exchange end the console")
	default:
	}
}

// Who guesses has five tries, and another page has none.
func TestCodesCannotBeGuessed(t *testing.T) {
	t.Parallel()
	s := testServer(fakes("x", ""))
	for range 10 * maxWrong {
		ask(s, "POST", "/open", url.Values{"code": {"WRONG-WRONG"}}, func(r *http.Request) { r.Header.Set("Origin", "https://evil.example") })
	}
	for i := range maxWrong {
		select {
		case <-s.spent:
			t.Fatalf("%d wrong codes end it", i)
		default:
		}
		ask(s, "POST", "/open", url.Values{"code": {"WRONG-WRONG"}}, nil)
	}
	select {
	case <-s.spent:
	default:
		t.Fatal("it goes on after so many wrong codes")
	}
	if w := ask(s, "POST", "/open", url.Values{"code": {s.Code()}}, nil); w.Code != http.StatusForbidden {
		t.Errorf("the right code after too many wrong ones: %d", w.Code)
	}
	// The control: typed as people type, it opens.
	s = testServer(fakes("x", ""))
	if w := ask(s, "POST", "/open", url.Values{"code": {" " + strings.ToLower(s.Code())}}, nil); w.Code != http.StatusOK {
		t.Errorf("the code in small letters: %d", w.Code)
	}
}

// A console ends with its context, and by too many wrong codes; none of it is left.
func TestRun(t *testing.T) {
	t.Parallel()
	for _, spent := range []bool{false, true} {
		l, err := Listen(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		s := New(fakes("x", filepath.Join(t.TempDir(), "none")), l)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- s.Run(ctx, l) }()
		res, err := http.Get(s.Address())
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode != http.StatusOK || !strings.HasPrefix(s.Address(), "http://127.0.0.1:") {
			t.Errorf("%s: %s", s.Address(), res.Status)
		}
		for range maxWrong {
			if !spent {
				stop()
				break
			}
			r, err := http.NewRequest("POST", s.Address()+"open", strings.NewReader("code=WRONG"))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Origin", strings.TrimSuffix(s.Address(), "/"))
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			if res, err := http.DefaultClient.Do(r); err == nil {
				_ = res.Body.Close()
			}
		}
		if err := <-ended; errors.Is(err, errSpent) != spent || err != nil && !spent {
			t.Errorf("it ends with %v", err)
		}
		stop()
		if _, err := http.Get(s.Address()); err == nil {
			t.Error("it still answers")
		}
	}
}
