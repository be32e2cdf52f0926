package secrets

import (
	"fmt"
	"strings"
	"testing"
)

func TestFindPlain(t *testing.T) {
	github := "ghp_" + strings.Repeat("a1B2", 9)
	all := FindPlain(Entry{
		Name: "my server",
		Env: map[string]string{"API_KEY": "k1", "LANG": "C", "TOKEN": "${TOKEN}", "EMPTY_TOKEN": "", "DSN": "postgres://u:pw12@h/db", "PLAIN": github,
			"TOKEN_FILE": "/x", "PWD": "/home/u"},
		Headers: map[string]string{"Authorization": "Bearer k2", "Accept": "text/html", "X-Api-Key": "k3"},
		Args:    []string{"-y", "pkg", "--token=k4", "--api-key", "k5", "--header", "Authorization: Bearer k6", "--verbose", "--token=${T}"},
	})
	var got []string
	for _, p := range all {
		got = append(got, fmt.Sprintf("%s %s %s %s", strings.Join(p.Key, "."), p.Name, p.Value, p.Text))
	}
	want := []string{
		"env.API_KEY my-server/API_KEY k1 ${keyring:my-server/API_KEY}",
		"env.DSN my-server/DSN u:pw12 postgres://${keyring:my-server/DSN}@h/db",
		"env.PLAIN my-server/PLAIN " + github + " ${keyring:my-server/PLAIN}",
		"headers.Authorization my-server/Authorization k2 Bearer ${keyring:my-server/Authorization}",
		"headers.X-Api-Key my-server/X-Api-Key k3 ${keyring:my-server/X-Api-Key}",
		"args.2 my-server/token k4 --token=${keyring:my-server/token}",
		"args.4 my-server/api-key k5 ${keyring:my-server/api-key}",
		"args.6 my-server/Authorization-2 k6 Authorization: Bearer ${keyring:my-server/Authorization-2}",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	s := newStore(t, t.TempDir(), errNoBus)
	if at, why, err := s.Move(t.Context(), all); at != InFile || why == "" || err != nil {
		t.Fatal(at, why, err)
	}
	for _, p := range all { // put together again it is what it was
		value, err := s.Get(t.Context(), p.Name)
		if err != nil || value != p.Value {
			t.Errorf("%s: %q, %v", p.Name, value, err)
		}
	}
	if len(FindPlain(Entry{Name: "x", Args: []string{"/srv/data", "--port", "80"}})) > 0 {
		t.Error("harmless arguments are secrets")
	}
}
