package archtest

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// What these rules are for: a long function, a wide struct and a struct of many
// locks are where programs of this kind get out of hand; the average tells
// nothing. Tables of tests may be long.
const (
	mostLines     = 500 // of a file
	mostTestLines = 700 // of one with tests
	mostFuncLines = 80  // of a function outside of tests
	mostFields    = 16  // of a struct
	mostMutexes   = 1   // of a struct
)

// larger are what is beyond those bounds, and by how much at the most. The list
// is to become shorter: who needs a larger number says why in its commit.
var larger = map[string]int{
	// Plain data: what a report, a row or an entry of a configuration consists of.
	"children.Spec fields": 21, "children.Status fields": 26, "cmd/mcphub.auditRow fields": 22,
	"hub.Config fields": 20, "hub.Explanation fields": 20, "hub.rootsReport fields": 21,
	"internal/audit.Event fields": 24, "validate.Finding fields": 24, "validate.Tool fields": 18,
	"children/childtest.Script fields": 35, "e2e/recorder.habits fields": 18,

	// Owners of a machine of state, each with one lock at the most.
	"children.child fields": 19, "children.run fields": 19, "hub.Session fields": 26,
	"internal/jsonrpc.Conn fields": 24, "internal/jsonrpc.Writer fields": 20, "validate.judge fields": 24,

	// One for the queue, one for who is writing; one for the pipe, one for what is read.
	"internal/audit.Log mutexes": 2, "internal/files.link mutexes": 2,

	// Cases of a language, or of a suite, one after the other.
	"validate/shell.go word lines": 100, "children/childtest/eras.go eraSuite lines": 137,
	"children/childtest/script.go handle lines": 82, "children/childtest/suite.go Suite lines": 123,
}

// A source is one Go file.
type source struct {
	path string // from the root of the tree, with slashes
	text string
	set  *token.FileSet
	file *ast.File
}

// sources are the Go files of the module, for all systems alike.
var sources = sync.OnceValues(func() (all []source, err error) {
	const root = "../.."
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && (d.Name() == "node_modules" || d.Name() == "testdata" || d.Name()[0] == '.' && d.Name() != ".."):
			return filepath.SkipDir
		case d.IsDir() || filepath.Ext(path) != ".go":
			return nil
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		s := source{path: filepath.ToSlash(rel), text: string(text), set: token.NewFileSet()}
		s.file, err = parser.ParseFile(s.set, path, text, parser.ParseComments|parser.SkipObjectResolution)
		all = append(all, s)
		return err
	})
	return all, err
})

func eachSource(t *testing.T, each func(s source)) {
	t.Helper()
	all, err := sources()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		each(s)
	}
}

// measure holds one number to its bound. It returns the exception that it needed.
func measure(what string, n, most int) (exception, fault string) {
	if n <= most {
		return "", ""
	}
	allowed, named := larger[what]
	switch {
	case !named:
		return "", fmt.Sprintf("%s: %d, at most %d", what, n, most)
	case n > allowed:
		fault = fmt.Sprintf("%s: %d, at most %d", what, n, allowed)
	}
	return what, fault
}

// TestShape holds files, functions and structs to their bounds.
func TestShape(t *testing.T) {
	used := map[string]bool{}
	hold := func(what string, n, most int) {
		exception, fault := measure(what, n, most)
		if fault != "" {
			t.Error(fault)
		}
		used[exception] = true
	}
	eachSource(t, func(s source) {
		path, set, f := s.path, s.set, s.file
		room := filepath.ToSlash(filepath.Dir(path))
		long := mostLines
		if strings.HasSuffix(path, "_test.go") {
			long = mostTestLines
		}
		hold(path+" lines", set.File(f.Pos()).LineCount(), long)
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if !strings.HasSuffix(path, "_test.go") {
					hold(path+" "+d.Name.Name+" lines", set.Position(d.End()).Line-set.Position(d.Pos()).Line+1, mostFuncLines)
				}
			case *ast.GenDecl:
				for _, s := range d.Specs {
					if s, ok := s.(*ast.TypeSpec); ok {
						if st, ok := s.Type.(*ast.StructType); ok {
							fields, mutexes := countFields(st)
							hold(room+"."+s.Name.Name+" fields", fields, mostFields)
							hold(room+"."+s.Name.Name+" mutexes", mutexes, mostMutexes)
						}
					}
				}
			}
		}
	})
	for what := range larger {
		if !used[what] {
			t.Errorf("%s is within its bound by now: take it out of the list", what)
		}
	}
	if _, fault := measure("hub.Nobody fields", mostFields+1, mostFields); fault == "" {
		t.Error("the control: nothing is too large")
	}
}

func countFields(st *ast.StructType) (fields, mutexes int) {
	for _, f := range st.Fields.List {
		n := max(len(f.Names), 1)
		fields += n
		if s, ok := f.Type.(*ast.SelectorExpr); ok && (s.Sel.Name == "Mutex" || s.Sel.Name == "RWMutex") {
			mutexes += n
		}
	}
	return fields, mutexes
}

// plainMethods say all in their name.
var plainMethods = []string{"Error", "String", "Unwrap", "Is", "MarshalJSON", "UnmarshalJSON", "Read", "Write", "Close", "Len", "Less", "Swap"}

// TestExportedIsDocumented holds that what a package offers says what it is.
func TestExportedIsDocumented(t *testing.T) {
	eachSource(t, func(s source) {
		path, set, f := s.path, s.set, s.file
		if strings.HasSuffix(path, "_test.go") {
			return
		}
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Name.IsExported() && d.Doc == nil && (d.Recv == nil || ast.IsExported(receiver(d)) && !slices.Contains(plainMethods, d.Name.Name)) {
					t.Errorf("%s: %s has no comment", set.Position(d.Pos()), d.Name.Name)
				}
			case *ast.GenDecl:
				for _, s := range d.Specs {
					if s, ok := s.(*ast.TypeSpec); ok && s.Name.IsExported() && cmp.Or(d.Doc, s.Doc) == nil {
						t.Errorf("%s: %s has no comment", set.Position(s.Pos()), s.Name.Name)
					}
				}
			}
		}
	})
}

func receiver(d *ast.FuncDecl) string {
	typ := d.Recv.List[0].Type
	if star, ok := typ.(*ast.StarExpr); ok {
		typ = star.X
	}
	if index, ok := typ.(*ast.IndexExpr); ok {
		typ = index.X
	}
	if name, ok := typ.(*ast.Ident); ok {
		return name.Name
	}
	return ""
}

// bubbles begin the tests in which time is not the machine's.
var bubbles = []string{"synctest.Test", "modernWays(", "play(", "both(", "bubble(", "approving("}

// awake are test files that sleep without a bubble, and why.
var awake = map[string]string{
	"children/orphan_linux_test.go": "in a process of its own, which is killed",
	"hub/client_test.go":            "the scripted client, which is used in bubbles",
}

// TestNoTestSleeps: a test that waits for the clock is slow, and wrong on a busy machine.
func TestNoTestSleeps(t *testing.T) {
	eachTestFunc(t, func(s source, at, body string) {
		if strings.Contains(body, "time.Sleep(") && awake[s.path] == "" && !containsAny(s.text, bubbles) {
			t.Errorf("%s sleeps, and the file has no bubble (testing/synctest): wait for an event", at)
		}
	})
}

// excuses are what a test may look at before it skips: the system, the race
// detector, or whether this is CI, where it has to fail.
var excuses = []string{"runtime.GOOS", "Host() != Linux", "inCI()", `os.Getenv("CI")`, "raceEnabled", "raceDetector", "!long", "f.Fuzz(", "rt *rapid.T"}

// TestNoSkipHidesInCI: a test that skips because something went wrong tests nothing, and nobody sees it.
func TestNoSkipHidesInCI(t *testing.T) {
	skips := 0
	eachTestFunc(t, func(s source, at, body string) {
		if !containsAny(body, []string{"t.Skip(", "t.Skipf(", "t.SkipNow("}) {
			return
		}
		skips++
		if !containsAny(body, excuses) && !strings.HasSuffix(s.path, "_other_test.go") {
			t.Errorf("%s skips whatever the reason: ask for the system, or fail in CI", at)
		}
	})
	if skips < 20 {
		t.Errorf("%d functions skip; is it written otherwise now?", skips)
	}
}

func containsAny(text string, any []string) bool {
	return slices.ContainsFunc(any, func(s string) bool { return strings.Contains(text, s) })
}

// eachTestFunc gives the source of every function in a test file.
func eachTestFunc(t *testing.T, each func(s source, at, body string)) {
	t.Helper()
	eachSource(t, func(s source) {
		if !strings.HasSuffix(s.path, "_test.go") || strings.HasPrefix(s.path, "internal/archtest/") {
			return
		}
		for _, d := range s.file.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok {
				from, to := s.set.Position(fn.Pos()), s.set.Position(fn.End())
				each(s, fmt.Sprintf("%s:%d %s", s.path, from.Line, fn.Name.Name), s.text[from.Offset:to.Offset])
			}
		}
	})
}
