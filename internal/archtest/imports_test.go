package archtest

import (
	"strconv"
	"strings"
	"testing"
)

// TestImportGroups: a file imports the standard library, then what others wrote, then its own module, each in a group.
func TestImportGroups(t *testing.T) {
	t.Parallel()
	files := 0
	eachSource(t, func(src source) {
		files++
		group, line := 0, 0
		for _, spec := range src.file.Imports {
			name, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			now, at := groupOf(name), src.set.Position(spec.Pos()).Line
			switch {
			case line == 0:
			case now < group:
				t.Errorf("%s:%d: %s stands behind a later group: standard library, others, %s", src.path, at, name, module)
			case now == group && at > line+1:
				t.Errorf("%s:%d: a blank line in a group of imports", src.path, at)
			case now > group && at == line+1:
				t.Errorf("%s:%d: no blank line before %s, which begins a group", src.path, at, name)
			}
			group, line = now, at
		}
	})
	if files < 500 {
		t.Fatalf("only %d files were read", files)
	}
}

// groupOf returns 0 for the standard library, 1 for what others wrote, 2 for this module.
func groupOf(path string) int {
	first, _, _ := strings.Cut(path, "/")
	switch {
	case first == module:
		return 2
	case strings.Contains(first, "."):
		return 1
	}
	return 0
}
