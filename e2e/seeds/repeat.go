package seeds

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// repeating has the tests that print what repeats them, if they fail.
var repeating sync.Map

// printRepeat has a test that fails print the line that repeats it, once.
func printRepeat(t testing.TB, seed uint64) {
	if _, twice := repeating.LoadOrStore(t, true); twice {
		return
	}
	t.Cleanup(func() {
		repeating.Delete(t)
		if t.Failed() {
			fmt.Fprintln(t.Output(), "repeat:", repeatCommand(t.Name(), seed))
		}
	})
}

// repeatCommand runs a test again as it was run, from the root of the repository.
func repeatCommand(test string, seed uint64) string {
	words := []string{fmt.Sprintf("%s=%d", seedVariable, seed)}
	for _, name := range []string{casesVariable, "MCPHUB_E2E_LONG", "MCPHUB_STRICT_BOUNDS"} {
		if value := os.Getenv(name); value != "" {
			words = append(words, name+"="+value)
		}
	}
	return strings.Join(append(words, "go", "test", place, "-run", quoteWord(runPattern(test))), " ")
}

// runPattern returns the expression for -run that chooses one test or subtest.
func runPattern(test string) string {
	parts := strings.Split(test, "/")
	for i, part := range parts {
		parts[i] = "^" + regexp.QuoteMeta(part) + "$"
	}
	return strings.Join(parts, "/")
}

// quoteWord returns one word of a shell.
func quoteWord(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }

// place is the package under test, from the root of the repository. A test may change its directory, so this is known before.
var place = func() string {
	dir, err := os.Getwd()
	if err != nil {
		return "."
	}
	for root := dir; root != filepath.Dir(root); root = filepath.Dir(root) {
		if _, err := os.Stat(filepath.Join(root, "go.mod")); err == nil {
			below, _ := filepath.Rel(root, dir) // root is above it
			return "./" + filepath.ToSlash(below)
		}
	}
	return "."
}()
