package hub

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"mcphub/children/spec"
	"mcphub/e2e/childtest"
	"mcphub/hub/modern"
	"mcphub/internal/jsonrpc"
	"mcphub/rootsmgr/platform"
)

// lazyKid asks for the roots when its tool "roots" is called, and not before.
func lazyKid(t *testing.T) spec.Spec {
	spec := played("kid", spec.ShareSession, childtest.Script{LazyRoots: true})
	spec.Cwd = t.TempDir() // so nothing wants the roots before that
	return spec
}

func served(dirs ...string) string {
	var all []string
	for _, d := range dirs {
		all = append(all, fmt.Sprintf(`{"uri":%q,"name":%q}`, platform.Host().FormatURI(d), filepath.Base(d)))
	}
	return `{"roots":[` + strings.Join(all, ",") + `]}`
}

const (
	lazily  = `{"name":"kid__roots","arguments":{}}`
	nothing = `{"roots":[]}`
)

// unexplained returns what a child is served, without why it is nothing.
func unexplained(served string) string {
	list, _, _ := strings.Cut(served, `,"_meta":{"mcphub/roots":`)
	return strings.TrimSuffix(list, "}") + "}"
}

func TestRootsThatAChildAsksForInACall(t *testing.T) {
	play(t, []spec.Spec{lazyKid(t)}, func(t *testing.T, h *Hub, s *stage) {
		in := t.TempDir()
		unable, _ := enterModern(t, h, `{}`)
		if got, _ := text(unable.raw("tools/call", lazily)); unexplained(got) != nothing {
			t.Errorf("a client that gives no roots: %s", got)
		}
		c, _ := enterModern(t, h, rootsCaps, in)
		a := c.mustAsk("tools/call", lazily)
		launched, _ := s.count("kid")
		if len(a.keys) != 1 || a.methods[a.keys[0]] != "roots/list" || a.params[a.keys[0]] != "{}" {
			t.Fatalf("asked %+v", a)
		}
		if e := c.refused("tools/call", a.retry(lazily, map[string]string{a.keys[0]: `{"roots":7}`})); e.Code != jsonrpc.CodeInvalidParams || !strings.Contains(e.Message, modern.RootsKey) {
			t.Errorf("no roots: %v", e)
		}
		if b := c.mustAsk("tools/call", a.retry(lazily, nil)); b.methods[b.keys[0]] != "roots/list" {
			t.Errorf("left out, they are to be asked for again: %+v", b)
		} else {
			a = b
		}
		if got, _ := text(c.raw("tools/call", a.retry(lazily, map[string]string{a.keys[0]: c.roots}))); got != served(in) {
			t.Errorf("the child was given %s, want %s", got, served(in))
		}
		result, sent := c.full("tools/call", lazily, nil)
		if got, _ := text(result); got != served(in) || sent != 2 {
			t.Errorf("the second call was sent %d times, and the child was given %s", sent, got)
		}
		if _, sent := c.full("tools/call", `{"name":"kid__echo","arguments":{}}`, nil); sent != 1 {
			t.Errorf("a call in which the child does not ask was sent %d times", sent)
		}
		if now, live := s.count("kid"); now != launched || live != 2 {
			t.Errorf("%d more were started: a child that has served calls is to stay", now-launched)
		}
		if h.suspended.Load() != 0 {
			t.Error("a request is still held")
		}
	})
}

// A client of this era cannot tell that its roots have changed. A child that asks for them gets the ones
// that the client has by then, whether it works in one of them or elsewhere, and whichever era it is of.
func TestRootsThatChangeBetweenCalls(t *testing.T) {
	modernKid := played("kid", spec.ShareSession, childtest.Script{Era: "modern"})
	inFirst := played("kid", spec.ShareSession, childtest.Script{LazyRoots: true})
	atStart := lazyKid(t)
	atStart.Args, atStart.Env = scripted("kid", childtest.Script{AskRoots: true}).Args, scripted("kid", childtest.Script{AskRoots: true}).Env
	const input = `{"name":"kid__input","arguments":{"ask":{"r":{"method":"roots/list"}},"state":"s"}}`
	for name, tc := range map[string]struct {
		kid    spec.Spec
		params string
	}{
		"it asks in a call":             {lazyKid(t), lazily},
		"it has asked at its start too": {atStart, lazily},
		"it works in a root":            {inFirst, lazily},
		"it asks by its result":         {modernKid, input},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, []spec.Spec{tc.kid}, func(t *testing.T, h *Hub, _ *stage) {
				first, second := t.TempDir(), t.TempDir()
				c, _ := enterModern(t, h, rootsCaps, first)
				for _, dirs := range [][]string{{first}, {second}, {second, first}, {}, {first}} {
					c.setRoots(dirs...)
					begun := time.Now()
					result, sent := c.full("tools/call", tc.params, nil)
					got := strings.ReplaceAll(result, `\`, "")
					if want := strings.TrimSuffix(served(dirs...), "}"); sent != 2 || !strings.Contains(got, want) {
						t.Errorf("with %v it was sent %d times, and the child was given %s", dirs, sent, got)
					}
					if took := time.Since(begun); took > time.Second {
						t.Errorf("it took %s", took)
					}
				}
			})
		})
	}
}

// A client that can give roots and never does holds the child's question for
// roots.timeout, and the call is answered without.
func TestRootsThatNeverCome(t *testing.T) {
	stands := t.TempDir()
	for name, configured := range map[string]string{nothing: "", served(stands): stands} {
		playWith(t, []spec.Spec{lazyKid(t)}, playOptions{fallback: configured}, func(t *testing.T, h *Hub, _ *stage) {
			in := t.TempDir()
			c, _ := enterModern(t, h, rootsCaps, in)
			a := c.mustAsk("tools/call", lazily)
			time.Sleep(h.currentConfiguration().Roots.Timeout + time.Second)
			if got, _ := text(c.raw("tools/call", a.retry(lazily, nil))); unexplained(got) != name {
				t.Errorf("the child was given %s, want %s", got, name)
			}
			// It is known now to be one that asks: the next call asks before.
			result, sent := c.full("tools/call", lazily, nil)
			if got, _ := text(result); got != served(in) || sent != 2 {
				t.Errorf("the next call was sent %d times, and the child was given %s", sent, got)
			}
		})
	}
	play(t, []spec.Spec{lazyKid(t)}, func(t *testing.T, h *Hub, _ *stage) {
		c, leave := enterModern(t, h, rootsCaps, t.TempDir())
		c.mustAsk("tools/call", lazily)
		leave() // and nothing is left of it: see play
		if h.suspended.Load() != 0 {
			t.Error("a request is still held")
		}
	})
}

// What a child asks outside any call is answered at once.
func TestRootsAskedForOutsideACall(t *testing.T) {
	child := lazyKid(t)
	child.Args, child.Env = scripted("kid", childtest.Script{AskRoots: true}).Args, scripted("kid", childtest.Script{AskRoots: true}).Env
	play(t, []spec.Spec{child}, func(t *testing.T, h *Hub, _ *stage) {
		c, _ := enterModern(t, h, rootsCaps, t.TempDir())
		begun := time.Now()
		c.raw("tools/list", `{}`)
		synctest.Wait()
		if lease, ok := h.sup.TryAcquire(h.only("kid")); !ok || !lease.AskedRoots() {
			t.Error("its question was not answered")
		} else {
			lease.Release()
		}
		if time.Since(begun) >= h.currentConfiguration().Roots.Timeout {
			t.Error("it waited")
		}
	})
}

// only returns the one instance of a child.
func (h *Hub) only(child string) spec.Key {
	for _, st := range h.sup.Status() {
		k := st.Key
		if k.Child == child {
			return k
		}
	}
	return spec.Key{}
}

// A name that leads out of the roots, once these are known, is a path: the call
// ends before the child is given them.
func TestRootsInACallAreJudgedBefore(t *testing.T) {
	in, out := t.TempDir(), t.TempDir()
	for _, err := range []error{
		os.Mkdir(filepath.Join(in, "a"), 0o700), os.WriteFile(filepath.Join(out, "secret"), nil, 0o600),
		os.Symlink(filepath.Join(out, "secret"), filepath.Join(in, "a", "way-out")),
		os.WriteFile(filepath.Join(in, "a", "way-in"), nil, 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, allowed := range map[string]bool{"way-in": true, "way-out": false} {
		play(t, []spec.Spec{lazyKid(t)}, func(t *testing.T, h *Hub, _ *stage) {
			c, _ := enterModern(t, h, rootsCaps, in)
			params := toolCall("kid__roots", fmt.Sprintf(`{"tag":"a/%s"}`, name))
			a := c.mustAsk("tools/call", params)
			if a.methods[a.keys[0]] != "roots/list" || h.suspended.Load() != 1 {
				t.Fatalf("asked %+v before the child did: this is to be about a name that is no path yet", a)
			}
			got, bad := text(c.raw("tools/call", a.retry(params, map[string]string{a.keys[0]: c.roots})))
			if allowed && (bad || got != served(in)) {
				t.Errorf("%s: %s", name, got)
			}
			if !allowed && (!bad || !strings.Contains(got, "Access denied")) {
				t.Errorf("%s: allowed, and the child was given %s", name, got)
			}
		})
	}
}

func TestRootsInACallOverHTTP(t *testing.T) {
	spec := lazyKid(t)
	mine, other, more := t.TempDir(), t.TempDir(), t.TempDir()
	unasked := serveWeb(t, newPlayedHub(t, spec), HTTPOptions{})
	if got, _ := unasked.modern("").call("kid__roots", `{}`); unexplained(got) != nothing {
		t.Errorf("a client that gives no roots: %s", got)
	}
	w := serveWeb(t, newPlayedHub(t, spec), HTTPOptions{}) // whose child has never asked
	// One is asked, and has not answered; meanwhile another has its call done.
	c := w.modern("", mine)
	m := c.suspendCall("kid__roots", `{}`)
	if !strings.Contains(string(m.Result), `"mcphub-roots":{"method":"roots/list","params":{}}`) {
		t.Fatalf("asked %s", m.Result)
	}
	if got, _ := w.modern("", other).call("kid__roots", fmt.Sprintf(`{"path":%q}`, other)); got != served(other) {
		t.Errorf("a call that brings roots: the child was given %s", got)
	}
	again, status := c.outcome(c.once("tools/call", c.again(toolCall("kid__roots", `{}`), m.Result)), nil)
	if got, _ := text(string(again.Result)); status != 200 || got != served(mine) {
		t.Errorf("%d: the child was given %s", status, got)
	}
	// It has been served roots of this token by now: no one is asked on account of it.
	if got, _ := w.modern("", more).call("kid__roots", `{}`); got != served(mine) {
		t.Errorf("a later call without a path: the child was given %s", got)
	}
	if got, _ := w.modern("", more).call("kid__roots", fmt.Sprintf(`{"path":%q}`, more)); got != served(more) {
		t.Errorf("a later call with a path: the child was given %s", got)
	}
}

// A child that asks for the first time in a call works where it was started until that
// call has ended. It works in the root before the next call is judged.
func TestRootsInACallMoveTheChild(t *testing.T) {
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "hello.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c := serveWeb(t, newTestHub(t, scripted("kid", childtest.Script{LazyRoots: true})), HTTPOptions{}).modern("", root)
	before := placeOf(t, c, `{}`)
	if before == root {
		t.Fatal("the child is in the root before anybody has said that there is one")
	}
	if got, bad := c.call("kid__roots", `{}`); bad || got != served(root) {
		t.Errorf("in the call the child was given %s", got)
	}
	if got := placeOf(t, c, `{"path":"hello.txt"}`); got != root {
		t.Errorf("the child works in %s, not in the root", got)
	}
}

// placeOf returns where the child works that a call of kid__env goes to.
func placeOf(t *testing.T, c *modernWeb, args string) string {
	t.Helper()
	m := c.request("tools/call", toolCall("kid__env", args), nil)
	cwd, ok := jsonrpc.String(jsonrpc.Get(jsonrpc.Get(m.Result, "structuredContent"), "cwd"))
	if !ok {
		t.Fatalf("it did not say where it works: %s%s", m.Result, m.Error)
	}
	return cwd
}

// A name that may be a path has a turn from the start, which changes with the roots.
func TestRootsInACallThatHasATurn(t *testing.T) {
	w := serveWeb(t, newPlayedHub(t, lazyKid(t)), HTTPOptions{})
	mine, other := t.TempDir(), t.TempDir()
	if got, _ := w.modern("", mine).call("kid__roots", `{"tag":"a/name"}`); got != served(mine) {
		t.Errorf("the child was given %s", got)
	}
	if got, _ := w.modern("", other).call("kid__roots", fmt.Sprintf(`{"path":%q}`, other)); got != served(other) {
		t.Errorf("a later call with a path: the child was given %s", got)
	}
}

// Calls that bring roots and calls on which the child asks for them never get
// the roots of one another.
func TestRootsInACallTakeTurns(t *testing.T) {
	for round := range 2 {
		w := serveWeb(t, newPlayedHub(t, lazyKid(t)), HTTPOptions{})
		sets := []string{t.TempDir(), t.TempDir(), t.TempDir()}
		var wg sync.WaitGroup
		for i := range 12 {
			wg.Go(func() {
				dir := sets[i%len(sets)]
				args, any := `{}`, true
				if i%2 == round%2 {
					args, any = fmt.Sprintf(`{"path":%q}`, dir), false
				}
				got, bad := w.modern("", dir).call("kid__roots", args)
				if bad || !any && got != served(dir) || any && got == nothing {
					t.Errorf("with %s the child is served %s", dir, got)
				}
			})
		}
		wg.Wait()
	}
}

// While a call of a handshake client is with the child as well, it cannot be told
// whose the question is: it is answered as for that client.
func TestRootsInACallBesideAHandshake(t *testing.T) {
	play(t, []spec.Spec{lazyKid(t)}, func(t *testing.T, h *Hub, _ *stage) {
		mine, asked := t.TempDir(), t.TempDir()
		c, _ := enterModern(t, h, rootsCaps, mine)
		c.asks = func(_ *modernClient, m *jsonrpc.Message) jsonrpc.Answer {
			return jsonrpc.ResultAnswer([]byte(served(asked)))
		}
		c.testClient.handshake(`{"roots":{}}`)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = c.testClient.conn.Call(ctx, "tools/call", []byte(toolCall("kid__sleep", `{}`)))
		}()
		synctest.Wait()
		if got, _ := text(c.raw("tools/call", lazily)); got != served(asked) {
			t.Errorf("beside a handshake client's call the child was given %s, want %s", got, served(asked))
		}
		cancel()
		<-done
		synctest.Wait()
		if got, _ := text(c.testClient.raw("tools/call", lazily)); got != served(asked) {
			t.Errorf("the handshake client's own call: the child was given %s", got)
		}
	})
}
