package setup

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"mcphub/children/consent"
	"mcphub/cmd/mcphub/internal/config/hubfile"
	"mcphub/hub/toolset"
)

// chosen returns what the project of dir chooses, and what is warned of.
func chosen(t *testing.T, s *Source, home, dir string) (names []string, warned string) {
	t.Helper()
	var log bytes.Buffer
	table := &toolset.Table{Sets: []toolset.Set{{Name: "back"}, {Name: "front", Selectable: true}}}
	env := func(name string) (string, bool) { return home, name == hubfile.HomeVariable() }
	got := s.withChoice(table, env, dir, os.Getpid(), zerolog.New(&log))
	if table.Choice != nil {
		t.Error("the toolsets of hub.json themselves have a choice")
	}
	if got.Choice == nil {
		return nil, log.String()
	}
	if want := filepath.Join(home, "work", "app"); !slices.Equal(got.Choice.Dirs, []string{want}) {
		t.Errorf("the choice is for %q, want %s", got.Choice.Dirs, want)
	}
	return got.Choice.Toolsets, log.String()
}

// The file in the top of the project chooses, and no other file does. What cannot be read, and what others may write, chooses nothing.
func TestChoiceOfProjects(t *testing.T) {
	t.Parallel()
	home := homeWith(t, "work/app/.git/", "work/app/pkg/", "work/none/")
	app := filepath.Join(home, "work", "app")
	path := filepath.Join(app, choiceName)
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := &Source{}
	if names, warned := chosen(t, s, home, app); names != nil || warned != "" {
		t.Errorf("without a file %q is chosen, and %q is told", names, warned)
	}
	for _, dir := range []string{"work/none", "work", "", "work/app/pkg"} {
		write(filepath.Join(home, filepath.FromSlash(dir), choiceName), `{"toolsets": ["front"]}`)
		if names, warned := chosen(t, s, home, filepath.Join(home, filepath.FromSlash(dir))); names != nil || warned != "" {
			t.Errorf("in %q, which is the top of no project, %q is chosen, and %q is told", dir, names, warned)
		}
	}
	for text, want := range map[string]struct {
		names []string
		warns string
	}{
		`{"toolsets": ["front"]}`:                  {[]string{"front"}, ""},
		`{"toolsets": ["front", "back"]}`:          {[]string{"front", "back"}, `\"selectable\"`},
		`{"toolsets": []}`:                         {[]string{}, ""},
		`{"toolsets": "front"}`:                    {nil, `write {\"toolsets\": [\"NAME\"]}`},
		`{"toolset": ["front"]}`:                   {nil, "unknown field"},
		`{"toolsets": ["front"]} {"toolsets": []}`: {nil, "more than one object"},
		strings.Repeat(" ", maxChoice) + `{}`:      {nil, "it is larger than"},
		strings.Repeat("[", maxChoice/2):           {nil, "is ignored"},
	} {
		write(path, text)
		names, warned := chosen(t, s, home, filepath.Join(app, "pkg"))
		if !slices.Equal(names, want.names) || !strings.Contains(warned, want.warns) || (warned == "") != (want.warns == "") {
			t.Errorf("%.60s: %q, and %s", text, names, warned)
		}
	}
	if runtime.GOOS == "windows" {
		return // access lists are not read there, and not every user may make links
	}
	write(path, `{"toolsets": ["front"]}`)
	for name, prepare := range map[string]func() error{
		"another user may write":    func() error { return os.Chmod(path, 0o602) },
		"another user may write in": func() error { return os.Chmod(app, 0o777) },
		"it is no regular file":     func() error { return os.Symlink(filepath.Join(app, "pkg", choiceName), path) },
	} {
		if err := os.Chmod(app, 0o700); err != nil {
			t.Fatal(err)
		}
		if name == "it is no regular file" {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		}
		if err := prepare(); err != nil {
			t.Fatal(err)
		}
		if names, warned := chosen(t, s, home, app); names != nil || !strings.Contains(warned, name) {
			t.Errorf("%s: %q, and %s", name, names, warned)
		}
		_ = os.Remove(path)
		write(path, `{"toolsets": ["front"]}`)
	}
}

// What a server could have written chooses nothing before a person has accepted it, and what was accepted counts until then: a server takes no
// choice away, either.
func TestChoiceThatAServerCouldHaveWritten(t *testing.T) {
	t.Parallel()
	home := homeWith(t, "work/app/.git/")
	app := filepath.Join(home, "work", "app")
	path := filepath.Join(app, choiceName)
	store := consent.New(t.TempDir())
	s := &Source{Consent: store}
	chooses := func(what, want, warns string) {
		t.Helper()
		names, warned := chosen(t, s, home, app)
		if got := strings.Join(names, " "); got != want || !strings.Contains(warned, warns) {
			t.Errorf("%s: %q, want %q; %s", what, got, want, warned)
		}
	}
	write := func(name string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(`{"toolsets": ["`+name+`"]}`), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	accept := func() {
		t.Helper()
		all, err := store.Questions()
		if err != nil || len(all) != 1 || all[0].ID != "toolsets:"+path || len(all[0].Lines) == 0 {
			t.Fatalf("a person is asked %+v %v", all, err)
		}
		if err := store.Accept(all[0].ID, all[0].Digest); err != nil {
			t.Fatal(err)
		}
	}
	r := store.Reach()
	t.Cleanup(r.Close)
	if err := r.Add(app); err != nil {
		t.Fatal(err)
	}
	write("front")
	chooses("a server may have made it", "", "a server could have written it")
	accept()
	chooses("accepted", "front", "")
	write("back")
	chooses("changed", "front", "")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	chooses("removed", "front", "")
	accept()
	chooses("its removal was accepted", "", "")
}
