package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// withoutJSON are the commands that print no data of their own, and why.
var withoutJSON = map[string]string{
	"approve":      "asks at a terminal; approve list prints",
	"audit export": "prints JSON lines, or CSV",
	"call":         "prints what the tool said; --raw prints its whole result as JSON",
	"console":      "serves a page to a person",
	"demo":         "shows something to a person",
	"files":        "speaks MCP",
	"man":          "prints a manual page",
	"schema":       "prints JSON",
	"serve":        "speaks MCP",
	"token":        "prints one line",
}

// notGolden print what is about the machine, or what a server elsewhere says. Tests of their own hold the shape.
var notGolden = []string{"doctor", "auth login", "auth logout"}

// TestEveryCommandPrintsJSON holds that each command takes --json, and that testdata/printed below e2e has a golden file of its JSON
// and one of its text.
func TestEveryCommandPrintsJSON(t *testing.T) {
	t.Parallel()
	golden := func(name string) bool {
		found, err := filepath.Glob("../../e2e/*/testdata/printed/" + name)
		if err != nil {
			t.Fatal(err)
		}
		return len(found) > 0
	}
	seen := 0
	var walk func(c *cobra.Command, path string)
	walk = func(c *cobra.Command, path string) {
		for _, sub := range c.Commands() {
			if !sub.IsAvailableCommand() || sub.Name() == "help" || sub.Name() == "completion" {
				continue
			}
			name := strings.TrimSpace(path + " " + sub.Name())
			walk(sub, name)
			flag := sub.Flags().Lookup("json")
			asJSON := flag != nil && !flag.Hidden
			switch _, excused := withoutJSON[name]; {
			case sub.HasSubCommands() && !excused:
				continue // it prints its help
			case asJSON == excused:
				t.Errorf("mcphub %s: --json is there: %v; withoutJSON says otherwise", name, asJSON)
			case asJSON && !slices.Contains(notGolden, name):
				seen++
				file := strings.ReplaceAll(name, " ", "-")
				if !golden(file+".json") && !golden(file+".jsonl") || !golden(file+".txt") {
					t.Errorf("mcphub %s: e2e/operation/testdata/printed has not both its JSON and its text; e2e/operation/testdata/script/printed.txtar makes them", name)
				}
			}
		}
	}
	walk(rootCommand(), "")
	if seen < 25 {
		t.Errorf("%d commands were found", seen)
	}
}

// rawPrints are the functions that write what others wrote as it is, for one reason each.
var rawPrints = map[string]string{
	"demo.go sayLine": "the demo paints, and prints nothing of others", "audit_formats.go printDecision": "it is made by layout.Printf", "call.go printResult": "off a terminal it is what the server sent",
	"manual.go schemaCommand": "mcphub's own text", "manual.go manCommand": "mcphub's own text", "manual.go manualPage": "mcphub's own text",
}

// Commands print by cmd/mcphub/internal/layout, which lets no text act: nothing in this package writes by fmt or io, or to the
// standard streams as they are.
func TestEverythingIsPrintedByLayout(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	excused := map[string]bool{}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range parsed.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok {
				continue
			}
			ast.Inspect(fn, func(n ast.Node) bool {
				s, ok := n.(*ast.SelectorExpr)
				if !ok {
					return true
				}
				x, _ := s.X.(*ast.Ident)
				if x == nil {
					return true
				}
				what := x.Name + "." + s.Sel.Name
				if strings.HasPrefix(what, "fmt.Fprint") || strings.HasPrefix(what, "fmt.Print") || what == "io.WriteString" || what == "json.NewEncoder" {
					where := file + " " + fn.Name.Name
					if _, ok := rawPrints[where]; !ok {
						t.Errorf("%s: %s: print by cmd/mcphub/internal/layout", where, what)
					}
					excused[where] = true
				}
				return true
			})
		}
	}
	for where := range rawPrints {
		if !excused[where] {
			t.Errorf("rawPrints excuses %s for nothing", where)
		}
	}
}
