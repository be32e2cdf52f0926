package console

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"mcphub/hub/audit"
)

// What a browser keeps in its files is the part of the secret by which one looks. With that nothing is answered, and what an answer needs
// is not shown. Control: the page that was opened by the code.
func TestTheKeptSecretAnswersNothing(t *testing.T) {
	t.Parallel()
	cfg := fakes("text", t.TempDir())
	var got []Answer
	cfg.Questions = func(context.Context) ([]Question, []string) {
		return []Question{{Title: "a call", Command: "mcphub approve", Hub: "socket-of-hub", ID: "id-of-question", Digest: "digest-of-question", Choices: []string{"file", "directory"}}}, nil
	}
	cfg.Answer = func(_ context.Context, a Answer) error {
		got = append(got, a)
		return nil
	}
	s := testServer(cfg)
	whole := begin(t, s).Get("session")
	kept, _, _ := strings.Cut(whole, ".")
	script, err := files.ReadFile("static/console.js")
	if err != nil || !strings.Contains(string(script), `sessionStorage.setItem(key, form.elements.session.value.split(".")[0])`) || strings.Count(string(script), "setItem") != 2 {
		t.Errorf("the script keeps something else: %v", err)
	}
	for session, may := range map[string]bool{kept: false, whole: true} {
		got = nil
		shown := ask(s, "POST", "/questions", url.Values{"session": {session}}, nil).Body.String()
		for _, secret := range []string{"socket-of-hub", "id-of-question", "digest-of-question", `value="directory"`} {
			if strings.Contains(shown, secret) != may {
				t.Errorf("may answer %t: %s is shown: %t", may, secret, !may)
			}
		}
		for _, decision := range []string{"directory", "deny"} {
			w := ask(s, "POST", "/answer", url.Values{"session": {session}, "hub": {"socket-of-hub"}, "id": {"id-of-question"}, "digest": {"digest-of-question"}, "decision": {decision}}, nil)
			said := map[string]string{"directory": "Allowed: directory.", "deny": "Denied."}[decision]
			if w.Code != http.StatusOK || strings.Contains(w.Body.String(), said) != may || strings.Contains(w.Body.String(), errLooks.Error()) == may {
				t.Errorf("may answer %t: %d %s", may, w.Code, w.Body)
			}
		}
		if want := map[bool]int{true: 2}[may]; len(got) != want || may && got[0] != (Answer{"socket-of-hub", "id-of-question", "digest-of-question", "directory"}) {
			t.Errorf("may answer %t: %+v", may, got)
		}
	}
}

// What changes hub.json is neither shown nor done for a page that only looks, nor where the console may be no person's. Control:
// the page that was opened by the code of a console that may.
func TestWhoMayAllowOnThePage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	recordHostile(t, dir, "path-of-the-call")
	cfg := fakes("text", dir)
	cfg.Mends = func() func(audit.Refusal) Mend {
		return func(audit.Refusal) Mend {
			return Mend{"what to do", "mcphub allow x y", &Allowance{Server: "server-x", Path: "/path/of/y", Write: true}}
		}
	}
	var done []string
	cfg.Change = func(_ context.Context, e Edit) (Change, error) {
		done = append(done, "shown")
		return Change{Edit: e, File: "hub.json", Lines: []string{"+the new line"}, Digest: "digest-of-change"}, nil
	}
	cfg.Try = func(_ context.Context, e Edit, _ string) (Change, error) {
		done = append(done, "tried")
		return Change{Edit: e, Tried: []string{"it works"}}, nil
	}
	cfg.Write = func(_ context.Context, e Edit, digest string) (string, error) {
		done = append(done, fmt.Sprintf("written: %v %s", e.Allowance, digest))
		return "and so on", nil
	}
	var may error
	cfg.MayEdit = func() error { return may }
	s := testServer(cfg)
	whole := begin(t, s).Get("session")
	kept, _, _ := strings.Cut(whole, ".")
	for _, c := range []struct {
		name, session string
		may           error
		want          bool
	}{
		{"the page opened by the code", whole, nil, true},
		{"a page that was loaded anew", kept, nil, false},
		{"a console that a client has begun", whole, errors.New("no person"), false},
	} {
		done, may = nil, c.may
		list := ask(s, "POST", "/decisions", url.Values{"session": {c.session}, "patient": {"yes"}}, nil).Body.String()
		if !strings.Contains(list, "mcphub allow x y") || strings.Contains(list, `value="/path/of/y"`) != c.want {
			t.Errorf("%s: the decisions are\n%s", c.name, list)
		}
		form := url.Values{"session": {c.session}, "do": {DoAllow}, "server": {"server-x"}, "path": {"/path/of/y"}, "write": {"yes"}}
		shown := ask(s, "POST", "/change", form, nil).Body.String()
		if strings.Contains(shown, "the new line") != c.want || strings.Contains(shown, `value="digest-of-change"`) != c.want || strings.Contains(shown, "hub.json is not changed") == c.want {
			t.Errorf("%s: the change is\n%s", c.name, shown)
		}
		form.Set("digest", "digest-of-change")
		if said := ask(s, "POST", "/try", form, nil).Body.String(); strings.Contains(said, "it works") != c.want {
			t.Errorf("%s: %s", c.name, said)
		}
		if said := ask(s, "POST", "/write", form, nil).Body.String(); strings.Contains(said, "Written. and so on") != c.want {
			t.Errorf("%s: %s", c.name, said)
		}
		if want := []string{"shown", "tried", "written: {server-x /path/of/y true false} digest-of-change"}; c.want && !slices.Equal(done, want) || !c.want && done != nil {
			t.Errorf("%s: %v", c.name, done)
		}
	}
}
