package validate

import (
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs/findings.md")

// TestFindingsDoc: the page is what the code says.
func TestFindingsDoc(t *testing.T) {
	t.Parallel()
	const page = "../docs/findings.md"
	if *update {
		if err := os.WriteFile(page, []byte(findingsDoc()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != findingsDoc() {
		t.Error("docs/findings.md is out of date: go test ./validate -run TestFindingsDoc -update")
	}
}

// TestEveryCodeIsExplained: each Code constant has an entry, each How constant a meaning, and no entry is empty.
func TestEveryCodeIsExplained(t *testing.T) {
	t.Parallel()
	constants := map[string]string{}
	for _, file := range []string{"strictjson/errors.go", "schema/errors.go", "codes.go", "declare/rules.go", "detect/finding.go"} {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if spec, ok := n.(*ast.ValueSpec); ok && len(spec.Values) == 1 {
				if lit, ok := spec.Values[0].(*ast.BasicLit); ok && lit.Kind == token.STRING {
					constants[file+" "+spec.Names[0].Name], _ = strconv.Unquote(lit.Value)
				}
			}
			return true
		})
	}
	count := 0
	for name, value := range constants {
		_, name, _ := strings.Cut(name, " ")
		switch {
		case strings.HasPrefix(name, "Code"):
			count++
			info, ok := explain(value)
			if !ok || info.Meaning == "" || info.Example == "" || info.Cure == "" || info.Stage == "" {
				t.Errorf("%s (%q) is not explained", name, value)
			}
		case strings.HasPrefix(name, "How"), strings.HasPrefix(name, "By"):
			if !slices.ContainsFunc(hows, func(h struct{ how, meaning string }) bool { return h.how == value && h.meaning != "" }) {
				t.Errorf("%s (%q) is not explained", name, value)
			}
		}
	}
	if count != len(codes) {
		t.Errorf("%d codes, %d entries", count, len(codes))
	}
	if _, ok := explain("nonsense"); ok {
		t.Error("a code that does not exist is explained")
	}
}
