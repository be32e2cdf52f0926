package console

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// What a browser keeps in its files is the part of the secret by which one looks. With that nothing is answered, and what an answer needs
// is not shown. Control: the page that was opened by the code.
func TestTheKeptSecretAnswersNothing(t *testing.T) {
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
	if err != nil || !strings.Contains(string(script), `sessionStorage.setItem(key, session.split(".")[0])`) || strings.Count(string(script), "setItem") != 2 {
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
			if w.Code != http.StatusOK || strings.Contains(w.Body.String(), said) != may || strings.Contains(w.Body.String(), looksOnly) == may {
				t.Errorf("may answer %t: %d %s", may, w.Code, w.Body)
			}
		}
		if want := map[bool]int{true: 2}[may]; len(got) != want || may && got[0] != (Answer{"socket-of-hub", "id-of-question", "digest-of-question", "directory"}) {
			t.Errorf("may answer %t: %+v", may, got)
		}
	}
}
