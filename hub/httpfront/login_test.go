package httpfront

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"mcphub/e2e/fronttest"
	"mcphub/hub/httpfront/admission"
	"mcphub/internal/principal"
)

// Pages of a login are served without a token, to browsers that know the hub by its name. The page learns whose token it is shown, as the
// endpoint would take it. What it refuses is told. Without such pages nothing is there.
func TestPagesOfALogin(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex // guards told
	var told []string
	page := func(w http.ResponseWriter, r *http.Request, whose func(context.Context, string) (principal.Principal, error)) (int, string) {
		form, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		who, err := whose(r.Context(), string(form))
		if err != nil {
			w.WriteHeader(http.StatusForbidden)
			return http.StatusForbidden, err.Error()
		}
		_, _ = fmt.Fprintf(w, "you are %s", who)
		return http.StatusOK, ""
	}
	options := FrontOptions{
		Tokens: []admission.Token{{Name: "alice", Secret: "token of alice"}}, Login: page,
		Resource: &admission.Resource{URL: "https://hub.example/mcp", Issuers: []string{"https://issuer.example"}, Basis: func(admission.Caller) string { return "b" }, Verify: func(_ context.Context, token string) (admission.Caller, error) {
			if token != "signed" {
				return admission.Caller{}, errors.New("it is not signed")
			}
			return admission.Caller{Principal: principal.Principal{Name: "bob", Issuer: "https://issuer.example"}}, nil
		}},
		Tell: func(r Rejection) {
			mu.Lock()
			defer mu.Unlock()
			told = append(told, fmt.Sprint(r.Status, " ", r.Reason, " ", r.Text))
		},
	}
	w := serveWeb(t, newFakeHub(), options)
	for _, tc := range []struct {
		path, form, host string
		status           int
		want             string
	}{
		{"/login/A", "token of alice", "", 200, "you are alice"},
		{"/login/A", "signed", "", 200, "you are bob@issuer.example"},
		{"/login/A", "guess", "", 403, ""},
		{"/login/A", "", "", 403, ""},
		{"/login/A", "token of alice", "evil.example", 403, "the host"}, // a name that was pointed at this machine
		{"/loginA", "token of alice", "", 404, "only /mcp is here"},
	} {
		header := []string{}
		if tc.host != "" {
			header = []string{"Host", tc.host}
		}
		r := fronttest.Do(t, w.c, "POST", strings.TrimSuffix(w.url, "/mcp")+tc.path, tc.form, header...)
		if text := body(t, r); r.StatusCode != tc.status || !strings.Contains(text, tc.want) {
			t.Errorf("%+v: %d %s", tc, r.StatusCode, text)
		}
	}
	mu.Lock()
	got := strings.Join(told, "\n")
	mu.Unlock()
	if strings.Count(got, "403 login") != 2 || strings.Count(got, "403 host") != 1 || !strings.Contains(got, "it is not signed") {
		t.Errorf("told\n%s", got)
	}
	options.Login = nil
	w = serveWeb(t, newFakeHub(), options)
	if r := fronttest.Do(t, w.c, "GET", strings.TrimSuffix(w.url, "/mcp")+"/login/A", ""); r.StatusCode != http.StatusNotFound {
		t.Errorf("without pages: %d", r.StatusCode)
	} else {
		_ = body(t, r)
	}
}
