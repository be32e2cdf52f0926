package hints_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mcphub/children/hints"
	"mcphub/children/sandbox"
)

// TestOwnRefusals: what the hub itself has refused is told at once, and an answer that fails is explained by it,
// whatever the answer says.
func TestOwnRefusals(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "shop.db.tmp")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var told []string
	r := &hints.Reader{Profile: &sandbox.Profile{}, Told: func(f sandbox.Refusal) { told = append(told, f.Path) }}
	explained := func(text string, failed bool) string {
		if !r.MayExplain([]byte(text), failed) {
			return ""
		}
		f, _ := r.ReadResponse(text, nil, failed)
		return f.Path
	}
	if got := explained("it could not be kept", true); got != "" {
		t.Errorf("before anything was refused: %q", got)
	}
	r.NoteRefused(path, sandbox.Write)
	r.NoteRefused(path, sandbox.Write)
	if !slices.Equal(told, []string{path}) {
		t.Errorf("told %q", told)
	}
	for _, tc := range []struct {
		text   string
		failed bool
		want   string
	}{{"it could not be kept", true, path}, {"EACCES: permission denied", false, path}, {"EACCES: permission denied, open '/elsewhere/x'", true, path}, {"kept", false, ""}} {
		if got := explained(tc.text, tc.failed); got != tc.want {
			t.Errorf("%q is explained by %q", tc.text, got)
		}
	}
	f := sandbox.Refusal{}
	if _, f = r.Refusals(); f.By != sandbox.ByNotice || f.Opens != path {
		t.Errorf("%+v", f)
	}
	m := hints.RemedyFor("s", f, nil)
	if !slices.Equal(m.Run, hints.Allow("s", sandbox.Write, f.Opens)) {
		t.Errorf("%q", m.Run)
	}
}

// TestANameLikeAFlag: a server whose name looks like a flag stands behind the flags and "--" in each command that is printed.
func TestANameLikeAFlag(t *testing.T) {
	t.Parallel()
	for want, got := range map[string][]string{
		"learn --confirm --root /r --call get -- -n": hints.Record("-n", []string{"/r"}, "get"),
		"learn kid --confirm --root /r --call get":   hints.Record("kid", []string{"/r"}, "get"),
		"learn --root . -- -n":                       hints.Learn("-n", "."),
		"learn kid --root .":                         hints.Learn("kid", "."),
		"allow --write -- -n /x /y":                  hints.Allow("-n", sandbox.Read|sandbox.Write, "/x", "/y"),
		"allow -- -n /x":                             hints.Allow("-n", sandbox.Read, "/x"),
		"allow kid /x --write":                       hints.Allow("kid", sandbox.Write, "/x"),
		"allow --write --calls -- -n /x":             hints.AllowCalls("-n", sandbox.Write, "/x"),
		"allow kid /x --calls":                       hints.AllowCalls("kid", sandbox.Read, "/x"),
		"restart -- -n":                              hints.RemedyFor("-n", sandbox.Refusal{KeepsRunning: true}, nil).Run,
		"learn --root /r -- -n":                      hints.RemedyFor("-n", sandbox.Refusal{Sockets: true}, []string{"/r"}).Run,
	} {
		if strings.Join(got, " ") != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
