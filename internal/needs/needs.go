package needs

import (
	_ "embed"
	"fmt"
	"os"
	"os/exec"
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

// program follows Unproved if the machine lacks a program.
const program = "needs "

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
		t.Fatalf("internal/needs/debian does not list %s", name)
	}
	path, err := exec.LookPath(name)
	if err != nil {
		Missing(t, program+name+": apt-get install "+pkg)
	}
	return path
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

// Within ends a test that ran tests in another process as by Missing, if one of them lacked a program. said is what they wrote.
func Within(t testing.TB, said string) {
	t.Helper()
	if _, why, ok := strings.Cut(said, Unproved+program); ok {
		why, _, _ = strings.Cut(why, "\n")
		Missing(t, program+why)
	}
}
