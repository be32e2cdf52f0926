package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// seeded is the package that owns the randomness of tests.
const seeded = "e2e/seeds"

// ofChance says, for each package that draws at random, which names of it a test may use, and what it uses instead of the others.
var ofChance = map[string]struct {
	allowed []string
	instead string
}{
	"math/rand":          {[]string{"Rand", "Source", "Zipf"}, "seeds.Rand"},
	"math/rand/v2":       {[]string{"Rand", "Source", "Zipf"}, "seeds.Rand"},
	"crypto/rand":        {[]string{"Text"}, "seeds.Rand to choose cases, rand.Text for a secret"},
	"hash/maphash":       {nil, "seeds.Rand"},
	"testing/quick":      {nil, "rapid, and seeds.Check"},
	"pgregory.net/rapid": {nil, "seeds.Check and seeds.Example"}, // only what drawsByItself
}

// drawsByItself are the functions of rapid that seed what they do. The others make generators, or take input from Go's fuzzing.
var drawsByItself = []string{"Check", "MakeCheck"}

// clocks are methods of a time whose last digits differ in each run.
// Unix is a stamp in most tests, and a duration in Nanoseconds is what a test prints: if they serve as a seed, they are not found.
var clocks = []string{"UnixNano", "UnixMicro", "UnixMilli", "Nanosecond"}

// owned are texts that only the owner of seeds needs: variables, and the flags of rapid.
var owned = []string{"MCPHUB_SEED", "MCPHUB_LONG_CASES", "rapid.", "-rapid."}

// TestRandomnessIsSeeded holds that a random test draws by e2e/seeds: so each run tests the same, and a failure repeats.
func TestRandomnessIsSeeded(t *testing.T) {
	t.Parallel()
	users := 0
	eachSource(t, func(s source) {
		if dir := path.Dir(s.path); dir == seeded || dir == "internal/archtest" || !strings.HasSuffix(s.path, "_test.go") && !strings.HasPrefix(dir, "e2e") && !strings.HasSuffix(dir, "test") {
			return
		}
		found := unseeded(s.file)
		for _, pos := range slices.Sorted(maps.Keys(found)) {
			t.Errorf("%s: %s", s.set.Position(pos), found[pos])
		}
		if slices.Contains(importsOf(s.file), module+"/"+seeded) {
			users++
		}
	})
	if users < 40 {
		t.Errorf("%d files use %s: are they written otherwise now?", users, seeded)
	}
}

// TestUnseededRandomnessIsFound is its control.
func TestUnseededRandomnessIsFound(t *testing.T) {
	for _, c := range []struct{ imports, body, want string }{
		{`"math/rand/v2"`, `rand.IntN(3)`, "seeds.Rand"},
		{`"math/rand/v2"`, `go func() { f := rand.Uint64; f() }()`, "seeds.Rand"},
		{`"math/rand/v2"`, `rand.Shuffle(3, nil)`, "seeds.Rand"},
		{`"math/rand/v2"`, `rand.N(time)`, "seeds.Rand"},
		{`chance "math/rand/v2"`, `chance.Perm(3)`, "seeds.Rand"},
		{`. "math/rand/v2"`, `Perm(3)`, "by a dot"},
		{`"math/rand"`, `rand.Intn(3)`, "seeds.Rand"},
		{`"math/rand"`, `rand.New(rand.NewSource(1))`, "seeds.Rand"},
		{`"math/rand/v2"`, `rand.New(rand.NewPCG(1, 2))`, "seeds.Rand"},
		{`"math/rand/v2"`, `rand.NewChaCha8([32]byte{})`, "seeds.Rand"},
		{`"math/rand/v2"`, `var p rand.PCG; p.Seed(1, 2)`, "seeds.Rand"},
		{`"crypto/rand"`, `rand.Read(b)`, "rand.Text for a secret"},
		{`"crypto/rand"`, `rand.Int(rand.Reader, n)`, "rand.Text for a secret"},
		{`"crypto/rand"; "encoding/binary"`, `binary.Read(rand.Reader, order, &n)`, "rand.Text for a secret"},
		{`"hash/maphash"`, `new(maphash.Hash).Sum64()`, "seeds.Rand"},
		{`"testing/quick"`, `quick.Check(f, nil)`, "seeds.Check"},
		{`"testing/quick"`, `quick.CheckEqual(f, g, &quick.Config{MaxCount: 1})`, "seeds.Check"},
		{`"pgregory.net/rapid"`, `rapid.Check(t, property)`, "seeds.Check"},
		{`"pgregory.net/rapid"`, `t.Run("x", rapid.MakeCheck(property))`, "seeds.Check"},
		{`"pgregory.net/rapid"`, `rapid.Int().Example()`, "seeds.Example"},
		{`"pgregory.net/rapid"`, `rapid.Int().Example(7)`, "seeds.Example"},
		{`"flag"`, `flag.Set("rapid.checks", "500")`, "owns rapid.checks"},
		{`"os/exec"`, `exec.Command("go", "test", "-rapid.seed=1")`, "owns -rapid.seed=1"},
		{`"os"`, `os.Getenv("MCPHUB_SEED")`, "owns MCPHUB_SEED"},
		{`"os"`, `os.Getenv("MCPHUB_LONG_CASES")`, "owns MCPHUB_LONG_CASES"},
		{`"time"`, `uint64(time.Now().UnixNano())`, "the clock"},
		{`clock "time"`, `clock.Now().UTC().Nanosecond()`, "the clock"},
		{`"time"`, `now := time.Now(); f(now.UnixMicro())`, "the clock"},
		{`"time"`, `var now = time.Now(); f(now.UnixMilli())`, "the clock"},

		{`"math/rand/v2"`, `var r *rand.Rand = seeds.Rand(t); r.IntN(3)`, ""},
		{`"crypto/rand"; "crypto/ecdsa"`, `ecdsa.GenerateKey(curve, rand.Reader)`, ""},
		{`"crypto/rand"`, `rand.Text()`, ""},
		{`"pgregory.net/rapid"`, `seeds.Check(t, func(t *rapid.T) { rapid.Int().Draw(t, "x") }); f.Fuzz(rapid.MakeFuzz(property))`, ""},
		{`"other/rand"`, `rand.IntN(3)`, ""},
		{`"time"`, `began := time.Now(); time.Since(began); file.ModTime().UnixNano(); time.Now().Unix()`, ""},
		{`"time"`, `at := time.Unix(5, 0); f(at.UnixNano())`, ""},
		{``, `m.Example()`, ""},
	} {
		text := "package p\n\nimport (\n" + strings.ReplaceAll(c.imports, "; ", "\n") + "\n)\n\nfunc f() {\n" + c.body + "\n}\n"
		file, err := parser.ParseFile(token.NewFileSet(), "x_test.go", text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(slices.Sorted(maps.Values(unseeded(file))), "\n"); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s\n%s: %q, want %q", c.imports, c.body, got, c.want)
		}
	}
}

func importsOf(f *ast.File) (paths []string) {
	for _, spec := range f.Imports {
		name, _ := strconv.Unquote(spec.Path.Value) // it is parsed
		paths = append(paths, name)
	}
	return paths
}

// unseeded returns what in a test file draws at random and not by a seed, by its place.
func unseeded(f *ast.File) map[token.Pos]string {
	found := map[token.Pos]string{}
	names := map[string]string{} // of packages in this file
	for i, imported := range importsOf(f) {
		name := path.Base(strings.TrimSuffix(imported, "/v2"))
		if local := f.Imports[i].Name; local != nil {
			name = local.Name
		}
		names[name] = imported
		if chance, is := ofChance[imported]; is && name == "." {
			found[f.Imports[i].Pos()] = imported + " is imported by a dot: use " + chance.instead
		}
	}
	// of gives the package and the name, if that is what an expression is.
	of := func(n ast.Node) (from, name string) {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok {
				return names[x.Name], s.Sel.Name
			}
		}
		return "", ""
	}
	isNow := func(e ast.Expr) bool {
		call, ok := e.(*ast.CallExpr)
		if !ok {
			return false
		}
		from, name := of(call.Fun)
		return from == "time" && name == "Now"
	}
	now := map[string]bool{}    // variables that hold the time
	made := map[ast.Expr]bool{} // arguments of functions that make keys
	for _, decl := range f.Decls {
		clear(now)
		ast.Inspect(decl, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.AssignStmt:
				for i, e := range n.Rhs {
					if x, ok := n.Lhs[i].(*ast.Ident); ok && isNow(e) {
						now[x.Name] = true
					}
				}
			case *ast.ValueSpec:
				for i, e := range n.Values {
					now[n.Names[i].Name] = isNow(e)
				}
			case *ast.CallExpr:
				if from, _ := of(n.Fun); from != "crypto/rand" && strings.HasPrefix(from, "crypto/") {
					for _, arg := range n.Args {
						made[arg] = true
					}
				}
			case *ast.BasicLit:
				text, _ := strconv.Unquote(n.Value) // it is parsed
				if n.Kind == token.STRING && slices.ContainsFunc(owned, func(o string) bool { return text == o || strings.HasSuffix(o, ".") && strings.HasPrefix(text, o) }) {
					found[n.Pos()] = fmt.Sprintf("%s owns %s", seeded, text)
				}
			case *ast.SelectorExpr:
				from, name := of(n)
				chance, is := ofChance[from]
				switch {
				case from == "crypto/rand" && name == "Reader" && made[n]:
				case from == "pgregory.net/rapid" && !slices.Contains(drawsByItself, name):
				case is && !slices.Contains(chance.allowed, name):
					found[n.Pos()] = fmt.Sprintf("%s.%s has no seed: use %s", from, name, chance.instead)
				case from == "" && name == "" && n.Sel.Name == "Example" && slices.Contains(importsOf(f), "pgregory.net/rapid"):
					found[n.Pos()] = "Example has no seed, or the same in every test: use seeds.Example"
				case slices.Contains(clocks, n.Sel.Name) && ofTheClock(n.X, isNow, now):
					found[n.Pos()] = fmt.Sprintf("%s of the clock is another one in each run: use seeds.Rand, or rand.Text of crypto/rand for what is to be unique", n.Sel.Name)
				}
			}
			return true
		})
	}
	return found
}

// ofTheClock reports whether a time is the present: such a call, a variable that holds one, or a method of one.
func ofTheClock(e ast.Expr, isNow func(ast.Expr) bool, now map[string]bool) bool {
	switch e := e.(type) {
	case *ast.Ident:
		return now[e.Name]
	case *ast.CallExpr:
		s, ok := e.Fun.(*ast.SelectorExpr)
		return isNow(e) || ok && ofTheClock(s.X, isNow, now)
	}
	return false
}
