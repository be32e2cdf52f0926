package hub

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mcphub/internal/jsonrpc"
	"mcphub/rootsmgr"
	"mcphub/validate"
)

// A memoryListener takes connections that never leave the process, so that HTTP
// too can be served in a time of a test's own.
type memoryListener struct {
	conns chan net.Conn
	done  chan struct{}
}

func (l *memoryListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *memoryListener) Close() error {
	select {
	case <-l.done:
	default:
		close(l.done)
	}
	return nil
}

func (l *memoryListener) Addr() net.Addr {
	return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80}
}

func (l *memoryListener) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case l.conns <- there:
		return here, nil
	case <-l.done:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// serveWebInMemory is serveWeb for the time of a test's own.
func serveWebInMemory(t testing.TB, h *Hub, o HTTPOptions) *web {
	t.Helper()
	o.Hosts = append(o.Hosts, "127.0.0.1")
	ln := &memoryListener{conns: make(chan net.Conn), done: make(chan struct{})}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- h.ServeStreamableHTTP(ctx, ln, o) }()
	tr := &http.Transport{DialContext: ln.dial, DisableKeepAlives: true}
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("ServeStreamableHTTP: %v", err)
		}
		tr.CloseIdleConnections()
	})
	return &web{t, "http://127.0.0.1/mcp", &http.Client{Transport: tr}}
}

// A modernWay is a client of the modern era on one of its transports. once says
// that each of its requests stands alone, and so does what is allowed for it.
type modernWay struct {
	*askedHub
	once  bool
	roots []string
	send  func(ctx context.Context, params string) (result string, err error)
	leave func()
	// another is somebody else: another process, or another token.
	another func() *modernWay
	// at another place, with the same token or process
	elsewhere func(dirs ...string) *modernWay
}

const modernCaps = `{"roots":{},"elicitation":{}}`

// modernWays runs a test with each transport. caps is what the client declares.
func modernWays(t *testing.T, caps string, test func(t *testing.T, a *askedHub, c *modernWay), change ...func(*Config, *validate.Config)) {
	t.Run("stdio", func(t *testing.T) {
		approving(t, nil, func(a *askedHub) { test(a.T, a, a.overStdio(caps)) }, change...)
	})
	t.Run("http", func(t *testing.T) {
		approving(t, nil, func(a *askedHub) {
			w := serveWebInMemory(a.T, a.h, HTTPOptions{Tokens: []Token{{Name: "me", Secret: "mine"}, {Name: "you", Secret: "yours"}}})
			test(a.T, a, a.overHTTP(w, caps, "mine"))
		}, change...)
	})
}

func (a *askedHub) overStdio(caps string) *modernWay {
	inner, leave := enterModern(a.T, a.h, caps)
	c := &modernWay{askedHub: a, roots: []string{a.at("root")}, leave: leave}
	c.send = func(ctx context.Context, params string) (string, error) {
		resp, err := inner.conn.Call(ctx, "tools/call", []byte(with(params, inner.meta())))
		if err != nil {
			return "", err
		}
		if e := resp.Err(); e != nil {
			return "", e
		}
		return string(resp.Result), nil
	}
	c.another = func() *modernWay { return a.overStdio(caps) }
	return c
}

func (a *askedHub) overHTTP(w *web, caps, secret string) *modernWay {
	inner := w.modern(secret, a.at("root"))
	inner.caps = caps
	c := &modernWay{askedHub: a, once: true, roots: inner.roots, leave: func() {}}
	c.send = func(ctx context.Context, params string) (string, error) {
		frame := inner.frame("tools/call", params)
		req, err := http.NewRequestWithContext(ctx, "POST", w.url, strings.NewReader(frame))
		if err != nil {
			return "", err
		}
		req.Header.Set("Accept", "application/json, text/event-stream")
		req.Header.Set("Content-Type", "application/json")
		headers := inner.headersOf(frame)
		for i := 0; i+1 < len(headers); i += 2 {
			req.Header.Set(headers[i], headers[i+1])
		}
		r, err := w.c.Do(req)
		if err != nil {
			return "", err
		}
		defer func() { _ = r.Body.Close() }()
		m, _ := inner.outcome(r, nil)
		if m == nil {
			return "", io.ErrUnexpectedEOF
		}
		if m.Error != nil {
			return "", jsonrpc.ParseError(m.Error)
		}
		return string(m.Result), nil
	}
	c.another = func() *modernWay { return a.overHTTP(w, caps, "yours") }
	c.elsewhere = func(dirs ...string) *modernWay {
		d := a.overHTTP(w, caps, secret)
		d.roots = dirs
		return d
	}
	return c
}

func (c *modernWay) rootsResult() string {
	var all []string
	for _, d := range c.roots {
		all = append(all, fmt.Sprintf(`{"uri":%q}`, rootsmgr.FormatURI(d)))
	}
	return `{"roots":[` + strings.Join(all, ",") + `]}`
}

// until makes a call, gives the roots when they are asked for, and returns at
// the answer (ok false) or at the question for a person.
func (c *modernWay) until(ctx context.Context, params string) (q asked, result string, ok bool) {
	c.Helper()
	next := params
	for range 5 {
		var err error
		if result, err = c.send(ctx, next); err != nil {
			return q, "!" + err.Error(), false
		}
		if q, ok = askedBy(result); !ok {
			return q, result, false
		}
		given := map[string]string{}
		for key, of := range q.methods {
			if of == methodElicit {
				return q, result, true
			}
			given[key] = c.rootsResult()
		}
		next = q.retry(params, given)
	}
	c.Fatalf("asked for roots again and again: %s", result)
	return q, "", false
}

// question wants a person to be asked.
func (c *modernWay) question(params string) asked {
	c.Helper()
	q, result, ok := c.until(context.Background(), params)
	if !ok {
		c.Fatalf("%s: nobody was asked: %s", params, result)
	}
	return q
}

func (q asked) text() string {
	for key, of := range q.methods {
		if of == methodElicit {
			message, _ := jsonrpc.String(jsonrpc.Get([]byte(q.params[key]), "message"))
			return message
		}
	}
	return ""
}

// answer comes again with what the person says; "" is no answer.
func (c *modernWay) answer(q asked, params, says string) (msg string, denied bool) {
	c.Helper()
	given := map[string]string{}
	for key := range q.methods {
		given[key] = says
	}
	result, err := c.send(context.Background(), q.retry(params, given))
	if err != nil {
		return "!" + err.Error(), true
	}
	return text(result)
}

// echoing is a call of echo with a tag of its own.
func echoing(args string) (params, tag string) {
	tags.Lock()
	defer tags.Unlock()
	tags.n++
	tag = fmt.Sprintf("m%d", tags.n)
	return call("kid__echo", tagged(tag, args)), tag
}

// says wants a call to be asked about, and what becomes of it after an answer.
func (c *modernWay) says(args, answer, want string) {
	c.Helper()
	params, tag := echoing(args)
	msg, denied := c.answer(c.question(params), params, answer)
	c.outcome(args, msg, denied, tag, want)
}

// outcome wants "" for a call that went through, else the reason of its denial.
func (c *modernWay) outcome(args, msg string, denied bool, tag, want string) {
	c.Helper()
	reached := c.s.who(tag) != nil
	if denied != (want != "") || reached == denied || !strings.Contains(msg, want) {
		c.Errorf("%s: denied %v, reached %v, want %q in: %s", args, denied, reached, want, msg)
	}
}

// unasked wants an answer without a question to anybody.
func (c *modernWay) unasked(args, want string) {
	c.Helper()
	params, tag := echoing(args)
	_, result, ok := c.until(context.Background(), params)
	if ok {
		c.Errorf("%s: a person is asked: %s", args, result)
		return
	}
	msg, denied := text(result)
	if strings.HasPrefix(result, "!") {
		msg, denied = result, true
	}
	c.outcome(args, msg, denied, tag, want)
}

// open are the grants, and what waits for a person, in all sessions.
func (a *askedHub) open() (grants, questions int) {
	synctest.Wait()
	for _, s := range a.h.Status().Sessions {
		grants += len(s.Grants)
		questions += len(s.Questions)
	}
	return grants, questions
}

func (a *askedHub) holds(grants, questions int) {
	a.Helper()
	if g, q := a.open(); g != grants || q != questions {
		a.Errorf("%d grants and %d questions, want %d and %d", g, q, grants, questions)
	}
}

// The flows of the policy, and for how long what was allowed is open: over
// stdio for the process, over HTTP for the call (P4).
func TestModernApproval(t *testing.T) {
	modernWays(t, modernCaps, func(_ *testing.T, a *askedHub, c *modernWay) {
		one := reading(a.at("data", "one", "1.txt"))
		c.unasked(reading(a.at("open", "o.txt")), "")
		c.unasked(writing(a.at("open", "o.txt")), "rule-deny")
		c.says(one, no, "the person said no")
		a.holds(0, 0)
		params, tag := echoing(one)
		q := c.question(params)
		lifetime := "until this session ends"
		if c.once {
			lifetime = "for this one call"
		}
		if !strings.Contains(q.text(), "this server may "+lifetime+":\n- read everything in the directory "+legible(a.at("data", "one"))) {
			a.Errorf("asked %s", q.text())
		}
		a.holds(0, 1)
		msg, denied := c.answer(q, params, yes)
		c.outcome(one, msg, denied, tag, "")
		if c.once {
			a.holds(0, 0)
			c.says(one, no, "the person said no")
		} else {
			a.holds(1, 0)
			c.unasked(one, "")
		}
		c.says(reading(a.at("data", "two", "2.txt")), no, "the person said no")
		d := c.another()
		d.says(one, no, "the person said no")
		c.leave()
		if !c.once {
			a.holds(0, 0) // it ended with its process
			c = c.another()
			c.says(one, no, "the person said no")
		}
	})
}

func TestModernAnswersThatAllowNothing(t *testing.T) {
	modernWays(t, modernCaps, func(_ *testing.T, a *askedHub, c *modernWay) {
		one := reading(a.at("data", "one", "1.txt"))
		for _, answer := range []string{
			`{"action":"decline"}`, `{"action":"cancel"}`, `{"action":"accept"}`, `{"action":"accept","content":{"decision":true}}`,
			`{"action":"accept","content":{"decision":"Allow"}}`, `{"action":"decline","content":{"decision":"allow"}}`,
		} {
			c.says(one, answer, "needs the approval of a person")
			time.Sleep(longestPause) // they count as noes
		}
		a.holds(0, 0)
		c.says(one, yes, "") // the control
	})
}

// A question that nobody comes back with counts as no once its time is over; a
// yes after that is too late.
func TestModernQuestionThatNobodyAnswers(t *testing.T) {
	modernWays(t, modernCaps, func(_ *testing.T, a *askedHub, c *modernWay) {
		one := reading(a.at("data", "one", "1.txt"))
		params, tag := echoing(one)
		q := c.question(params)
		time.Sleep(time.Minute + time.Second)
		a.holds(0, 0)
		msg, denied := c.answer(q, params, yes)
		c.outcome(one, msg, denied, tag, "nobody has answered in time")
		// One that never comes again holds nothing for good.
		c.question(params)
		time.Sleep(stateTime + time.Second)
		a.holds(0, 0)
		if n := a.h.parked.Load(); n != 0 {
			a.Errorf("%d requests are held", n)
		}
		c.says(one, yes, "") // the control
	})
}

// The client goes while a person is asked: the process ends, or the same
// request is never made again.
func TestModernClientThatGoesWhileItIsAsked(t *testing.T) {
	modernWays(t, modernCaps, func(_ *testing.T, a *askedHub, c *modernWay) {
		one := reading(a.at("data", "one", "1.txt"))
		params, tag := echoing(one)
		q := c.question(params)
		d := c.another()
		c.leave()
		if !c.once {
			a.holds(0, 0)
			if n := a.h.parked.Load(); n != 0 {
				a.Errorf("%d requests are held", n)
			}
		}
		// Nobody else can answer in its place, whoever has the requestState.
		if msg, denied := d.answer(q, params, yes); !denied || !strings.HasPrefix(msg, "!") {
			a.Errorf("somebody else has answered: %s", msg)
		}
		if a.s.who(tag) != nil {
			a.Error("the child got the call")
		}
		d.says(one, yes, "") // and is not affected
		if c.once {
			msg, denied := c.answer(q, params, yes) // the control: whose question it is
			c.outcome(one, msg, denied, tag, "")
		}
	})
}

// A call that is cancelled while its retry is under way, or while it waits for a
// person at a terminal, opens nothing and is never made.
func TestModernCallThatIsCancelled(t *testing.T) {
	modernWays(t, `{"roots":{}}`, func(_ *testing.T, a *askedHub, c *modernWay) {
		one := reading(a.at("data", "one", "1.txt"))
		params, tag := echoing(one)
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan string, 1)
		go func() {
			_, result, _ := c.until(ctx, params)
			ended <- result
		}()
		id := a.pending(1)[0].ID
		code := a.code(id)
		cancel()
		if got := <-ended; !strings.HasPrefix(got, "!") {
			a.Errorf("answered %s", got)
		}
		a.pending(0)
		if err := a.h.AnswerApproval(id, code, true); !errors.Is(err, ErrNoQuestion) {
			a.Errorf("the question is answered all the same: %v", err)
		}
		a.holds(0, 0)
		if a.s.who(tag) != nil {
			a.Error("the child got the call")
		}
		// The control: one that is not cancelled.
		params, tag = echoing(one)
		go func() {
			_, result, _ := c.until(context.Background(), params)
			ended <- result
		}()
		id = a.pending(1)[0].ID
		if err := a.h.AnswerApproval(id, a.code(id), true); err != nil {
			a.Error(err)
		}
		msg, denied := text(<-ended)
		c.outcome(one, msg, denied, tag, "")
	}, atATerminal)
}

// Equal calls of one process share an answer, and others wait for their turn;
// over HTTP each request stands alone, and neither waits for the other.
func TestModernEqualQuestions(t *testing.T) {
	modernWays(t, modernCaps, func(_ *testing.T, a *askedHub, c *modernWay) {
		params, tag := echoing(reading(a.at("data", "one", "1.txt")))
		q := c.question(params)
		if c.once {
			other := c.question(params)
			a.holds(0, 2)
			msg, denied := c.answer(other, params, no)
			c.outcome(params, msg, denied, tag, "the person said no")
			msg, denied = c.answer(q, params, yes)
			c.outcome(params, msg, denied, tag, "")
			a.holds(0, 0)
			return
		}
		type end struct {
			q      asked
			result string
			asked  bool
		}
		begin := func(ctx context.Context, params string) <-chan end {
			ch := make(chan end, 1)
			go func() {
				q, result, asked := c.until(ctx, params)
				ch <- end{q, result, asked}
			}()
			synctest.Wait()
			return ch
		}
		same := begin(context.Background(), params)
		two, tagTwo := echoing(reading(a.at("data", "two", "2.txt")))
		later := begin(context.Background(), two)
		given, cancel := context.WithCancel(context.Background())
		third, tagThird := echoing(reading(a.at("home", "h.txt")))
		dropped := begin(given, third)
		a.holds(0, 1)
		if st := a.h.Status().Sessions[0].Questions[0]; st.Calls != 2 || st.Asked != askedClient {
			a.Errorf("status shows %+v", st)
		}
		cancel() // what waits for its turn can be cancelled too
		if e := <-dropped; e.asked || !strings.HasPrefix(e.result, "!") {
			a.Errorf("cancelled: %+v", e)
		}
		msg, denied := c.answer(q, params, yes)
		c.outcome(params, msg, denied, tag, "")
		if e := <-same; e.asked || strings.HasPrefix(e.result, "!") {
			a.Errorf("the equal call: %+v", e)
		} else if msg, denied := text(e.result); denied {
			a.Errorf("the equal call was denied: %s", msg)
		}
		e := <-later
		if !e.asked {
			a.Fatalf("the other call was not asked about: %s", e.result)
		}
		msg, denied = c.answer(e.q, two, no)
		c.outcome(two, msg, denied, tagTwo, "the person said no")
		if a.s.who(tagThird) != nil {
			a.Error("the child got the call that was cancelled")
		}
	})
}

// An answer is good for the call that asked, once.
func TestModernAnswersAreOfTheirCall(t *testing.T) {
	modernWays(t, modernCaps, func(_ *testing.T, a *askedHub, c *modernWay) {
		params, tag := echoing(reading(a.at("data", "one", "1.txt")))
		q := c.question(params)
		for name, other := range map[string]string{
			"other argument": strings.Replace(params, "1.txt", "2.txt", 1),
			"one more":       strings.Replace(params, `"path"`, `"also":"/etc/passwd","path"`, 1),
			"other tool":     strings.Replace(params, "kid__echo", "kid__env", 1),
		} {
			if msg, denied := c.answer(q, other, yes); !denied || !strings.HasPrefix(msg, "!") {
				a.Errorf("%s: %s", name, msg)
			}
		}
		// The same call without the hub's state, or as a fresh one, is asked about like any.
		given := map[string]string{}
		for key := range q.methods {
			given[key] = yes
		}
		bare := with(params, fmt.Sprintf(`"inputResponses":{%q:%s}`, q.keys[0], yes))
		if c.once { // over stdio it would be joined to the question that stands
			if result, err := c.send(context.Background(), bare); err != nil || string(jsonrpc.Get([]byte(result), "resultType")) != `"input_required"` {
				a.Errorf("answers that nobody asked for: %s %v", result, err)
			}
		}
		if a.s.who(tag) != nil {
			a.Error("the child got the call")
		}
		msg, denied := c.answer(q, params, yes)
		c.outcome(params, msg, denied, tag, "")
		result, err := c.send(context.Background(), q.retry(params, given))
		if err == nil || !strings.Contains(err.Error(), "already") {
			a.Errorf("replayed: %s %v", result, err)
		}
	})
}

// What a grant does not open, in either transport: what is protected, what a
// rule denies, and what stands beside a file in the home folder.
func TestModernGrantsAreNoWiderThanSaid(t *testing.T) {
	modernWays(t, modernCaps, func(t *testing.T, a *askedHub, c *modernWay) {
		if err := os.Symlink(a.at("kept", "k.txt"), a.at("data", "one", "link")); err != nil {
			t.Fatal(err)
		}
		c.says(reading(a.at("data", "one", "1.txt")), yes, "")
		c.unasked(reading(a.at("data", "one", "link")), "protects")
		c.unasked(reading(a.at("kept", "k.txt")), "protects")
		c.unasked(reading(a.at("never", "n.txt")), "never")
		c.unasked(fmt.Sprintf(`{"path":%q,"also":%q}`, a.at("data", "one", "1.txt"), a.at("kept", "k.txt")), "protects")
		if !c.once {
			c.unasked(reading(a.at("data", "one", "1.txt")), "") // the control: it is open
		}
		params, tag := echoing(reading(a.at("home", "h.txt")))
		q := c.question(params)
		if !strings.Contains(q.text(), "- read the file "+legible(a.at("home", "h.txt"))+", and nothing beside it") {
			t.Errorf("asked %s", q.text())
		}
		msg, denied := c.answer(q, params, yes)
		c.outcome(params, msg, denied, tag, "")
		write(t, a.at("home", "beside.txt"))
		c.says(reading(a.at("home", "beside.txt")), no, "the person said no")
		if !c.once {
			c.unasked(reading(a.at("home", "h.txt")), "")
		}
		c.unasked(deleting(a.at("home")), "holds what is in scope")
	})
}

// Between question and answer a link is planted, or the rules change: the call
// is judged afresh, and nothing stays open.
func TestModernWhatChangesBetweenQuestionAndAnswer(t *testing.T) {
	for name, plant := range map[string]func(a *askedHub) error{
		"protected":     func(a *askedHub) error { return os.Symlink(a.at("kept", "k.txt"), a.at("data", "one", "x")) },
		"elsewhere":     func(a *askedHub) error { return os.Symlink(a.at("data", "two", "2.txt"), a.at("data", "one", "x")) },
		"as it was":     nil, // the control
		"denied by now": nil,
	} {
		t.Run(name, func(t *testing.T) {
			var judged validate.Config
			modernWays(t, modernCaps, func(t *testing.T, a *askedHub, c *modernWay) {
				path := a.at("data", "one", "x")
				write(t, path)
				params, tag := echoing(reading(path))
				q := c.question(params)
				want := ""
				switch {
				case plant != nil:
					want = "Access denied"
					if err := os.Rename(path, a.at("moved")); err != nil {
						t.Fatal(err)
					}
					if err := plant(a); err != nil {
						t.Fatal(err)
					}
				case name == "denied by now":
					want = "is refused by the rule"
					cfg := a.h.now().cfg
					judged.Policy.Rules = slices.Insert(slices.Clone(judged.Policy.Rules), 0, validate.Rule{Name: "new", Then: validate.Deny, Paths: &validate.PathRule{Within: a.at("data")}})
					var err error
					if cfg.Checker, err = validate.NewChecker(judged); err != nil {
						t.Fatal(err)
					}
					apply(t, a.h, cfg)
				}
				msg, denied := c.answer(q, params, yes)
				c.outcome(params, msg, denied, tag, want)
				if want != "" {
					a.holds(0, 0)
				}
			}, func(_ *Config, v *validate.Config) { judged = *v })
		})
	}
}

// Over HTTP clients of one token share a child, and each call brings its roots.
// One that waits for a person does not keep the others from it.
func TestModernQuestionsDoNotHoldTheChild(t *testing.T) {
	modernWays(t, modernCaps, func(t *testing.T, a *askedHub, c *modernWay) {
		if !c.once {
			return // there the roots are those of the process
		}
		params, tag := echoing(reading(a.at("data", "one", "1.txt")))
		q := c.question(params)
		other := filepath.Join(t.TempDir(), "other")
		write(t, filepath.Join(other, "x"))
		d := c.elsewhere(other)
		began := time.Now()
		d.unasked(reading(filepath.Join(other, "x")), "")
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("a call with other roots took %s while a person was asked about another one", took)
		}
		msg, denied := c.answer(q, params, yes)
		c.outcome(params, msg, denied, tag, "")
	})
}

// A client that declares no elicitation with a request is not asked by it, and
// what a former request has declared does not count.
func TestModernClientThatCannotAsk(t *testing.T) {
	modernWays(t, `{"roots":{}}`, func(_ *testing.T, a *askedHub, c *modernWay) {
		c.unasked(reading(a.at("data", "one", "1.txt")), "cannot ask")
		a.holds(0, 0)
	})
	modernWays(t, `{"roots":{},"elicitation":{"url":{}}}`, func(_ *testing.T, a *askedHub, c *modernWay) {
		c.unasked(reading(a.at("data", "one", "1.txt")), "cannot ask")
	})
}
