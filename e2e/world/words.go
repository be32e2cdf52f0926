package world

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"mcphub/e2e/ide"
	"mcphub/e2e/seeds"
)

// PathArgs gives arguments with one path.
func PathArgs(t testing.TB, path string) string { return Raw(t, obj{"path": path}) }

// Decode reads JSON and keeps numbers as they are written.
func Decode(t testing.TB, b []byte, v any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	if err := d.Decode(v); err != nil {
		t.Fatalf("%v in %.300s", err, b)
	}
}

// Calls counts the calls of a tool in what a recorder wrote down.
func Calls(recorded, tool string) int {
	return strings.Count(recorded, fmt.Sprintf(`"name":%q`, tool))
}

// Denial returns how the text of a refused path begins.
func Denial(path string, roots ...string) string {
	uris := make([]string, 0, len(roots))
	for _, dir := range roots {
		uris = append(uris, `"`+ide.FileURI(dir)+`"`)
	}
	return "Access denied: Path '" + path + "' is outside the allowed roots boundaries. Current roots: [" + strings.Join(uris, ", ") + "]"
}

// Must ends the test with an error.
func Must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Symlink makes a link.
func Symlink(t testing.TB, target, link string) {
	t.Helper()
	Must(t, os.Symlink(target, link))
}

// Raw returns a value as JSON.
func Raw(t testing.TB, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	Must(t, err)
	return string(b)
}

// Names gives the keys, sorted.
func Names[V any](m map[string]V) []string {
	all := make([]string, 0, len(m))
	for k := range m {
		all = append(all, k)
	}
	slices.Sort(all)
	return all
}

// LongCases returns how often something is done: few times, or as MCPHUB_LONG_CASES says, at most that often.
func LongCases(t testing.TB, few, most int) int {
	t.Helper()
	return min(seeds.Cases(t, few), most)
}
