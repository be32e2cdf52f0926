package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// ranElsewhere are the commands that texts name and that no script and no page has run, with the test that runs each. It stands
// in e2e.
var ranElsewhere = map[string]string{
	"mcphub approve":       "TestApproveAtATerminal",
	"mcphub audit":         "TestCanaryOfTheToken", // which shows what there is
	"mcphub doctor --json": "TestDoctorFindsAndMends",
}

// A form is a command with the names of its flags, without what is filled in.
type form struct {
	path  string
	flags []string
}

func (f form) String() string {
	return strings.Join(append([]string{"mcphub " + f.path}, f.flags...), " ")
}

// mentioned finds where a text may name a command, to the end of it.
var mentioned = regexp.MustCompile("\\bmcphub ([a-z][^`;:,()\n\"]*)")

// word is a word of a command line that is none of a sentence: a flag, or what stands for something.
var word = regexp.MustCompile(`^(?:--?[a-z].*|--|[A-Z]{2,}|[A-Z]\w*__\w+|%[a-z]|X|\.+|\S*[/{=$'_]\S*)$`)

// formOf reads a command line, or a sentence that begins with one; "" as path: it is none.
func formOf(root *cobra.Command, line string) (f form) {
	at := root
	words := strings.Fields(line)
	for len(words) > 0 {
		next := slices.IndexFunc(at.Commands(), func(c *cobra.Command) bool { return c.Name() == words[0] })
		if next < 0 {
			break
		}
		at, words = at.Commands()[next], words[1:]
		f.path = strings.TrimSpace(f.path + " " + at.Name())
	}
	for i, w := range words {
		if w == "--" || !word.MatchString(w) && (i == 0 || !strings.HasPrefix(words[i-1], "--")) {
			break
		}
		if flag, _, _ := strings.Cut(w, "="); strings.HasPrefix(flag, "-") {
			f.flags = append(f.flags, strings.TrimRight(flag, ".'"))
		}
	}
	return f
}

// literal returns a text as it stands in the source, X for what is put together at run time; "" for no text.
func literal(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		if text, err := strconv.Unquote(e.Value); err == nil && e.Kind == token.STRING {
			return text
		}
	case *ast.BinaryExpr:
		a, b := literal(e.X), literal(e.Y)
		switch {
		case e.Op != token.ADD || a+b == "":
			return ""
		case a == "":
			a = "X"
		case b == "":
			b = "X"
		}
		return a + b
	}
	return ""
}

// toldIn returns the commands that a file names to a person, each with its place. A list of words is one where it begins
// with mcphub, or is what mends something.
func toldIn(t *testing.T, root *cobra.Command, path string) map[string]form {
	t.Helper()
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]form{}
	note := func(at ast.Node, line string) {
		if f := formOf(root, line); f.path != "" {
			found[fset.Position(at.Pos()).String()+" "+f.String()] = f
		}
	}
	list := func(at ast.Node, words []ast.Expr, bare bool) {
		var line []string
		for _, w := range words {
			text := literal(w)
			if text == "" {
				text = "X"
			}
			line = append(line, text)
		}
		switch {
		case len(line) == 0:
		case line[0] == "mcphub":
			note(at, strings.Join(line[1:], " "))
		case bare:
			note(at, strings.Join(line, " "))
		}
	}
	runs := func(e ast.Expr) bool { // what it is given is run by a person
		name, ok := e.(*ast.SelectorExpr)
		return ok && slices.Contains([]string{"Run", "Command", "CommandLine", "command", "cure"}, name.Sel.Name)
	}
	inside := map[ast.Node]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.CompositeLit:
			list(n, n.Elts, inside[n])
		case *ast.CallExpr:
			list(n, n.Args, runs(n.Fun))
		case *ast.AssignStmt:
			for i, to := range n.Lhs {
				if runs(to) && i < len(n.Rhs) {
					inside[n.Rhs[i]] = true
				}
			}
		case *ast.KeyValueExpr:
			if key, ok := n.Key.(*ast.Ident); ok && key.Name == "Run" {
				inside[n.Value] = true
			}
		case ast.Expr:
			text := literal(n)
			for _, m := range mentioned.FindAllStringSubmatch(text, -1) {
				note(n, m[1])
			}
			return text == "" // the parts of a whole are none of their own
		}
		return true
	})
	return found
}

// ran returns the commands that scripts and pages have run.
func ran(t *testing.T, root *cobra.Command) (all []form) {
	t.Helper()
	for pattern, shape := range map[string]*regexp.Regexp{
		"../../e2e/operation/testdata/script/*.txtar": regexp.MustCompile(`(?m)^(?:\[\S+\] )?(?:! )?(?:exec|exits \d+|prints \d+ \S+|until '[^']*'|serves) (?:env \S+ )?mcphub (.*)$`),
		"../../docs/*.md": commandLine, // TestDocumentsCommands does
		"../../README.md": commandLine,
	} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v", pattern, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range shape.FindAllStringSubmatch(string(text), -1) {
				f := formOf(root, m[1])
				f.flags = nil
				for _, w := range strings.Fields(m[1]) { // a whole line, no sentence
					if flag, _, _ := strings.Cut(w, "="); strings.HasPrefix(flag, "-") {
						f.flags = append(f.flags, flag)
					}
				}
				all = append(all, f)
			}
		}
	}
	return append(all, form{"serve", []string{"--config", "--roots", "--http"}}) // which all the tests start
}

// TestWhatIsToldIsRun: each command that a text of the program names, with its flags, is one that the program takes and that a test
// runs. A new one that no one runs fails here: run it in a script, or name the test that does.
func TestWhatIsToldIsRun(t *testing.T) {
	t.Parallel()
	root := rootCommand()
	runs := ran(t, root)
	tests := ""
	files, err := filepath.Glob("../../e2e/*/*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		tests += string(text)
	}
	told, used := 0, map[string]bool{}
	missing := func(f form) string {
		err := parses(strings.Join(append([]string{f.path}, f.flags...), " "))
		if err != nil && !strings.HasPrefix(err.Error(), "invalid argument") { // which is about a value
			return "the program does not take it: " + err.Error()
		}
		if slices.ContainsFunc(runs, func(r form) bool {
			return r.path == f.path && !slices.ContainsFunc(f.flags, func(flag string) bool { return !slices.Contains(r.flags, flag) })
		}) {
			return ""
		}
		name := ranElsewhere[f.String()]
		used[f.String()] = true
		if name == "" || !strings.Contains(tests, "\nfunc "+name+"(") {
			return "no test runs it"
		}
		return ""
	}
	for _, dir := range []string{"../../cmd/mcphub", "../../internal", "../../hub", "../../children", "../../rootsmgr", "../../validate"} {
		err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
				return err
			}
			for at, f := range toldIn(t, root, path) {
				told++
				if why := missing(f); why != "" {
					t.Errorf("%s: %s", strings.TrimPrefix(at, "../../"), why)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if told < 100 {
		t.Errorf("%d commands were found; have they another shape now?", told)
	}
	for name := range ranElsewhere {
		if !used[name] {
			t.Errorf("%s is told by no text any more, or a script runs it", name)
		}
	}
	for line, wrong := range map[string]bool{"allow NAME PATH --write": false, "allow NAME --wriet": true, "doctor NAME --timeout": true} {
		if got := missing(formOf(root, line)) != ""; got != wrong {
			t.Errorf("the control: mcphub %s: %t", line, got)
		}
	}
}
