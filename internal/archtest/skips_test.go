package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"mcphub/e2e/needs"
)

// excuses are what the condition of a skip may look at: the system, the race detector, what was asked for, who runs the tests again, or
// whether this is CI, if it has to fail.
var excuses = []string{`baseline == ""`, "runtime.GOOS", "runtime.GOARCH", "Host() != platform.Linux", "InCI()", "raceEnabled", "world.RaceDetector", "!world.Long", "!bounds.Strict()", "IsForOthers()"}

// ownSkips are functions with a skip that no excuse guards, and why.
var ownSkips = map[string]string{
	"e2e/childtest/user_linux.go asUser":                  "the tests run as such a user already",
	"children/process/ingroup_linux_test.go emptyGroup":   "the tests run as a user who has been given no control group",
	"e2e/world/others_linux.go asOther":                   "it asks for the long series as a test elsewhere does by world.Long",
	"cmd/mcphub/internal/files/fifo_other_test.go mkfifo": "the file is for the other systems",
}

// unproved is the text of a skip for what the machine lacks.
var unproved = strings.TrimSuffix(needs.Unproved, ": ")

// skips are the names of what skips a test.
var skips = []string{"Skip", "Skipf", "SkipNow"}

// skipped gives each skip of a function, and whether a condition excuses it: one around it, or the one before it that ends the test if there
// is no excuse. Fuzzing and rapid skip inputs, and not tests.
func skipped(f *ast.FuncDecl, each func(at token.Pos, excused bool)) {
	excuse := func(e ast.Expr) bool { return e != nil && containsAny(types.ExprString(e), excuses) }
	var walk func(n ast.Node, in bool)
	block := func(list []ast.Stmt, in bool) {
		for _, s := range list {
			walk(s, in)
			if i, ok := s.(*ast.IfStmt); ok && i.Else == nil && excuse(i.Cond) && fails(i.Body) {
				in = true
			}
		}
	}
	walk = func(n ast.Node, in bool) {
		ast.Inspect(n, func(m ast.Node) bool {
			switch m := m.(type) {
			case *ast.BlockStmt:
				block(m.List, in)
				return false
			case *ast.IfStmt:
				if m.Init != nil {
					walk(m.Init, in)
				}
				walk(m.Body, in || excuse(m.Cond))
				if m.Else != nil {
					walk(m.Else, in || excuse(m.Cond))
				}
				return false
			case *ast.CallExpr:
				s, ok := m.Fun.(*ast.SelectorExpr)
				if ok && slices.Contains(skips, s.Sel.Name) {
					each(m.Pos(), in)
				}
				if ok && s.Sel.Name == "Fuzz" {
					return false
				}
			case *ast.FuncLit:
				for _, p := range m.Type.Params.List {
					if types.ExprString(p.Type) == "*rapid.T" {
						return false
					}
				}
			}
			return true
		})
	}
	walk(f.Body, false)
}

// fails reports whether a block ends the test with a failure.
func fails(b *ast.BlockStmt) bool {
	if len(b.List) == 0 {
		return false
	}
	x, ok := b.List[len(b.List)-1].(*ast.ExprStmt)
	if !ok {
		return false
	}
	call, ok := x.X.(*ast.CallExpr)
	return ok && slices.Contains([]string{"Fatal", "Fatalf", "FailNow"}, called(call))
}

// TestNoSkipHidesInCI: a test that skips because something went wrong tests nothing, and CI does not notice.
func TestNoSkipHidesInCI(t *testing.T) {
	t.Parallel()
	count, used := 0, map[string]bool{}
	eachTimed(t, func(dir string, p *timed) {
		for _, f := range p.funcs {
			s, name := p.in[f], p.in[f].path+" "+f.Name.Name
			if dir == "e2e/needs" {
				continue
			}
			skips := false
			skipped(f, func(at token.Pos, excused bool) {
				count++
				skips = true
				if used[name] = used[name] || !excused; !excused && ownSkips[name] == "" {
					t.Errorf("%s: %s skips whatever the reason: ask for the system, or use e2e/needs", s.set.Position(at), f.Name.Name)
				}
			})
			text := s.text[s.set.Position(f.Pos()).Offset:s.set.Position(f.End()).Offset]
			if skips && strings.Contains(text, "exec.LookPath(") {
				t.Errorf("%s looks for a program and skips: e2e/needs does that, and names its package", name)
			}
			if dir != "e2e/testrun" && (strings.Contains(text, unproved) || strings.Contains(text, "needs.Unproved")) {
				t.Errorf("%s says %q by itself: use needs.Missing, which fails in CI", name, unproved)
			}
		}
	})
	for name := range ownSkips {
		if !used[name] {
			t.Errorf("%s has no skip of its own: take it out of the list", name)
		}
	}
	if count < 50 {
		t.Errorf("%d skips are found; are they written otherwise now?", count)
	}
}

// TestSkipsAreFound is the control.
func TestSkipsAreFound(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]int{
		`t.Skip("x")`:                   1,
		`w.T.Skipf("x")`:                1,
		`s.w.T.SkipNow()`:               1,
		`if err != nil { t.Skip(err) }`: 1,
		`if runtime.GOOS == "linux" { t.Log() }; t.Skip("x")`:                                            1,
		`if runtime.GOOS != "linux" { t.Skip("x") }; if err != nil { t.Skip("y") }`:                      1,
		`if runtime.GOOS != "linux" { t.Skip("x") }; t.Run("y", func(t *testing.T) { t.Skip("z") })`:     1,
		`if err != nil { if needs.InCI() { t.Fatal(err) } }; t.Skip("x")`:                                1,
		`switch { case err != nil: t.Skip("x") }`:                                                        1,
		`seeds.Check(t, func(rt *rapid.T) { rt.Skip("x") }); t.Skip("y")`:                                1,
		`if runtime.GOOS == "windows" { t.Skip("x") }`:                                                   0,
		`if err != nil && runtime.GOOS == "windows" { t.Skip(err) }`:                                     0,
		`if err != nil { if runtime.GOOS == "windows" { t.Skip(err) } }`:                                 0,
		`if !ok { if runtime.GOOS == "linux" { t.Fatal("x") }; t.Skip("y") }`:                            0,
		`if runtime.GOOS != "windows" && err != nil { t.Fatal(err) } else if err != nil { t.Skip(err) }`: 0,
		`f.Fuzz(func(t *testing.T, s string) { if s == "" { t.Skip() } })`:                               0,
		`seeds.Check(t, func(rt *rapid.T) { rt.Skip("x") })`:                                             0,
		`needs.Missing(t, "x")`: 0,
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "x_test.go", "package p\nfunc f() {\n"+body+"\n}\n", parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(body, err)
		}
		got := 0
		skipped(file.Decls[0].(*ast.FuncDecl), func(_ token.Pos, excused bool) {
			if !excused {
				got++
			}
		})
		if got != want {
			t.Errorf("%s\n%d skips have no excuse, want %d", body, got, want)
		}
	}
}

// excusedScript is a line of a script that skips on another system.
var excusedScript = regexp.MustCompile(`^\[(windows|!linux)\] skip `)

// TestNoScriptSkipsInCI holds the scripts to the same: what a machine lacks stands in their first lines, for e2e/needs.
func TestNoScriptSkipsInCI(t *testing.T) {
	t.Parallel()
	scripts, err := filepath.Glob("../../e2e/operation/testdata/script/*.txtar")
	if err != nil || len(scripts) < 20 {
		t.Fatal(scripts, err)
	}
	for _, path := range scripts {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if strings.HasPrefix(line, "-- ") {
				break
			}
			if words := strings.Fields(line); !strings.HasPrefix(line, "#") && slices.Contains(words[:min(2, len(words))], "skip") && !excusedScript.MatchString(line) {
				t.Errorf("%s: %q", filepath.Base(path), line)
			}
		}
	}
}

func containsAny(text string, any []string) bool {
	return slices.ContainsFunc(any, func(s string) bool { return strings.Contains(text, s) })
}
