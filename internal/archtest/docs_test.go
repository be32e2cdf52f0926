package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// namedTest is a test as the documents name it, after its package: `hub.TestX`.
var namedTest = regexp.MustCompile("`([a-z0-9_/]+)\\.((?:Test|Fuzz)[A-Z][A-Za-z0-9]*)`")

// TestNamedTestsExist holds that every test that a document names is there.
func TestNamedTestsExist(t *testing.T) {
	const root = "../.."
	docs, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	have := map[string]map[string]bool{}
	named := 0
	for _, doc := range docs {
		text, err := os.ReadFile(doc)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range namedTest.FindAllStringSubmatch(string(text), -1) {
			room, name := m[1], m[2]
			if have[room] == nil {
				have[room] = testsIn(t, filepath.Join(root, filepath.FromSlash(room)))
			}
			if named++; !have[room][name] {
				t.Errorf("%s names %s.%s, which does not exist", filepath.Base(doc), room, name)
			}
		}
	}
	if named < 50 {
		t.Errorf("the documents name %d tests; have the names another shape now?", named)
	}
	if have["hub"]["TestThatIsNotThere"] || !have["hub"]["TestIDsThatLookAlike"] {
		t.Error("the control: the tests of hub are not read")
	}
}

// testsIn gives the tests in a folder, whatever system they are for.
func testsIn(t *testing.T, dir string) map[string]bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]bool{}
	for _, file := range files {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil {
				all[fn.Name.Name] = true
			}
		}
	}
	return all
}

// documents are the pages for people, as paths from the root of the tree.
func documents(t *testing.T) []string {
	t.Helper()
	all := []string{"README.md", "CHANGELOG.md", "SECURITY.md"}
	for _, pattern := range []string{"docs/*.md", "docs/*/*.md"} {
		found, err := filepath.Glob(filepath.Join("../..", filepath.FromSlash(pattern)))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range found {
			rel, err := filepath.Rel("../..", path)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, filepath.ToSlash(rel))
		}
	}
	return all
}

var (
	link      = regexp.MustCompile(`\]\(([^)#: ]+)(#[^)]*)?\)`)
	namedFile = regexp.MustCompile("`((?:[a-z0-9_.-]+/)+[A-Za-z0-9_.-]+\\.(?:go|md|json|txtar|mjs))`")
)

// TestNamedFilesExist holds that what the documents link to, and the files that they name, are there.
func TestNamedFilesExist(t *testing.T) {
	links, names := 0, 0
	for _, doc := range documents(t) {
		text := fileText(t, doc)
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			links++
			if target := path.Join(path.Dir(doc), m[1]); !exists(target) {
				t.Errorf("%s links to %s, which does not exist", doc, target)
			}
		}
		for _, m := range namedFile.FindAllStringSubmatch(text, -1) {
			names++
			if !exists(m[1]) && !elsewhere(m[1]) {
				t.Errorf("%s names %s, which does not exist", doc, m[1])
			}
		}
	}
	if links < 20 || names < 20 {
		t.Errorf("%d links and %d files are named; have they another shape now?", links, names)
	}
	if exists("hub/nobody.go") {
		t.Error("the control: every file exists")
	}
}

func exists(name string) bool {
	_, err := os.Stat(filepath.Join("../..", filepath.FromSlash(name)))
	return err == nil
}

// elsewhere are files that do not belong to this tree: the user's own, and the load harness's.
func elsewhere(name string) bool {
	return strings.HasPrefix(name, "mcphub/") || strings.HasPrefix(name, "targets/")
}

var tableRow = regexp.MustCompile("^\\| `([a-z0-9_/]+)` \\| .* \\| ([a-z0-9_/, -]+) \\|$")

// TestTheTableOfRooms holds that docs/architecture.md tells which package imports which, as TestImports allows it.
func TestTheTableOfRooms(t *testing.T) {
	told := map[string]string{}
	for line := range strings.Lines(fileText(t, "docs/architecture.md")) {
		if m := tableRow.FindStringSubmatch(strings.TrimSpace(line)); m != nil && exists(m[1]) {
			told[m[1]] = m[2]
		}
	}
	for _, p := range packages(t, "linux") {
		name := room(p.ImportPath)
		imports, there := told[name]
		if !there {
			if !strings.Contains(name, "e2e/") && !strings.HasSuffix(name, "test") {
				t.Errorf("docs/architecture.md has no row for %s", name)
			}
			continue
		}
		if imports == "all" {
			continue
		}
		var short []string
		for _, a := range allowed[name] {
			short = append(short, strings.TrimPrefix(a, "internal/"))
		}
		have := strings.FieldsFunc(imports, func(r rune) bool { return r == ',' || r == ' ' || r == '-' })
		slices.Sort(short)
		slices.Sort(have)
		if !slices.Equal(short, have) {
			t.Errorf("docs/architecture.md says that %s imports %q, allowed are %q", name, have, short)
		}
	}
}

func fileText(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../..", filepath.FromSlash(path)))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
