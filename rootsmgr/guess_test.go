package rootsmgr_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mcphub/e2e/needs"
	. "mcphub/rootsmgr"
	"mcphub/rootsmgr/guard"
)

func TestGuess(t *testing.T) {
	t.Parallel()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	project, work, other := filepath.Join(base, "app"), filepath.Join(base, "app", "src"), filepath.Join(base, "other")
	for _, dir := range []string{work, other} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	planted := filepath.Join(work, "link") // by a server whose root is the project
	needs.Link(t, other, planted)
	guess := Guess{Project: RootEntry{URI: project}, WorkDir: RootEntry{URI: work}}
	beside := Settings{AtWorkDir: true, When: NoRootsPolicy{Unsupported: true, Project: true}}
	written, allowed := beside, beside
	allowed.When.Project = false
	written.WritableDirs = func() []string { return []string{project} }
	remote := Settings{When: NoRootsPolicy{Unsupported: true, Project: true}}
	for name, tc := range map[string]struct {
		settings Settings
		fallback Fallback
		asked    Case
		want     Case
		open     bool
		root     string
		origin   string
	}{
		"a project":              {beside, Fallback{Guess: guess}, CaseUnsupported, CaseKnown, false, project, "project (guessed)"},
		"over HTTP":              {remote, Fallback{Guess: guess}, CaseUnsupported, CaseUnsupported, true, "", "none"},
		"allowed":                {allowed, Fallback{Guess: guess}, CaseUnsupported, CaseUnsupported, true, "", "none"},
		"refused":                {beside, Fallback{Guess: Guess{WorkDir: RootEntry{URI: work}, Refused: "open to others"}}, CaseUnsupported, CaseFailed, false, "", "project (guessed)"},
		"no project":             {beside, Fallback{}, CaseUnsupported, CaseUnsupported, true, "", "none"},
		"no answer":              {beside, Fallback{Guess: guess}, CaseFailed, CaseFailed, false, "", "none"},
		"a configured directory": {beside, Fallback{Origin: OriginConfig, Entries: []RootEntry{{URI: other}}, Guess: guess}, CaseUnsupported, CaseKnown, false, other, "config"},
		"a planted link":         {written, Fallback{Guess: Guess{Project: RootEntry{URI: other}, WorkDir: RootEntry{URI: planted}}}, CaseUnsupported, CaseFailed, false, "", "project (guessed)"},
		"a link, control":        {beside, Fallback{Guess: Guess{Project: RootEntry{URI: other}, WorkDir: RootEntry{URI: planted}}}, CaseUnsupported, CaseKnown, false, other, "project (guessed)"},
		"a project that is gone": {beside, Fallback{Guess: Guess{Project: RootEntry{URI: filepath.Join(base, "gone")}, WorkDir: RootEntry{URI: work}}}, CaseUnsupported, CaseFailed, false, "", "project (guessed)"},
	} {
		v := GuessView(guard.OS{}, tc.settings, tc.fallback, tc.asked)
		root := ""
		if v.Snapshot.Len() > 0 {
			root = v.Snapshot.Roots()[0].Path
		}
		if v.Case != tc.want || v.Open != tc.open || root != tc.root || v.Snapshot.Origin().String() != tc.origin {
			t.Errorf("%s: case %v, open %v, root %q, origin %v", name, v.Case, v.Open, root, v.Snapshot.Origin())
		}
		if projectless := strings.Contains(v.Meaning(), "lies in no project"); projectless != (name == "no project") {
			t.Errorf("%s: %q", name, v.Meaning())
		}
		if v.Snapshot.Origin() != OriginGuess {
			continue
		}
		for _, part := range []string{"working directory", "--roots DIR"} {
			if text := v.Meaning(); !strings.Contains(text, part) {
				t.Errorf("%s: %q lacks %q", name, text, part)
			}
		}
	}
}
