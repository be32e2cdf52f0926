// Mutants judges what the mutation tool wrote.
//
//	mutants LIST TREE PACKAGE=REPORT.json...
//
// A mutant is the source with one operator exchanged. One that passes the tests of its own package has survived: either no
// test runs its line, or none notices. LIST holds the survivors that were reviewed, a mutant a line as this program prints
// it, below a comment with the reason; a blank line ends what a reason covers. The run fails if a survivor is not in LIST,
// if one in LIST is killed or is no longer a mutant, and if less than four fifths of a package's mutants are killed.
//
// A mutant that does not compile does not count. One that exceeds the time limit, which is several times what all tests of
// the package take, hangs: it counts as killed, because go test ends it with a failure too.
package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

const leastScore = 80

// A mutant is one exchange of an operator.
type mutant struct {
	Type, Status string
	Line, Column int
}

func main() {
	if len(os.Args) < 4 {
		fmt.Fprintln(os.Stderr, "usage: mutants LIST TREE PACKAGE=REPORT.json...")
		os.Exit(2)
	}
	faults, err := run(os.Args[1], os.Args[2], os.Args[3:])
	if err != nil {
		faults = append(faults, err.Error())
	}
	for _, fault := range faults {
		fmt.Fprintln(os.Stderr, fault)
	}
	if len(faults) > 0 {
		os.Exit(1)
	}
}

func run(list, tree string, reports []string) (faults []string, err error) {
	listed, err := read(list)
	if err != nil {
		return nil, err
	}
	fmt.Printf("%-24s %7s %7s %11s %9s %7s %14s\n", "package", "killed", "lived", "not covered", "timed out", "score", "do not compile")
	for _, arg := range reports {
		pkg, report, _ := strings.Cut(arg, "=")
		files, err := load(report)
		if err != nil {
			return faults, fmt.Errorf("%s: %w", pkg, err)
		}
		count, known := map[string]int{}, map[string]int{}
		for name, mutants := range files {
			file := path.Join(pkg, name)
			print, err := printer(filepath.Join(tree, file))
			if err != nil {
				return faults, err
			}
			for _, m := range mutants {
				count[m.Status]++
				if m.Status != "LIVED" && m.Status != "NOT COVERED" {
					continue
				}
				text := file + " " + print(m)
				if known[text]++; known[text] > listed[text] {
					faults = append(faults, fmt.Sprintf("survived (%s): %s", strings.ToLower(m.Status), text))
				}
			}
		}
		for text, n := range listed {
			name, _, _ := strings.Cut(text, " ")
			if path.Dir(name) == pkg && known[text] < n {
				faults = append(faults, "listed, but killed or no longer a mutant: "+text)
			}
		}
		killed := count["KILLED"] + count["TIMED OUT"]
		all := killed + count["LIVED"] + count["NOT COVERED"]
		if all == 0 || count["NOT VIABLE"] > all {
			return faults, fmt.Errorf("%s: %d mutants were tried, and %d could not be built", pkg, all, count["NOT VIABLE"])
		}
		score := 100 * float64(killed) / float64(all)
		fmt.Printf("%-24s %7d %7d %11d %9d %6.1f%% %14d\n", pkg, count["KILLED"], count["LIVED"], count["NOT COVERED"], count["TIMED OUT"], score, count["NOT VIABLE"])
		if score < leastScore {
			faults = append(faults, fmt.Sprintf("%s: %.1f%% of the mutants are killed, and %d%% are asked for", pkg, score, leastScore))
		}
	}
	slices.Sort(faults)
	return faults, nil
}

// read returns how often each mutant is listed.
func read(list string) (map[string]int, error) {
	f, err := os.Open(list)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	listed, reason, n := map[string]int{}, false, 0
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		n++
		switch line := strings.TrimSpace(lines.Text()); {
		case line == "":
			reason = false
		case strings.HasPrefix(line, "#"):
			reason = true
		case !reason:
			return nil, fmt.Errorf("%s:%d: no reason stands above this mutant", list, n)
		default:
			listed[line]++
		}
	}
	return listed, lines.Err()
}

// load returns the mutants of each file of a report.
func load(report string) (map[string][]mutant, error) {
	raw, err := os.ReadFile(report)
	if err != nil {
		return nil, err
	}
	var out struct {
		Files []struct {
			Name      string `json:"file_name"`
			Mutations []mutant
		}
	}
	if err := json.Unmarshal(raw, &out); err != nil {
		return nil, fmt.Errorf("%s: %w", report, err)
	}
	files := map[string][]mutant{}
	for _, f := range out.Files {
		slices.SortFunc(f.Mutations, func(a, b mutant) int {
			return cmp.Or(a.Line-b.Line, a.Column-b.Column, strings.Compare(a.Type, b.Type))
		})
		files[f.Name] = f.Mutations
	}
	return files, nil
}

// printer returns what names a mutant of a file, and stays the same when lines above it come and go: the function, the kind,
// and the line with the operator marked.
func printer(file string) (func(mutant) string, error) {
	src, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	set := token.NewFileSet()
	tree, err := parser.ParseFile(set, file, src, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	lines := strings.Split(string(src), "\n")
	return func(m mutant) string {
		function := "-"
		for _, decl := range tree.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && set.Position(f.Pos()).Line <= m.Line && m.Line <= set.Position(f.End()).Line {
				function = f.Name.Name
			}
		}
		before, after := lines[m.Line-1][:m.Column-1], lines[m.Line-1][m.Column-1:]
		n := len(operator(after))
		return fmt.Sprintf("%s %s: %s", function, m.Type, strings.TrimSpace(before+"«"+after[:n]+"»"+after[n:]))
	}, nil
}

// operator returns the token that a text begins with.
func operator(text string) string {
	var s scanner.Scanner
	set := token.NewFileSet()
	s.Init(set.AddFile("", -1, len(text)), []byte(text), nil, 0)
	_, tok, _ := s.Scan()
	return tok.String()
}
