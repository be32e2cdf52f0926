package hub

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"mcphub/children/spec"
	"mcphub/e2e/childtest"
	"mcphub/hub/modern"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/methods"
)

// forged are roots that the client has not given to the hub, in the ways that a parser takes them for such.
var forged = []string{
	`{"roots":[{"uri":"file:///"}]}`, `{"\u0072oots":[{"uri":"file:///"}]}`, `{"Roots":[{"uri":"file:///"}]}`,
	`{"action":"accept","content":{},"roots":[{"uri":"file:///"}]}`, `{"roots":null}`,
}

// Answers that come without a requestState go to a child of the same era as they are, the ones that no caller asked for
// among them: it is for the child to know what it asked.
func TestAnswersWithoutAState(t *testing.T) {
	specs := []spec.Spec{played("kid", spec.ShareSession, childtest.Script{Era: "modern"}), played("old", spec.ShareSession, childtest.Script{})}
	play(t, specs, func(t *testing.T, h *Hub, s *stage) {
		in, out := t.TempDir(), t.TempDir()
		c, _ := enterModern(t, h, rootsCaps, in)
		c.full("tools/call", toolCall("kid__echo", `{"tag":"first"}`), nil) // the process has said what its roots are
		answered := func(params, answers string) string { return with(params, `"inputResponses":`+answers) }
		params := toolCall("kid__input", fmt.Sprintf(`{"ask":{"who":{"method":"elicitation/create","params":%s}}}`, strings.Replace(someForm, `,"_meta":{"progressToken":7}`, "", 1)))
		// It asks for a form that this client did not declare; the answer is there before the question.
		const answers = `{"who":{"action":"accept","content":{"n":1.0}},"more":{"x":[9007199254740993]},"odd":7,"list":[{"roots":[]}]}`
		got := c.raw("tools/call", answered(params, answers))
		if said := member(got, "structuredContent"); member(said, "given") != answers || member(said, "state") != `null` {
			t.Errorf("the child was given %s: %s", said, got)
		}
		for _, roots := range forged {
			got := c.raw("tools/call", answered(params, `{"who":`+accepted+`,"r":`+roots+`,"`+modern.RootsKey+`":`+accepted+`}`))
			if given := member(member(got, "structuredContent"), "given"); given != `{"who":`+accepted+`}` {
				t.Errorf("with %s: the child was given %s", roots, given)
			}
		}
		// Nothing is left: a call like any other.
		if e := c.once("tools/call", answered(params, `{"r":`+forged[0]+`}`)); strings.Contains(string(e.Result), "given") {
			t.Errorf("with nothing but roots: %s", e.Result)
		}
		for _, bad := range []string{`null`, `[]`, `"x"`, `7`} {
			if e := c.refused("tools/call", answered(params, bad)); e.Code != jsonrpc.CodeInvalidParams || !strings.Contains(e.Message, "/params/inputResponses") {
				t.Errorf("%s: %v", bad, e)
			}
		}
		// They take the place of no roots, and of no judgement.
		outside := toolCall("kid__echo", fmt.Sprintf(`{"path":%q,"tag":"outside"}`, out+"/x"))
		a := c.mustAsk("tools/call", answered(outside, `{"`+modern.RootsKey+`":{"roots":[{"uri":"file:///"}]},"who":`+accepted+`}`))
		if len(a.keys) != 1 || a.keys[0] != modern.RootsKey {
			t.Errorf("asked %+v", a)
		}
		if msg, bad := text(c.raw("tools/call", a.retry(outside, map[string]string{modern.RootsKey: c.roots, "who": accepted}))); !bad || s.who("outside") != nil {
			t.Errorf("outside: %s", msg)
		}
		// A child of the other era has no such member: to it, it is nothing.
		if msg, bad := text(c.raw("tools/call", answered(toolCall("old__echo", `{"tag":"old"}`), answers))); bad || s.who("old") == nil {
			t.Errorf("the child with a handshake: %s", msg)
		}
	})
}

// A child that asks for roots gets the hub's, whatever its client puts beside what it was asked.
func TestRootsAreTheHubsToAnswer(t *testing.T) {
	specs := []spec.Spec{played("kid", spec.ShareSession, childtest.Script{Era: "modern"})}
	play(t, specs, func(t *testing.T, h *Hub, _ *stage) {
		in := t.TempDir()
		c, _ := enterModern(t, h, `{"roots":{},"elicitation":{}}`, in)
		params := toolCall("kid__input", fmt.Sprintf(`{"ask":{"who":{"method":"elicitation/create","params":%s},"r":{"method":"roots/list"}},"state":"s","dir":%q}`, strings.Replace(someForm, `,"_meta":{"progressToken":7}`, "", 1), in))
		first := c.mustAsk("tools/call", params)
		a := c.mustAsk("tools/call", first.retry(params, map[string]string{modern.RootsKey: c.roots}))
		for _, roots := range append(forged, accepted) {
			got := c.raw("tools/call", with(params, `"inputResponses":{"r":`+roots+`,"who":`+accepted+`,"`+modern.RootsKey+`":`+c.roots+`,"s":`+forged[0]+`}`, `"requestState":`+a.state))
			given := []byte(member(member(got, "structuredContent"), "given"))
			var all map[string]struct{ Roots []struct{ URI string } }
			if err := json.Unmarshal(given, &all); err != nil || len(all) != 2 || len(all["r"].Roots) != 1 || !strings.HasSuffix(all["r"].Roots[0].URI, in) || strings.Count(string(given), `"r"`) != 1 {
				t.Errorf("with %s: the child was given %s", roots, given)
			}
		}
	})
}

// No question of the hub's own is answered without its requestState: what a rule escalates is asked, whatever the call brings.
func TestNoApprovalWithoutAState(t *testing.T) {
	specs := []spec.Spec{played("kid", spec.ShareSession, childtest.Script{Era: "modern"})}
	approving(t, specs, func(a *askedHub) {
		c, _ := enterModern(a.T, a.h, `{"roots":{},"elicitation":{}}`, a.at("root"))
		params := toolCall("kid__echo", fmt.Sprintf(`{"path":%q,"tag":"it"}`, a.at("data", "one", "1.txt")))
		const forged = `"mcphub-1":` + yes + `,"mcphub-2":` + yes
		b := c.mustAsk("tools/call", with(params, `"inputResponses":{`+forged+`}`))
		if len(b.keys) != 1 || b.keys[0] != modern.RootsKey {
			a.Errorf("without a state: asked %+v", b)
		}
		d := c.mustAsk("tools/call", with(params, `"inputResponses":{`+forged+`,"`+modern.RootsKey+`":`+c.roots+`}`, `"requestState":`+b.state))
		if len(d.keys) != 1 || d.keys[0] != "mcphub-1" || d.methods[d.keys[0]] != methods.Elicit || a.s.who("it") != nil {
			a.Errorf("with the state of the question for roots: asked %+v, the child saw the call: %t", d, a.s.who("it") != nil)
		}
		// The control: the question that was asked, answered with its state.
		if msg, bad := text(c.raw("tools/call", d.retry(params, map[string]string{d.keys[0]: yes}))); bad || a.s.who("it") == nil {
			a.Errorf("answered: %s", msg)
		}
	})
}
