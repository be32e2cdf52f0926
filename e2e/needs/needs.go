package needs

import (
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"mcphub/internal/lazyregexp"
)

//go:embed debian
var debian string

// packages gives the Debian package of each program.
var packages = func() map[string]string {
	m := map[string]string{}
	for line := range strings.Lines(debian) {
		if words := strings.Fields(line); len(words) == 2 {
			m[words[0]] = words[1]
		}
	}
	return m
}()

// InCI reports whether a test must fail if the machine lacks what the test needs.
func InCI() bool { return os.Getenv("CI") == "true" }

// Unproved begins the reason of each test that Missing ends.
const Unproved = "NOT PROVED HERE: "

// Missing ends a test of what this machine lacks: the test skips, and fails in CI.
func Missing(t testing.TB, why ...any) {
	t.Helper()
	text := Unproved + fmt.Sprint(why...)
	if InCI() {
		t.Fatal(text)
	}
	t.Skip(text)
}

// Program gives the path of a program. If the program is not in PATH, the test ends as by Missing.
func Program(t testing.TB, name string) string {
	t.Helper()
	pkg, ok := packages[name]
	if !ok {
		t.Fatalf("e2e/needs/debian does not list %s", name)
	}
	path, err := exec.LookPath(name)
	if err != nil {
		Missing(t, "needs "+name+": apt-get install "+pkg)
	}
	return path
}

// Link makes a symbolic link. If the system makes none, the test ends as by Missing: Windows gives not every user the right, and Wine returns
// no error.
func Link(t testing.TB, target, at string) {
	t.Helper()
	err := os.Symlink(target, at)
	if err == nil {
		_, err = os.Lstat(at)
	}
	if err != nil && runtime.GOOS != "windows" {
		t.Fatal(err)
	}
	if err != nil {
		Missing(t, "needs symbolic links: ", err)
	}
}

// Has reports whether a program is in PATH, for a test that proves more if it is.
func Has(name string) bool {
	_, err := exec.LookPath(name)
	return err == nil
}

// Line asks for each listed program that a line of shell names. A program that the line names by its whole path is not asked for.
func Line(t testing.TB, line string) {
	t.Helper()
	for _, word := range words.FindAllString(line, -1) {
		if packages[word] != "" {
			Program(t, word)
		}
	}
}

var words = lazyregexp.New(`[\w./~{}-]+`)

// Ran holds that another process ran these tests to their ends: each passed, or Missing ended it. said is what they wrote (-test.v). If one
// of them, or of the tests within them, lacked anything, this test ends as by Missing.
func Ran(t testing.TB, said string, tests ...string) {
	t.Helper()
	lacked, last, speaks := map[string]bool{}, "", ""
	for line := range strings.Lines(said) {
		line = strings.TrimRight(line, "\n")
		if m := turn.FindStringSubmatch(line); m != nil {
			speaks = m[1]
		}
		if _, why, ok := strings.Cut(line, Unproved); ok {
			lacked[speaks], last = true, why
		}
	}
	for _, test := range tests {
		end := func(how string) bool { return strings.Contains("\n"+said, "\n--- "+how+": "+test+" (") }
		if !end("PASS") && !(end("SKIP") && lacked[test]) {
			t.Errorf("%s did not run to its end, so nothing is shown of it:\n%.2000s", test, said)
		}
	}
	if last != "" {
		Missing(t, last)
	}
}

// turn is a line that names the test that speaks from there on. A test within another speaks for itself: its parent passes.
var turn = lazyregexp.New(`^=== (?:RUN|CONT|NAME) +(\S+)$`)
