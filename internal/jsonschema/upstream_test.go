package jsonschema

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// changed are the files that differ from those of the library, with how many lines are new. Each new line that is no statement of the
// change itself is marked "mcphub".
var changed = map[string]int{"draft.go": 12}

// TestTheCopyIsTheLibrary: all files are those of the release in go.mod, but for the lines that compile meta-schemas later.
func TestTheCopyIsTheLibrary(t *testing.T) {
	t.Parallel()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/santhosh-tekuri/jsonschema/v6").Output()
	if err != nil {
		t.Fatal(err)
	}
	upstream := strings.TrimSpace(string(out))
	files, seen := 0, map[string]bool{}
	err = filepath.WalkDir(".", func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(path, "_test.go") || path == "doc.go" {
			return err
		}
		files++
		ours, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		theirs, err := os.ReadFile(filepath.Join(upstream, path))
		if err != nil {
			return err
		}
		if want, known := changed[path]; known {
			seen[path] = true
			if got := countNew(ours, theirs); got != want {
				t.Errorf("%s has %d lines that the library has not, want %d", path, got, want)
			}
			return nil
		}
		if !bytes.Equal(ours, theirs) {
			t.Errorf("%s is not as the library has it", path)
		}
		return nil
	})
	if err != nil || files < 20 || len(seen) != len(changed) {
		t.Errorf("%d files compared, changed ones %v: %v", files, seen, err)
	}
}

// countNew returns how many lines of a text another one has not.
func countNew(ours, theirs []byte) (n int) {
	had := map[string]int{}
	for line := range strings.Lines(string(theirs)) {
		had[strings.TrimSpace(line)]++
	}
	for line := range strings.Lines(string(ours)) {
		if line = strings.TrimSpace(line); had[line] > 0 {
			had[line]--
		} else {
			n++
		}
	}
	return n
}

// TestDraftsAreCompiledOnUse: nothing is compiled before a schema asks for its draft, and then that draft alone.
func TestDraftsAreCompiledOnUse(t *testing.T) {
	c := NewCompiler()
	c.DefaultDraft(Draft2020)
	if err := c.AddResource("urn:own", map[string]any{"type": "object"}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Compile("urn:own"); err != nil {
		t.Fatal(err)
	}
	for _, d := range []*Draft{Draft4, Draft6, Draft7, Draft2019, Draft2020} {
		if compiled := d.sch != nil; compiled != (d == Draft2020) {
			t.Errorf("%s is compiled: %t", d, compiled)
		}
	}
	c = NewCompiler()
	c.DefaultDraft(Draft7)
	if err := c.AddResource("urn:broken", map[string]any{"type": 7}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Compile("urn:broken"); err == nil {
		t.Error("a schema that draft 7 forbids was compiled")
	}
}
