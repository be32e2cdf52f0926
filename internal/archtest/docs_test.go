package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
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
	t.Parallel()
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
			pkg, name := m[1], m[2]
			if have[pkg] == nil {
				have[pkg] = testsIn(t, filepath.Join(root, filepath.FromSlash(pkg)))
			}
			if named++; !have[pkg][name] {
				t.Errorf("%s names %s.%s, which does not exist", filepath.Base(doc), pkg, name)
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

// ranTest is a `go test` of a document: the packages, and what -run has.
var ranTest = regexp.MustCompile("`(?:go test )?((?:\\./[a-z0-9_/.]+ ?)+)\\s*-run\\s+([^`]+)`")

// TestEachPromiseNamesItsTest holds that each promise of docs/threat-model.md names a test, by its name or by a command that runs some, and
// that each alternative of such a command begins the name of a test of its packages, or is a part of one.
func TestEachPromiseNamesItsTest(t *testing.T) {
	t.Parallel()
	const root = "../.."
	text, err := os.ReadFile(filepath.Join(root, "docs", "threat-model.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, promised, _ := strings.Cut(string(text), "\n## What is promised\n")
	promised, _, _ = strings.Cut(promised, "\n## ")
	count, ran := 0, 0
	for block := range strings.SplitSeq(promised, "\n- ") {
		block, _, _ = strings.Cut(block, "\n\n")
		if strings.HasPrefix(strings.TrimSpace(block), "#") {
			continue
		}
		count++
		commands := ranTest.FindAllStringSubmatch(block, -1)
		if !namedTest.MatchString(block) && commands == nil {
			t.Errorf("no test is named of this: %.100s", block)
		}
		for _, m := range commands {
			var tests []string
			for pkg := range strings.FieldsSeq(m[1]) {
				tests = append(tests, testsBelow(t, filepath.Join(root, filepath.FromSlash(strings.TrimSuffix(pkg, "/..."))), strings.HasSuffix(pkg, "/..."))...)
			}
			for one := range strings.SplitSeq(strings.Trim(strings.Join(strings.Fields(m[2]), " "), "'"), "|") {
				one, _, _ = strings.Cut(strings.TrimSpace(one), "/") // what follows is of a subtest
				if ran++; !slices.ContainsFunc(tests, func(name string) bool { return strings.Contains(name, one) }) {
					t.Errorf("no test of %s has %q in its name", m[1], one)
				}
			}
		}
	}
	if count < 50 || ran < 20 {
		t.Errorf("%d promises and %d tests of commands are found; have they another shape now?", count, ran)
	}
}

// testsBelow returns the names of the tests in a folder, and of those in all folders below it if deep is set.
func testsBelow(t *testing.T, dir string, deep bool) (names []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		if path != dir && (!deep || d.Name() == "node_modules") {
			return filepath.SkipDir
		}
		for name := range testsIn(t, path) {
			names = append(names, name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
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

// documents returns the pages for people, as paths from the root of the tree.
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
	link      = regexp.MustCompile(`\]\(([^)#: ]*)(#[^)]*)?\)`)
	heading   = regexp.MustCompile(`(?m)^#+ (.*)$`)
	noAnchor  = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
	namedCode = regexp.MustCompile(`(?:[a-z0-9_.-]+/)*[A-Za-z0-9_-]+\.go\b`)
	namedFile = regexp.MustCompile("`((?:[a-z0-9_.-]+/)+[A-Za-z0-9_.-]+\\.(?:go|md|json|txtar|mjs))`")
)

// TestFilesOfDocGoExist holds that a doc.go names files that are there: of its own package by their name, others by their path.
func TestFilesOfDocGoExist(t *testing.T) {
	t.Parallel()
	names := 0
	for _, p := range packages(t, "linux") {
		dir := relative(p.ImportPath)
		if !exists(dir + "/doc.go") {
			continue
		}
		for _, name := range namedCode.FindAllString(fileText(t, dir+"/doc.go"), -1) {
			names++
			if !exists(dir+"/"+name) && !(strings.Contains(name, "/") && exists(name)) {
				t.Errorf("%s/doc.go names %s, which does not exist", dir, name)
			}
		}
	}
	if names < 20 {
		t.Errorf("%d files are named; have they another shape now?", names)
	}
}

// TestNamedFilesExist holds that what the documents link to, and the files that they name, are there.
func TestNamedFilesExist(t *testing.T) {
	t.Parallel()
	links, names := 0, 0
	for _, doc := range documents(t) {
		text := fileText(t, doc)
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			links++
			target := path.Join(path.Dir(doc), m[1])
			if m[1] == "" {
				target = doc
			}
			if !exists(target) {
				t.Errorf("%s links to %s, which does not exist", doc, target)
			} else if m[2] != "" && !slices.Contains(anchors(t, target), m[2]) {
				t.Errorf("%s links to %s%s, which is no heading there", doc, target, m[2])
			}
		}
		for _, m := range namedFile.FindAllStringSubmatch(text, -1) {
			names++
			if !exists(m[1]) && !elsewhere(m[1]) {
				t.Errorf("%s names %s, which does not exist", doc, m[1])
			}
		}
	}
	if links < 20 || names < 5 {
		t.Errorf("%d links and %d files are named; have they another shape now?", links, names)
	}
	if slices.Contains(anchors(t, "README.md"), "#nothing") || !slices.Contains(anchors(t, "docs/config.md"), "#mcphub-validate") {
		t.Error("the control: headings are not read")
	}
	if exists("hub/nobody.go") {
		t.Error("the control: every file exists")
	}
}

// conflict is a line that git writes where two changes of a file meet.
var conflict = regexp.MustCompile(`(?m)^(<{7} .*|={7}|>{7} .*)$`)

// TestNoConflictIsLeft holds that no document was committed with both sides of a merge in it.
func TestNoConflictIsLeft(t *testing.T) {
	t.Parallel()
	for _, doc := range documents(t) {
		if line := conflict.FindString(fileText(t, doc)); line != "" {
			t.Errorf("%s has the line %q", doc, line)
		}
	}
	if !conflict.MatchString("a\n<<<<<<< HEAD\nb\n") {
		t.Error("the control: a conflict is not seen")
	}
}

// TestEveryPageIsInTheIndex holds that a reader of docs/README.md finds each page. Those of a folder are found by its name.
func TestEveryPageIsInTheIndex(t *testing.T) {
	t.Parallel()
	var linked []string
	for _, m := range link.FindAllStringSubmatch(fileText(t, "docs/README.md"), -1) {
		linked = append(linked, path.Join("docs", m[1]))
	}
	for _, doc := range documents(t) {
		if path.Dir(doc) != "." && doc != "docs/README.md" && !slices.Contains(linked, doc) && !slices.Contains(linked, path.Dir(doc)) {
			t.Errorf("docs/README.md does not link to %s", doc)
		}
	}
	if len(linked) < 20 || slices.Contains(linked, "docs/nothing.md") {
		t.Errorf("the control: the index links to %q", linked)
	}
}

// limitRow is a row of docs/limits.md: the bound, and the constant that holds it.
var limitRow = regexp.MustCompile("(?m)^\\|[^|]*\\| ([0-9][^|]*) \\|.*\\| `([a-z/]+)\\.([A-Za-z]+)` \\|$")

// TestLimitsAreAsDocumented holds that docs/limits.md says what the constants are.
func TestLimitsAreAsDocumented(t *testing.T) {
	t.Parallel()
	rows := limitRow.FindAllStringSubmatch(fileText(t, "docs/limits.md"), -1)
	if len(rows) < 25 {
		t.Errorf("%d limits are documented; have the rows another shape now?", len(rows))
	}
	for _, m := range rows {
		if have := constantIn(t, m[2], m[3]); have != inUnits(t, m[1]) {
			t.Errorf("docs/limits.md has %s.%s as %s, it is %s", m[2], m[3], m[1], have)
		}
	}
}

// inUnits returns a documented bound as a constant of Go prints: bytes, nanoseconds, or a number.
func inUnits(t *testing.T, text string) string {
	t.Helper()
	number, unit, _ := strings.Cut(strings.ReplaceAll(text, ",", ""), " ")
	factor, ok := map[string]string{"": "1", "KiB": "1<<10", "MiB": "1<<20", "ms": "1_000_000", "s": "1_000_000_000", "min": "60_000_000_000"}[unit]
	if !ok {
		t.Fatalf("docs/limits.md: %q has a unit that is not known", text)
	}
	return evaluated(t, number+"*("+factor+")")
}

// constantIn returns the value of a constant of a package, which is a number or a time.
func constantIn(t *testing.T, pkg, name string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("../..", filepath.FromSlash(pkg), "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	declared := regexp.MustCompile(`(?m)^\s*(?:const )?` + name + `\s*=\s*(.*?)(?:\s*//.*)?$`)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if m := declared.FindSubmatch(text); m != nil && !strings.HasSuffix(file, "_test.go") {
			return evaluated(t, strings.NewReplacer("time.Minute", "60_000_000_000", "time.Second", "1_000_000_000", "time.Millisecond", "1_000_000").Replace(string(m[1])))
		}
	}
	t.Fatalf("docs/limits.md names %s.%s, which does not exist", pkg, name)
	return ""
}

func evaluated(t *testing.T, expression string) string {
	t.Helper()
	value, err := types.Eval(token.NewFileSet(), nil, token.NoPos, expression)
	if err != nil {
		t.Fatalf("%s: %v", expression, err)
	}
	return value.Value.ExactString()
}

// anchors returns what the headings of a page are linked to by.
func anchors(t *testing.T, doc string) (all []string) {
	t.Helper()
	for _, m := range heading.FindAllStringSubmatch(fileText(t, doc), -1) {
		plain := noAnchor.ReplaceAllString(strings.ToLower(m[1]), "")
		all = append(all, "#"+strings.ReplaceAll(plain, " ", "-"))
	}
	return all
}

func exists(name string) bool {
	_, err := os.Stat(filepath.Join("../..", filepath.FromSlash(name)))
	return err == nil
}

var (
	// A message stands in the first cell of a row. Quotes, numbers, dots and commas
	// stand for what differs from case to case.
	messageRow = regexp.MustCompile(`(?m)^\| (.+?) \| .*\|$`)
	varying    = regexp.MustCompile("\\.\\.\\.|\"|`|\\bN\\b|\\d\\S*|[;:,]")
	joined     = regexp.MustCompile(`"\s*\+\s*"`)
)

// TestMessagesExist holds that docs/troubleshooting.md explains messages that the program has.
func TestMessagesExist(t *testing.T) {
	t.Parallel()
	var all strings.Builder
	eachSource(t, func(s source) {
		if !strings.HasSuffix(s.path, "_test.go") {
			all.WriteString(s.text)
		}
	})
	code := strings.ReplaceAll(joined.ReplaceAllString(all.String(), ""), `\"`, `"`)
	rows := 0
	for _, m := range messageRow.FindAllStringSubmatch(fileText(t, "docs/troubleshooting.md"), -1) {
		for part := range strings.SplitSeq(varying.ReplaceAllString(m[1], "\n"), "\n") {
			if part = strings.TrimSpace(part); strings.Count(part, " ") < 2 {
				continue
			}
			if rows++; !strings.Contains(code, part) {
				t.Errorf("docs/troubleshooting.md explains %q, which no code says", part)
			}
		}
	}
	if rows < 40 {
		t.Errorf("%d messages are explained; have the rows another shape now?", rows)
	}
	if strings.Contains(code, "the hub is out of "+"biscuits") {
		t.Error("the control: every text is in the code")
	}
}

// elsewhere are files that do not belong to this tree: the user's own, and the load harness's.
func elsewhere(name string) bool {
	return strings.HasPrefix(name, "mcphub/") || strings.HasPrefix(name, "targets/")
}

// A package that docs/architecture.md does not name is one that no one finds.
func TestEveryPackageIsNamed(t *testing.T) {
	text := fileText(t, "docs/architecture.md")
	for _, p := range packages(t, "linux") {
		name := relative(p.ImportPath)
		if !strings.Contains(text, "`"+name+"`") && !strings.Contains(name, "e2e/") && !strings.HasSuffix(name, "test") {
			t.Errorf("docs/architecture.md does not name %s", name)
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
