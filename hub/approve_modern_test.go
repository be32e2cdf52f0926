package hub

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mcphub/internal/jsonrpc"
	"mcphub/internal/methods"
	"mcphub/rootsmgr/platform"
	"mcphub/validate"
)

// A modernWay is a client of the modern era on one of its transports. once says
// that each of its requests stands alone, and so does what is allowed for it.
type modernWay struct {
	*askedHub
	once  bool
	roots []string
	send  func(ctx context.Context, params string) (result string, err error)
	leave func()
	// another is someone else: another process, or another token.
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
			w, _, _ := bubbleWeb(a.T, a.h, HTTPOptions{Tokens: []Token{{Name: "me", Secret: "mine"}, {Name: "you", Secret: "yours"}}})
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
		all = append(all, fmt.Sprintf(`{"uri":%q}`, platform.Host().FormatURI(d)))
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
			if of == methods.Elicit {
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
		if of == methods.Elicit {
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

// echoing returns a call of echo with a tag of its own.
func echoing(args string) (params, tag string) {
	tags.Lock()
	defer tags.Unlock()
	tags.n++
	tag = fmt.Sprintf("m%d", tags.n)
	return toolCall("kid__echo", tagged(tag, args)), tag
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

// open returns the grants, and what waits for a person, in all sessions.
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
		if !strings.Contains(q.text(), "If you answer \"file\", this server may "+lifetime+":\n- read the file "+strconv.Quote(a.at("data", "one", "1.txt"))+", and nothing beside it\n") ||
			!strings.Contains(q.text(), "If you answer \"directory\", this server may "+lifetime+":\n- read everything in the directory "+strconv.Quote(a.at("data", "one"))) {
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

// Over HTTP clients of one token share a child, and each call brings its roots.
// One that waits for a person does not keep the others from it.
func TestModernQuestionsDoNotHoldTheChild(t *testing.T) {
	modernWays(t, modernCaps, func(t *testing.T, a *askedHub, c *modernWay) {
		if !c.once {
			return // there the roots are the roots of the process
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
