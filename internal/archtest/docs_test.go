package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
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
