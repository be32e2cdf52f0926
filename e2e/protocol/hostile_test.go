package protocol

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"mcphub/e2e/ide"
	"mcphub/e2e/world"
	"mcphub/internal/seeds"
)

// hostile is a modern client that keeps to no rule, before a hub with the fixture as its child.
type hostile struct {
	*party
	w     *world.World
	hub   *world.Witnessed
	twin  *party // of another principal: a token, or a process of its own
	era   string // of the child
	legal int    // calls that may reach the child with the mark
}

// mark stands in the arguments of each call that must not reach the child.
const mark = "hostile-mark"

// bearing gives the address of a proxy that adds a token to each request.
func bearing(w *world.World, target, token string) string {
	w.T.Helper()
	to, err := url.Parse(target)
	world.Must(w.T, err)
	proxy := &httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(to)
		r.Out.URL.Path = to.Path
		r.Out.Host = r.In.Host // which the hub looks at too
		r.Out.Header.Set("Authorization", "Bearer "+token)
	}}
	server := httptest.NewServer(world.WholeBody(proxy))
	w.T.Cleanup(server.Close)
	return server.URL
}

func startHostile(t *testing.T, overWeb, modernChild bool) *hostile {
	w := world.New(t)
	w.Sockets = world.SocketsIn(t)
	h := &hostile{w: w, hub: w.Witnessed(modernChild, false), era: world.EraNames[modernChild]}
	if overWeb {
		w.Write("a.token", "alice-secret-token-of-this-test")
		w.Write("b.token", "bob-secret-token-of-this-test")
		entry := w.Tapped("kid", world.Bin.Fixture, "-era", h.era)
		entry["cwd"] = w.Home // so that no others have it started anew, which ends what waits there
		ceiling := []string{w.Project, w.Other}
		h.hub.Config = w.Config(obj{"kid": entry}, obj{"http": obj{"tokens": []obj{{"name": "alice", "file": "a.token", "roots": ceiling}, {"name": "bob", "file": "b.token", "roots": ceiling}}}})
		at := w.ServeHTTP(h.hub.Config)
		h.party = newParty(t, true, w.Project).overWeb(bearing(w, at, "alice-secret-token-of-this-test"))
		h.twin = newParty(t, true, w.Project).overWeb(bearing(w, at, "bob-secret-token-of-this-test"))
		return h
	}
	h.party = newParty(t, true, w.Project).overPipe(w, world.Hub(t), h.hub.Serve()...)
	h.twin = newParty(t, true, w.Project).overPipe(w, world.Hub(t), h.hub.Serve()...)
	return h
}

// one makes one request, as it is.
func (h *hostile) one(p *party, method string, params obj) ide.Message {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), world.WaitLimit)
	defer cancel()
	m, err := p.exchange(ctx, method, params)
	world.Must(h.t, err)
	return m
}

// question is what a result asks: the retry that answers it.
func (h *hostile) retry(params obj, m ide.Message) (retry obj, methods []string) {
	h.t.Helper()
	var r struct {
		ResultType    string
		InputRequests map[string]struct {
			Method string
			Params json.RawMessage
		}
		RequestState string
	}
	if m.Result == nil || json.Unmarshal(m.Result, &r) != nil || r.ResultType != "input_required" {
		return nil, nil
	}
	answers := obj{}
	for key, q := range r.InputRequests {
		answers[key] = json.RawMessage(h.answerer.answer(q.Method, q.Params).Result)
		methods = append(methods, q.Method)
	}
	retry = maps.Clone(params)
	retry["inputResponses"], retry["requestState"] = answers, r.RequestState
	return retry, methods
}

// until goes through the rounds of a call up to the question with a method.
func (h *hostile) until(params obj, method string) (retry obj) {
	h.t.Helper()
	next := params
	for range 5 {
		m := h.one(h.party, "tools/call", next)
		retry, methods := h.retry(params, m)
		if retry == nil {
			h.t.Fatalf("%v: asked nothing: %s", params, m.Raw)
		}
		for _, asked := range methods {
			if asked == method {
				return retry
			}
		}
		next = retry
	}
	h.t.Fatalf("%v: never asked %s", params, method)
	return nil
}

func tool(name string, arguments obj) obj { return obj{"name": name, "arguments": arguments} }

// altered is a retry with some of its members others.
func altered(retry obj, members obj) obj {
	out := maps.Clone(retry)
	maps.Copy(out, members)
	return out
}

// states are wrong ones made of a right one.
func states(state string) map[string]any {
	all := map[string]any{
		"empty": "", "cut off": state[:len(state)-1], "its half": state[:len(state)/2], "its end": state[8:], "twice": state + state, "longer": state + "A",
		"padded": state + "=", "blank before": " " + state, "line end": state + "\n", "other alphabet": strings.NewReplacer("-", "+", "_", "/").Replace(state) + "+",
		"guessed": strings.Repeat("A", len(state)), "long": strings.Repeat("A", 100_000), "number": 7, "null": nil, "object": obj{"state": state}, "list": []string{state},
	}
	for at := 0; at < len(state); at += 1 + len(state)/24 {
		b := []byte(state)
		b[at] = map[bool]byte{true: 'B', false: 'A'}[b[at] == 'A']
		all[fmt.Sprintf("altered at %d", at)] = string(b)
	}
	return all
}

// refused wants -32602 for each of these retries.
func (h *hostile) refused(p *party, what, method string, params obj) {
	h.t.Helper()
	m := h.one(p, method, params)
	if e, failed := m.RPCError(); !failed || e.Code != -32602 {
		h.t.Errorf("%s: %.500s", what, m.Raw)
	}
}

// attack tries a question's state in every way that is not the honest one; the honest one, the control, comes last.
func (h *hostile) attack(kind string, retry obj, foreign map[string]string) {
	h.t.Helper()
	state := retry["requestState"].(string)
	for what, wrong := range states(state) {
		h.refused(h.party, kind+", state "+what, "tools/call", altered(retry, obj{"requestState": wrong}))
	}
	for what, other := range foreign {
		h.refused(h.party, kind+", the state of "+what, "tools/call", altered(retry, obj{"requestState": other}))
	}
	h.refused(h.twin, kind+", another principal", "tools/call", retry)
	arguments := retry["arguments"].(obj)
	more := maps.Clone(arguments)
	more["mark"] = mark
	for what, params := range map[string]obj{
		"an argument more":        altered(retry, obj{"arguments": more}),
		"no arguments":            altered(retry, obj{"arguments": nil}),
		"other arguments":         altered(retry, obj{"arguments": obj{"path": h.w.Outside + "/" + mark, "message": mark}}),
		"another tool":            altered(retry, obj{"name": "kid__takes_path", "arguments": obj{"path": h.w.Outside + "/" + mark}}),
		"another tool, same args": altered(retry, obj{"name": "kid__test_simple_text"}),
		"through call-tool":       altered(retry, obj{"name": "call-tool", "arguments": obj{"serverName": "kid", "toolName": "takes_path", "toolArgs": obj{"path": mark}}}),
		"a member more":           altered(retry, obj{"x": mark}),
	} {
		h.refused(h.party, kind+", "+what, "tools/call", params)
	}
	h.refused(h.party, kind+", another method", "prompts/get", retry)
	h.refused(h.party, kind+", no object of answers", "tools/call", altered(retry, obj{"inputResponses": []int{1}}))
	if h.legal == 0 && strings.Contains(reached(h.hub), mark) {
		h.t.Errorf("%s: a refused call has reached the child", kind)
	}
	if m := h.one(h.party, "tools/call", retry); m.Result == nil || strings.Contains(string(m.Result), "input_required") || strings.Contains(string(m.Result), `"isError":true`) {
		h.t.Errorf("%s: the honest retry: %.500s", kind, m.Raw)
	}
}

// A requestState goes on with the very call that it was given for, of the very client, and nothing that is altered, swapped,
// replayed or foreign reaches a child; against the program as it is built, over both transports, with children of both eras.
func TestHostileModernClient(t *testing.T) {
	t.Parallel()
	for _, overWeb := range []bool{false, true} {
		for _, modernChild := range []bool{false, true} {
			t.Run(fmt.Sprintf("on %s with a %s child", world.TransportNames[overWeb], world.EraNames[modernChild]), func(t *testing.T) {
				t.Parallel()
				h := startHostile(t, overWeb, modernChild)
				inside := tool("kid__takes_path", obj{"path": h.w.Project + "/hello.txt"})
				form := tool("kid__test_elicitation", obj{"message": "who are you?"})
				h.call("tools/call", inside) // which gives the child its first roots
				roots, asked := h.until(inside, "roots/list"), h.until(form, "elicitation/create")
				h.attack("roots", roots, map[string]string{"a question of a child": asked["requestState"].(string)})
				h.attack("form", asked, map[string]string{"the question for roots": roots["requestState"].(string)})
				h.replays(t, modernChild, roots, asked, form)
				h.races(t, modernChild, form)
				h.smuggles(t, inside)
			})
		}
	}
}

// replays: what holds nothing is judged anew with what the replay brings; what was held is gone.
func (h *hostile) replays(t *testing.T, modernChild bool, roots, asked, form obj) {
	t.Helper()
	root := json.RawMessage(`{"roots":[{"uri":"` + ide.FileURI(h.w.Other) + `"}]}`)
	m := h.one(h.party, "tools/call", altered(roots, obj{"inputResponses": obj{"mcphub-roots": root}}))
	if !strings.Contains(string(m.Result), "Access denied") {
		t.Errorf("replayed with other roots: %.500s", m.Raw)
	}
	if m := h.one(h.party, "tools/call", altered(roots, obj{"inputResponses": obj{}})); !strings.Contains(string(m.Result), "input_required") {
		t.Errorf("replayed without roots: %.500s", m.Raw)
	}
	if !modernChild {
		h.refused(h.party, "replayed", "tools/call", asked)
		h.refused(h.party, "replayed by another", "tools/call", altered(asked, obj{"arguments": form["arguments"]}))
	}
}

// races: of many that bring the same state of a held call at once, one goes on.
func (h *hostile) races(t *testing.T, modernChild bool, form obj) {
	t.Helper()
	if modernChild {
		return // nothing is held: each is a call of its own
	}
	retry := h.until(form, "elicitation/create")
	var wg sync.WaitGroup
	var through, refused atomic.Int32
	for range 40 {
		wg.Go(func() {
			m := h.one(h.party, "tools/call", retry)
			if e, failed := m.RPCError(); failed && e.Code == -32602 {
				refused.Add(1)
			} else if strings.Contains(string(m.Result), "action=accept") {
				through.Add(1)
			}
		})
	}
	wg.Wait()
	if through.Load() != 1 || refused.Load() != 39 {
		t.Errorf("%d went on, %d were refused", through.Load(), refused.Load())
	}
}

// smuggles: answers without a state are no roots and no way around the judgement.
func (h *hostile) smuggles(t *testing.T, inside obj) {
	t.Helper()
	all := json.RawMessage(`{"roots":[{"uri":"file:///"}]}`)
	outside := tool("kid__takes_path", obj{"path": h.w.Outside + "/" + mark})
	for _, params := range []obj{
		altered(outside, obj{"inputResponses": obj{"mcphub-roots": all}}),
		altered(outside, obj{"inputResponses": obj{"mcphub-roots": all}, "_meta": obj{metaCapabilities: obj{}}}),
		altered(outside, obj{"inputResponses": obj{"roots": all}}),
	} {
		m := h.one(h.party, "tools/call", params)
		if retry, methods := h.retry(params, m); retry != nil && (len(methods) != 1 || methods[0] != "roots/list") || retry == nil && !strings.Contains(string(m.Result), "Access denied") {
			t.Errorf("%v: %.500s", params, m.Raw)
		}
	}
	m := h.one(h.party, "tools/call", altered(tool("kid__list_roots", obj{}), obj{"inputResponses": obj{"roots": all, "r": all}}))
	if strings.Contains(string(m.Result), `file:///"`) {
		t.Errorf("the child has roots of its client: %.500s", m.Raw)
	}
	if strings.Contains(reached(h.hub), h.w.Outside+"/"+mark) {
		t.Error("a path outside has reached the child")
	}
	if m := h.call("tools/call", inside); strings.Contains(string(m.Result), `"isError":true`) {
		t.Errorf("control: %.500s", m.Raw)
	}
}

// A modern client that asks and asks and answers nothing costs memory within a bound, whatever it is that it does not answer.
func TestClientThatNeverAnswersIsBounded(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells what a process holds")
	}
	if world.RaceDetector {
		t.Skip("the race detector holds several times as much: .ci/run does this one without it")
	}
	count := seeds.Cases(t, 300)
	for _, overWeb := range []bool{false, true} {
		t.Run(world.TransportNames[overWeb], func(t *testing.T) {
			t.Parallel()
			h := startHostile(t, overWeb, false)
			pad := strings.Repeat("x", 100_000) // so that what is kept would show
			silent := func(from, n int) {       // one after the other: what a child on stdio asks at a time is told apart by nothing
				for i := range n {
					for _, params := range []obj{
						tool("kid__takes_path", obj{"path": fmt.Sprintf("%s/%d/%s", h.w.Project, from+i, pad[:200])}),
						tool("kid__test_elicitation", obj{"message": fmt.Sprint(from+i, pad)}),
					} {
						if m := h.one(h.party, "tools/call", params); !strings.Contains(string(m.Result), "input_required") {
							t.Fatalf("%d: %.300s", from+i, m.Raw)
						}
					}
				}
			}
			h.until(tool("kid__test_elicitation", obj{"message": "first"}), "elicitation/create") // the roots are known, the child runs
			silent(0, count)
			// KiB. A call of this size costs some 600 while it is held, and 32 may be; a hub that kept all would have 200 MiB.
			const most = 160 << 10
			kib := 0
			if !world.Within(world.WaitLimit, func() bool { kib = h.resident(); return kib <= most }) {
				t.Errorf("%d KiB after %d calls that nobody answers, want at most %d", kib, 2*count, most)
			}
			t.Logf("%d KiB after %d calls that nobody answers", kib, 2*count)
			if _, failed := h.tool("kid__test_simple_text", obj{}); failed {
				t.Error("control: a call is not served")
			}
		})
	}
}

// resident is what the hub of this client holds, in KiB.
func (h *hostile) resident() (kib int) {
	h.t.Helper()
	out, _ := h.w.Command("status", "--json")
	var status struct {
		Hubs []struct {
			PID      int
			Sessions []struct{ Client string }
		}
	}
	world.Must(h.t, json.Unmarshal([]byte(out), &status))
	for _, hub := range status.Hubs {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", hub.PID))
		world.Must(h.t, err)
		_, rest, _ := strings.Cut(string(b), "VmRSS:")
		n, err := strconv.Atoi(strings.Fields(rest)[0])
		world.Must(h.t, err)
		kib = max(kib, n)
	}
	if kib == 0 {
		h.t.Fatalf("nothing is known of the hub: %s", out)
	}
	return kib
}
