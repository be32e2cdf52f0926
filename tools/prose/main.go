// Prose counts turns of phrase that readers stumble at, and holds the counts to bounds.
//
//	prose MODULE BOUNDS           fails if a count is above its bound
//	prose -lower MODULE BOUNDS    writes the counts that are lower than their bounds
//
// It reads the Go files of MODULE that Git knows, without tests and e2e, and its documents without the code in them. BOUNDS has
// lines "NAME BOUND": a turn is counted per 1,000 words, and the two figures about functions are percentages. Nothing here
// raises a bound.
package main

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

var turns = []struct{ name, pattern, instead string }{
	{"where", `where (?:it|there|that|they|one|a|the|nothing|nobody|some|no)`, "if, when"},
	{"tells-what", `(?:say|says|tell|tells|told) (?:of|what|how|whether|why|that|where|which)`, "returns, reports, sends"},
	{"that-of", `(?:that one|that of|those of|those that)`, "the noun again"},
	{"nobody", `(?:nobody|somebody|whoever)`, "no client, another user, the caller"},
	{"anew", `(?:anew|once more|otherwise than|in place of|in the place of|at hand|come to|comes to|nothing of)`, "again, instead of"},
}

var (
	word     = regexp.MustCompile(`[A-Za-z][A-Za-z']*`)
	code     = regexp.MustCompile("(?s)```.*?```|`[^`]*`|(?m:^    .*$)")
	compound = regexp.MustCompile(`[\p{Ll}\p{Nd}]\p{Lu}|._`)
	// Go's own names of one word, which each program has.
	idiomatic = regexp.MustCompile(`^(?:String|Error|Unwrap|Is|As|Len|Less|Swap|Close|Read|Write|main|init|Run|New|Get|Set|Start|Stop|Wait|` +
		`Serve|ServeHTTP|Name|Next|Reset|Flush|Done|Err|Add|Remove|Do)$`)
	indirect = regexp.MustCompile(`^(?:is|are|was|says|tells|has|have|notes)$`)
)

func main() {
	lower := flag.Bool("lower", false, "write the counts that are lower than their bounds")
	flag.Parse()
	if flag.NArg() != 2 {
		fmt.Fprintln(os.Stderr, "usage: prose [-lower] MODULE BOUNDS")
		os.Exit(2)
	}
	if err := run(flag.Arg(0), flag.Arg(1), *lower); err != nil {
		fmt.Fprintln(os.Stderr, "prose:", err)
		os.Exit(1)
	}
}

func run(module, bounds string, lower bool) error {
	counts, err := countModule(module)
	if err != nil {
		return err
	}
	data, err := os.ReadFile(bounds)
	if err != nil {
		return err
	}
	lines := strings.Split(string(data), "\n")
	faults, held := 0, map[string]bool{}
	for i, line := range lines {
		name, text, ok := strings.Cut(line, " ")
		if !ok || strings.HasPrefix(line, "#") {
			continue
		}
		bound, err := strconv.ParseFloat(text, 64)
		count, known := counts[name]
		if err != nil || !known {
			return fmt.Errorf("%s:%d: %q is no count with its bound", bounds, i+1, line)
		}
		held[name] = true
		switch count = math.Ceil(count*100) / 100; {
		case count > bound:
			faults++
			fmt.Printf("%s is %.2f, and may be %s at most%s\n", name, count, text, hintFor(name))
		case count < bound && lower:
			lines[i] = fmt.Sprintf("%s %.2f", name, count)
		}
	}
	for name := range counts {
		if !held[name] {
			return fmt.Errorf("%s: %s has no bound", bounds, name)
		}
	}
	if lower {
		if err := os.WriteFile(bounds, []byte(strings.Join(lines, "\n")), 0o644); err != nil {
			return err
		}
	}
	if faults > 0 {
		return fmt.Errorf("%d counts are above the bounds in %s: reword what is new", faults, bounds)
	}
	return nil
}

// hintFor returns what to write instead of the turn that a count is about.
func hintFor(count string) string {
	for _, t := range turns {
		if strings.HasSuffix(count, "-"+t.name) {
			return ": write " + t.instead
		}
	}
	return ""
}

// countModule returns the counts of a module by their names.
func countModule(module string) (map[string]float64, error) {
	out, err := exec.Command("git", "-C", module, "ls-files", "*.go", "*.md").Output()
	if err != nil {
		return nil, fmt.Errorf("git ls-files in %s: %w", module, err)
	}
	var comments, documents strings.Builder
	var functions, single, documented, openings float64
	for _, name := range strings.Fields(string(out)) {
		if name == "CHANGELOG.md" || strings.Contains(name, "testdata/") {
			continue
		}
		path := filepath.Join(module, name)
		if strings.HasSuffix(name, ".md") {
			text, err := os.ReadFile(path)
			if err != nil {
				return nil, err
			}
			documents.WriteString(code.ReplaceAllString(string(text), " ") + " ")
			continue
		}
		if strings.HasSuffix(name, "_test.go") || strings.HasPrefix(name, "e2e/") || strings.HasPrefix(name, "internal/jsonschema/") { // a library's files
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		for _, c := range file.Comments {
			comments.WriteString(c.Text() + " ")
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			functions++
			if !compound.MatchString(f.Name.Name) && !idiomatic.MatchString(f.Name.Name) {
				single++
			}
			if doc := strings.Fields(f.Doc.Text()); len(doc) > 2 && doc[0] == f.Name.Name {
				documented++
				if indirect.MatchString(doc[1]) {
					openings++
				}
			}
		}
	}
	counts := map[string]float64{
		"one-word-names": 100 * single / max(functions, 1),
		"opens-with-is":  100 * openings / max(documented, 1),
	}
	for _, t := range turns {
		re := regexp.MustCompile(`(?i)\b` + t.pattern + `\b`)
		counts["comments-"+t.name] = perThousand(re, comments.String())
		counts["docs-"+t.name] = perThousand(re, documents.String())
	}
	return counts, nil
}

// perThousand counts what re matches per 1,000 words of a text.
func perThousand(re *regexp.Regexp, text string) float64 {
	return 1000 * float64(len(re.FindAllString(text, -1))) / max(float64(len(word.FindAllString(text, -1))), 1)
}
