package archtest

import (
	"go/ast"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestInterfacesAreListed: docs/architecture.md names the packages that export an interface, and no others.
func TestInterfacesAreListed(t *testing.T) {
	t.Parallel()
	var have []string
	eachSource(t, func(src source) {
		dir := path.Dir(src.path)
		if strings.HasSuffix(src.path, "_test.go") || !slices.ContainsFunc([]string{"hub", "children", "rootsmgr", "validate", "internal", "cmd/mcphub/internal"}, func(top string) bool { return strings.HasPrefix(dir, top) }) || strings.HasSuffix(dir, "test") {
			return
		}
		for _, decl := range src.file.Decls {
			types, ok := decl.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, spec := range types.Specs {
				named, ok := spec.(*ast.TypeSpec)
				if !ok || !named.Name.IsExported() {
					continue
				}
				if _, ok := named.Type.(*ast.InterfaceType); ok && !slices.Contains(have, dir) {
					have = append(have, dir)
				}
			}
		}
	})
	raw, err := os.ReadFile("../../docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, ok := strings.Cut(string(raw), "## Interfaces")
	if !ok {
		t.Fatal("docs/architecture.md has no section on interfaces")
	}
	var listed []string
	for _, row := range regexp.MustCompile("(?m)^\\| (`.*?) \\|").FindAllStringSubmatch(text, -1) {
		for _, name := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row[1], -1) {
			listed = append(listed, name[1])
		}
	}
	slices.Sort(have)
	slices.Sort(listed)
	if !slices.Equal(have, listed) {
		t.Errorf("interfaces are exported by\n%q, and listed for\n%q", have, listed)
	}
}
