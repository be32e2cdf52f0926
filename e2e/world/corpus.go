package world

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// Lay makes the places of random policies and calls, and gives their paths.
func (w *World) Lay() (places []string) {
	w.T.Helper()
	for _, dir := range []string{"project/a/deep", "project/b", "box", "docs/deep", "docs/keep"} {
		Must(w.T, os.MkdirAll(w.Path(dir), 0o700))
	}
	Must(w.T, os.WriteFile(w.Path("docs", "keep", "x"), nil, 0o600))
	Symlink(w.T, w.Path("docs"), w.Path("project", "to-docs"))
	Symlink(w.T, w.Path("project", "a"), w.Path("docs", "to-a"))
	for _, p := range []string{"project", "project/a", "project/a/deep", "project/b", "docs", "docs/deep", "docs/keep", "docs/keep/x", "box", "outside", "project/hello.txt", "project/to-docs", "project/to-docs/keep", "docs/to-a/new", "project/a/new", "outside/secret.txt", "project/sub/deep.txt"} {
		places = append(places, w.Path(filepath.FromSlash(p)))
	}
	return places
}

// CorpusOf returns every string of the tests below some directories of the repository.
func CorpusOf(t testing.TB, dirs ...string) []string {
	t.Helper()
	seen := map[string]bool{}
	literals := func(n ast.Node) bool {
		if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
			s, err := strconv.Unquote(l.Value)
			Must(t, err)
			seen[s] = true
		}
		return true
	}
	for _, dir := range dirs {
		Must(t, filepath.WalkDir(Source(dir), func(file string, entry fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case entry.Name() == "node_modules":
				return fs.SkipDir
			case strings.HasSuffix(file, "_test.go"):
				f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
				Must(t, err)
				ast.Inspect(f, literals)
			case filepath.Base(filepath.Dir(filepath.Dir(file))) == "fuzz":
				b, err := os.ReadFile(file)
				Must(t, err)
				for line := range strings.Lines(string(b)) {
					if e, err := parser.ParseExpr(strings.TrimSpace(line)); err == nil {
						ast.Inspect(e, literals)
					}
				}
			}
			return nil
		}))
	}
	b, err := os.ReadFile(Source("validate", "testdata", "honest.json"))
	Must(t, err)
	var honest []struct{ Args json.RawMessage }
	Must(t, json.Unmarshal(b, &honest))
	for _, h := range honest {
		seen[string(h.Args)] = true
	}
	var all []string
	for _, text := range Names(seen) {
		if !strings.Contains(text, "$P") {
			all = append(all, text)
			continue
		}
		for _, path := range []string{"{outside}/secret.txt", "{project}/src/main.go", "link/secret.txt"} {
			all = append(all, strings.ReplaceAll(text, "$P", path))
		}
	}
	return all
}

// Furnish puts there what the strings of the corpus name, and the places of the policies.
func Furnish(w *World) {
	w.T.Helper()
	w.Lay()
	for _, name := range []string{"project/src/main.go", "project/docs/x", "project/a.txt", "project/[id]/page.tsx", "project/bin/x", "projects/sibling.txt",
		"outside/tool", "outside/sub/x", "home/outside/secret.txt"} {
		w.Write(name, name)
	}
	for _, link := range [][2]string{{"link", w.Outside}, {"inner", w.Path("project", "src")}, {"dangling", w.Path("outside", "new.txt")},
		{"loop", w.Path("project", "loop")}, {"passwd", w.Path("outside", "secret.txt")}} {
		Symlink(w.T, link[1], w.Path("project", link[0]))
	}
}

// Fill puts the places of a world into a text of the corpus.
func Fill(w *World, text string) string {
	return strings.NewReplacer("{project}", w.Project, "{R}", w.Project, "{outside}", w.Outside, "{home}", w.Home, "{hub}", w.Path("hub.json")).Replace(text)
}

// Quoted returns a JSON string with the bytes as they are, be they no UTF-8.
func Quoted(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range []byte(text) {
		switch {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < 0x20:
			fmt.Fprintf(&b, `\u%04x`, c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// OneLine is raw JSON as it can go over a pipe.
func OneLine(text string) string { return strings.NewReplacer("\n", " ", "\r", " ").Replace(text) }
