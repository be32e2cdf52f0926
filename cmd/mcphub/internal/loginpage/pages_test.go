package loginpage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"mcphub/cmd/mcphub/internal/oauth"
	"mcphub/internal/principal"
)

// whose admits three people by tokens that are called like them, and cannot ask about one.
func whose(_ context.Context, token string) (principal.Principal, error) {
	switch token {
	case "alice", "bob":
		return principal.Principal{Name: token}, nil
	case "local":
		return principal.User(), nil
	case "later":
		return principal.Principal{}, fmt.Errorf("%w: no network", principal.ErrUnreachable)
	}
	return principal.Principal{}, errors.New("no such token")
}

// A stage is a Desk behind a front, and what it has refused.
type stage struct {
	*testing.T
	Desk
	base string

	told    sync.Mutex // guards what follows
	refused []string
	ended   []error // what Tickets were told by End
}

func newStage(t *testing.T) *stage {
	s := &stage{T: t}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if status, refused := s.Serve(w, r, whose); refused != "" {
			s.told.Lock()
			defer s.told.Unlock()
			s.refused = append(s.refused, fmt.Sprint(status, " ", refused))
		}
	}))
	t.Cleanup(web.Close)
	s.base = web.URL
	return s
}

// end notes what a Ticket is told by End.
func (s *stage) end(err error) {
	s.told.Lock()
	defer s.told.Unlock()
	s.ended = append(s.ended, err)
}

// ends returns what Tickets were told by End.
func (s *stage) ends() []error {
	s.told.Lock()
	defer s.told.Unlock()
	return slices.Clone(s.ended)
}

// ticket opens a Ticket for a person, whose login goes on at an address.
func (s *stage) ticket(who, server string) (t *Ticket, answers <-chan url.Values) {
	s.Helper()
	t, err := s.Open(Order{Base: s.base, Server: server, At: "https://mcp.example/mcp", Who: principal.Principal{Name: who}, End: s.end})
	if err != nil {
		s.Fatal(err)
	}
	answers, _ = t.Return().Expect("state of " + t.id)
	t.Lead("https://login.example/authorize?state=S")
	return t, answers
}

// A browser keeps cookies, and follows no redirect by itself.
type browser struct {
	*stage
	web http.Client
}

func (s *stage) browser() *browser {
	jar, _ := cookiejar.New(nil)
	return &browser{s, http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

// send sends a request, and returns its status and page.
func (b *browser) send(method, address, form string, headers ...string) (*http.Response, string) {
	b.Helper()
	r, err := http.NewRequestWithContext(b.Context(), method, address, strings.NewReader(form))
	if err != nil {
		b.Fatal(err)
	}
	if form != "" {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	resp, err := b.web.Do(r)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, _ := io.ReadAll(resp.Body)
	return resp, string(text)
}

func (b *browser) wants(status int, part, method, address, form string, headers ...string) {
	b.Helper()
	resp, text := b.send(method, address, form, headers...)
	if resp.StatusCode != status || !strings.Contains(text, part) {
		b.Errorf("%s %s: %d %s\nwant %d %q", method, address, resp.StatusCode, text, status, part)
	}
	h := resp.Header
	if h.Get("X-Frame-Options") != "DENY" || !strings.Contains(h.Get("Content-Security-Policy"), "frame-ancestors 'none'") || h.Get("Cache-Control") != "no-store" || h.Get("Referrer-Policy") != "same-origin" {
		b.Errorf("%s %s: another page may show it, or it is stored: %v", method, address, h)
	}
}

const leadsOn = `href="https://login.example/authorize?state=S"`

// prove proves that the browser is a person's, and is led on.
func (b *browser) prove(t *Ticket, token string) {
	b.Helper()
	b.wants(200, `name="token"`, "GET", t.Link(), "")
	resp, _ := b.send("POST", t.Link(), "token="+token)
	if resp.StatusCode != http.StatusSeeOther || resp.Header.Get("Location") != t.Link() {
		b.Errorf("the proof: %d %s", resp.StatusCode, resp.Header)
	}
	b.wants(200, leadsOn, "GET", t.Link(), "")
}

// back returns where the browser comes back to from the authorization server, with a state.
func (t *Ticket) back(state string) string {
	return t.Return().Address + "?code=C&state=" + url.QueryEscape(state)
}

// finish brings the answer, agrees to finish, and wants a page.
func (b *browser) finish(t *Ticket, want string) {
	b.Helper()
	b.wants(200, "Finish only if "+t.Who.Key()+" is you", "GET", t.back("state of "+t.id), "")
	b.wants(200, want, "POST", t.back("state of "+t.id), "")
}

// closeAfter closes a Ticket when its answer has come.
func (s *stage) closeAfter(t *Ticket, answers <-chan url.Values, err error) {
	go func() {
		select {
		case q := <-answers:
			if q.Get("code") != "C" {
				s.Errorf("the answer is %v", q)
			}
		case <-s.Context().Done():
		}
		t.Close(err)
	}()
}

// A login by its owner: the answer comes to the one who waits for it, once, and the last page reports the result.
func TestTheOwnersLogin(t *testing.T) {
	t.Parallel()
	for want, err := range map[string]error{"Logged in at linear": nil, "No login at linear": errors.New("the login was refused")} {
		s := newStage(t)
		ticket, answers := s.ticket("alice", "linear")
		other, _ := s.ticket("alice", "linear") // of another session
		b := s.browser()
		b.prove(ticket, "alice")
		s.closeAfter(ticket, answers, err)
		b.finish(ticket, want)
		b.wants(400, "does not wait for this answer", "GET", ticket.back("state of "+ticket.id), "") // replay
		b.wants(404, "This link has ended", "GET", ticket.Link(), "")
		b.wants(404, "This link has ended", "POST", ticket.Link(), "token=alice")
		if told := len(s.ends()); told != 0 && err != nil || told != 1 && err == nil {
			t.Errorf("the other session was told %v", s.ends())
		}
		other.Close(nil)
	}
}

// An answer is taken once, also while the one who waits looks at it.
func TestAnAnswerIsTakenOnce(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	ticket, answers := s.ticket("alice", "linear")
	b := s.browser()
	b.prove(ticket, "alice")
	if !ticket.takeAnswer(b.cookie(), url.Values{}) {
		t.Fatal("the owner's answer is not taken")
	}
	<-answers
	if ticket.takeAnswer(b.cookie(), url.Values{}) {
		t.Error("it is taken again")
	}
	b.wants(400, "does not wait for this answer", "GET", ticket.back("state of "+ticket.id), "")
}

// attacks are what someone else does with a link, an answer or a form. Each is refused, and leads nowhere.
var attacks = map[string]func(s *stage, t *Ticket){
	"the link is another person's": func(s *stage, t *Ticket) {
		b := s.browser()
		b.wants(200, "Go on only if that is you", "GET", t.Link(), "")
		b.wants(403, "This link is for alice, and you are bob", "POST", t.Link(), "token=bob")
		b.wants(200, `name="token"`, "GET", t.Link(), "")
	},
	"the user of the machine is not the caller": func(s *stage, t *Ticket) {
		b := s.browser()
		b.send("GET", t.Link(), "")
		b.wants(403, "you are ", "POST", t.Link(), "token=local")
	},
	"no proof": func(s *stage, t *Ticket) {
		b := s.browser()
		b.send("GET", t.Link(), "")
		for _, form := range []string{"token=", "token=wrong", "x=alice"} {
			b.wants(403, "does not admit this token", "POST", t.Link(), form)
		}
		b.wants(403, "does not admit this token", "POST", t.Link()+"?token=alice", "x=y") // an address is logged, so a token in it is none
	},
	"the issuer is away": func(s *stage, t *Ticket) {
		b := s.browser()
		b.send("GET", t.Link(), "")
		b.wants(503, "Try again later", "POST", t.Link(), "token=later")
	},
	"the owner's proof counts for another browser": func(s *stage, t *Ticket) {
		s.browser().prove(t, "alice")
		victim := s.browser()
		victim.wants(200, `name="token"`, "GET", t.Link(), "")
		victim.wants(400, "from this browser", "GET", t.back("state of "+t.id), "")
	},
	// Fixation: the page of an attacker has the victim's browser send the attacker's token, so that the victim's login becomes the attacker's.
	"a form of another page": func(s *stage, t *Ticket) {
		b := s.browser()
		b.send("GET", t.Link(), "")
		b.wants(403, "sent by another page", "POST", t.Link(), "token=alice", "Sec-Fetch-Site", "cross-site")
		b.wants(403, "sent by another page", "POST", t.Link(), "token=alice", "Origin", "https://evil.example")
		b.wants(403, "sent by another page", "POST", t.Link(), "token=alice", "Origin", "null")
		s.browser().wants(400, "has to keep the cookie", "POST", t.Link(), "token=alice") // a form of another page is sent without it
		b.wants(200, `name="token"`, "GET", t.Link(), "")
	},
	"a cookie that someone has chosen": func(s *stage, t *Ticket) {
		b := s.browser()
		b.wants(200, `name="token"`, "GET", t.Link(), "", "Cookie", "mcphub-login=")
		b.wants(200, `name="token"`, "GET", t.Link(), "", "Cookie", "mcphub-login=x")
	},
	// Fixation: a program at another port of the host plants the cookie of the attacker's browser in the victim's, and sends the victim to log in.
	"a cookie that is planted": func(s *stage, t *Ticket) {
		own, victim := s.browser(), s.browser()
		own.prove(t, "alice")
		at, _ := url.Parse(s.base)
		victim.web.Jar.SetCookies(at, own.web.Jar.Cookies(at))
		victim.wants(200, "This is a login of alice", "GET", t.back("state of "+t.id), "")
		victim.wants(403, "sent by another page", "POST", t.back("state of "+t.id), "", "Sec-Fetch-Site", "same-site") // nor does that program finish it
	},
	"an answer of no one": func(s *stage, t *Ticket) {
		b := s.browser()
		b.prove(t, "alice")
		for _, state := range []string{"", "S", "state of bob at linear"} {
			b.wants(400, "does not wait for this answer", "GET", t.back(state), "")
		}
		b.wants(400, "does not wait for this answer", "GET", s.base+provedPath+"?code=C&state=", "")
	},
	// Mix-up: the answer to the login at one server comes to the redirect of another one.
	"an answer for another server": func(s *stage, t *Ticket) {
		b := s.browser()
		b.prove(t, "alice")
		b.wants(400, "does not wait for this answer", "GET", s.base+backPath+"evil?code=C&state="+url.QueryEscape("state of "+t.id), "")
	},
	"another way": func(s *stage, t *Ticket) {
		s.browser().wants(405, "takes GET and POST", "PUT", t.Link(), "token=alice")
		s.browser().wants(404, "This link has ended", "GET", s.base+Prefix, "")
	},
}

func TestAttacks(t *testing.T) {
	t.Parallel()
	for name, attack := range attacks {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			ticket, answers := s.ticket("alice", "linear")
			attack(s, ticket)
			select {
			case q := <-answers:
				t.Errorf("the answer was taken: %v", q)
			default:
			}
			s.told.Lock()
			refused := slices.Clone(s.refused)
			s.told.Unlock()
			if len(refused) == 0 && name != "a cookie that someone has chosen" {
				t.Error("the front is told nothing")
			}
			for _, line := range refused {
				if strings.Contains(line, "code=") || strings.Contains(line, "token=") {
					t.Errorf("it tells a secret: %s", line)
				}
			}
			// The control: the owner goes on afterwards.
			b := s.browser()
			b.prove(ticket, "alice")
			s.closeAfter(ticket, answers, nil)
			b.finish(ticket, "Logged in at linear")
		})
	}
}

// A browser proves whose it is by a login at the issuer. Only the browser that has begun the login brings its answer, once: else someone could
// send another person's browser an answer of their own, and that person would log in for them.
func TestTheProofAtAnIssuer(t *testing.T) {
	t.Parallel()
	s, attempt := newStage(t), &oauth.Attempt{Address: "https://issuer.example/authorize", State: "P"}
	ticket, err := s.Open(Order{Base: s.base, Server: "linear", Who: principal.Principal{Name: "alice", Issuer: "https://issuer.example"}, Prove: func(_ context.Context, redirect string) (*oauth.Attempt, error) {
		if redirect != s.base+"/login/proved" {
			t.Errorf("the redirect is %s", redirect)
		}
		return attempt, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	own, victim := s.browser(), s.browser()
	own.wants(200, "<button>Log in at issuer.example</button>", "GET", ticket.Link(), "")
	victim.send("GET", ticket.Link(), "")
	resp, _ := own.send("POST", ticket.Link(), "")
	if got := resp.Header.Get("Location"); resp.StatusCode != http.StatusSeeOther || got != attempt.Address {
		t.Errorf("it is sent to %s: %d", got, resp.StatusCode)
	}
	const answer = "/login/proved?state=P&code=C"
	victim.wants(400, "does not wait for this answer", "GET", s.base+answer, "")
	own.wants(400, "does not wait for this answer", "GET", s.base+"/login/proved?state=Q&code=C", "")
	if got := ticket.takeProof(own.cookie()); got != attempt { // the control
		t.Errorf("the browser that has begun the proof is given %v", got)
	}
	own.wants(400, "does not wait for this answer", "GET", s.base+answer, "") // replay
	own.wants(403, "does not admit this token", "POST", ticket.Link(), "token=")
	for range maxBegun - 1 {
		if resp, _ := victim.send("POST", ticket.Link(), ""); resp.StatusCode != http.StatusSeeOther {
			t.Fatalf("it is refused too early: %d", resp.StatusCode)
		}
	}
	victim.wants(429, "Too many logins", "POST", ticket.Link(), "")
}

// cookie returns the cookie by which a browser is known.
func (b *browser) cookie() string {
	at, _ := url.Parse(b.base)
	return b.web.Jar.Cookies(at)[0].Value
}

// Bounds: of Tickets of one principal and of all, and of wrong proofs.
func TestBounds(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	if _, err := s.Open(Order{Who: principal.User()}); !errors.Is(err, errNobody) {
		t.Errorf("for whom no token names: %v", err)
	}
	var all []*Ticket
	for i := range maxOfOne {
		ticket, _ := s.ticket("alice", fmt.Sprint(i))
		all = append(all, ticket)
	}
	if _, err := s.Open(Order{Who: principal.Principal{Name: "alice"}}); !errors.Is(err, errMany) {
		t.Errorf("one more of one principal: %v", err)
	}
	all[0].Close(errors.New("it is over"))
	all[0].Close(nil) // again: nothing
	if _, err := s.Open(Order{Who: principal.Principal{Name: "alice"}}); err != nil {
		t.Errorf("after one has ended: %v", err)
	}
	for i := range maxTickets - maxOfOne {
		if _, err := s.Open(Order{Who: principal.Principal{Name: fmt.Sprint("person ", i)}}); err != nil {
			t.Fatalf("the %dth: %v", i, err)
		}
	}
	if _, err := s.Open(Order{Who: principal.Principal{Name: "bob"}}); !errors.Is(err, errFull) {
		t.Errorf("one more of all: %v", err)
	}
	b := s.browser()
	b.send("GET", all[1].Link(), "")
	for range maxProofs {
		b.wants(403, "does not admit this token", "POST", all[1].Link(), "token=guess")
	}
	b.wants(404, "This link has ended", "POST", all[1].Link(), "token=alice")
	if ended := s.ends(); len(ended) != 1 || !errors.Is(ended[0], ErrProofs) {
		t.Errorf("the one who waits was told %v", s.ends())
	}
}

// Over HTTPS the cookie is one that no other host can set, and no script can read.
func TestTheCookie(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	ticket, err := s.Open(Order{Base: "https://hub.example", Server: "linear", Who: principal.Principal{Name: "alice"}})
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	s.Serve(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, ticket.Link(), http.NoBody), whose)
	c := w.Result().Cookies()
	if len(c) != 1 || c[0].Name != "__Host-mcphub-login" || !c[0].Secure || !c[0].HttpOnly || c[0].SameSite != http.SameSiteLaxMode || c[0].Path != "/" || c[0].Domain != "" || len(c[0].Value) < 26 {
		t.Errorf("the cookies are %v", c)
	}
}

// What is shown acts on no page.
func TestNamesAreText(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	const odd = `<script>x</script>`
	ticket, _ := s.Open(Order{Base: s.base, Server: odd, At: odd, Who: principal.Principal{Name: odd, Issuer: "https://" + odd}, Prove: func(context.Context, string) (*oauth.Attempt, error) { return nil, errors.New(odd) }})
	b := s.browser()
	for _, method := range []string{"GET", "POST"} {
		if _, text := b.send(method, ticket.Link(), ""); strings.Contains(text, "<script>") || !strings.Contains(text, "&lt;script&gt;") {
			t.Errorf("%s: %s", method, text)
		}
	}
	ticket.Lead("javascript:alert(1)")
	ticket.noteProved("known")
	if _, text := s.browser().send("GET", ticket.Link(), "", "Cookie", "mcphub-login=known"); strings.Contains(text, "href=\"javascript:") {
		t.Errorf("it leads to a script: %s", text)
	}
}

// What this program is to an issuer is used again for an hour, at the same redirect.
func TestIdentities(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var d Desk
		one, other := &oauth.Registration{ID: "1"}, &oauth.Registration{ID: "2"}
		d.NoteIdentity("https://issuer.example", "/a", one)
		time.Sleep(identityTime / 2)
		d.NoteIdentity("https://issuer.example", "/a", one) // its use makes it no younger
		d.NoteIdentity("https://issuer.example", "/b", other)
		for _, tc := range []struct {
			issuer, redirect string
			want             *oauth.Registration
		}{
			{"https://issuer.example", "/a", one}, {"https://issuer.example", "/b", other}, {"https://issuer.example", "/c", nil}, {"https://evil.example", "/a", nil},
		} {
			if got := d.IdentityAt(tc.issuer, tc.redirect); got != tc.want {
				t.Errorf("%s %s: %v", tc.issuer, tc.redirect, got)
			}
		}
		time.Sleep(identityTime / 2)
		if got := d.IdentityAt("https://issuer.example", "/a"); got != nil {
			t.Errorf("after an hour: %v", got)
		}
		d.NoteIdentity("https://evil.example", "/a", other) // the server names another issuer
		if got := d.IdentityAt("https://issuer.example", "/a"); got != nil {
			t.Errorf("of another issuer: %v", got)
		}
	})
}

func TestBaseOf(t *testing.T) {
	t.Parallel()
	for endpoint, want := range map[string]string{
		"https://hub.example/mcp": "https://hub.example", "https://hub.example/mcp/": "https://hub.example", "https://hub.example:8443/team/mcp": "https://hub.example:8443/team", "http://127.0.0.1:80": "http://127.0.0.1:80",
	} {
		if got := BaseOf(endpoint); got != want {
			t.Errorf("%s: %s, want %s", endpoint, got, want)
		}
	}
}
