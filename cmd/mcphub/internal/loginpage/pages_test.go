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
	"strings"
	"testing"

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
	base    string
	refused []string
	ended   []error // what Tickets were told by End
}

func newStage(t *testing.T) *stage {
	s := &stage{T: t}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if status, refused := s.Serve(w, r, whose); refused != "" {
			s.refused = append(s.refused, fmt.Sprint(status, " ", refused))
		}
	}))
	t.Cleanup(web.Close)
	s.base = web.URL
	return s
}

// ticket opens a Ticket for a person, whose login goes on at an address.
func (s *stage) ticket(who, server string) (t *Ticket, answers <-chan url.Values) {
	s.Helper()
	t, err := s.Open(Order{Base: s.base, Server: server, At: "https://mcp.example/mcp", Who: principal.Principal{Name: who}, End: func(err error) { s.ended = append(s.ended, err) }})
	if err != nil {
		s.Fatal(err)
	}
	answers, _ = t.Return().Expect("state of " + who + " at " + server)
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

func (t *Ticket) back(state string) string {
	return t.Return().Address + "?code=C&state=" + url.QueryEscape(state)
}

// finish brings the answer, agrees to finish, and wants a page.
func (b *browser) finish(t *Ticket, state, want string) {
	b.Helper()
	b.wants(200, "Finish only if "+t.Who.Key()+" is you", "GET", t.back(state), "")
	b.wants(200, want, "POST", t.back(state), "")
}

// A login by its owner: the answer comes to the one who waits for it, once, and the last page tells how it went.
func TestTheOwnersLogin(t *testing.T) {
	t.Parallel()
	for want, err := range map[string]error{"Logged in at linear": nil, "No login at linear": errors.New("the login was refused")} {
		s := newStage(t)
		ticket, answers := s.ticket("alice", "linear")
		other, openErr := s.Open(Order{Base: s.base, Server: "linear", Who: ticket.Who, End: ticket.Order.End}) // of another session; its state would be another one
		if openErr != nil {
			t.Fatal(openErr)
		}
		b := s.browser()
		b.prove(ticket, "alice")
		done := make(chan struct{})
		go func() {
			defer close(done)
			if q := <-answers; q.Get("code") != "C" {
				t.Errorf("the answer is %v", q)
			}
			ticket.Close(err)
		}()
		b.finish(ticket, "state of alice at linear", want)
		<-done
		b.wants(400, "does not wait for this answer", "GET", ticket.back("state of alice at linear"), "") // replay
		b.wants(404, "This link has ended", "GET", ticket.Link(), "")
		b.wants(404, "This link has ended", "POST", ticket.Link(), "token=alice")
		if told := len(s.ended); told != 0 && err != nil || told != 1 && err == nil {
			t.Errorf("the other session was told %v", s.ended)
		}
		other.Close(nil)
	}
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
		victim.wants(400, "from this browser", "GET", t.back("state of alice at linear"), "")
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
		victim.wants(200, "This is a login of alice", "GET", t.back("state of alice at linear"), "")
		victim.wants(403, "sent by another page", "POST", t.back("state of alice at linear"), "", "Sec-Fetch-Site", "same-site") // nor does that program finish it
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
		b.wants(400, "does not wait for this answer", "GET", s.base+backPath+"evil?code=C&state="+url.QueryEscape("state of alice at linear"), "")
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
			if len(s.refused) == 0 && name != "a cookie that someone has chosen" {
				t.Error("the front is told nothing")
			}
			for _, line := range s.refused {
				if strings.Contains(line, "code=") || strings.Contains(line, "token=") {
					t.Errorf("it tells a secret: %s", line)
				}
			}
			// The control: the owner goes on afterwards.
			b := s.browser()
			b.prove(ticket, "alice")
			go func() { <-answers; ticket.Close(nil) }()
			b.finish(ticket, "state of alice at linear", "Logged in at linear")
		})
	}
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
	if len(s.ended) != 1 || !errors.Is(s.ended[0], ErrProofs) {
		t.Errorf("the one who waits was told %v", s.ended)
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
