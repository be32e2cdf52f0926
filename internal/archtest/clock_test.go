package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// supports are the folders of what tests share, beside the files of tests.
var supports = []string{"e2e/"}

// ownTimes are functions that keep a time of their own outside of a bubble, and why.
var ownTimes = map[string]string{
	"e2e/opener/attacks_linux.go speak":                      "an attacker, who waits for no answer for ever",
	"e2e/opener/main.go shell":                               "longer than the test waits for it, so that no slow attack looks refused",
	"e2e/clients/stacks_test.go TestElicitationTakesItsTime": "so long a person thinks: it fails nothing",
	"e2e/ide/client.go Close":                                "the rest of a client that was killed: what outlives it is looked for afterwards",
	"e2e/operation/drain_linux_test.go balance":              "how often a balancer looks whether a hub is ready",
	"e2e/operation/drain_linux_test.go endsAtOnce":           "a call that the first signal must not cut: it passes if nothing comes",
	"e2e/operation/yardstick_linux_test.go callsOfAStart":    "so late the list may be written: it excuses, and fails nothing",
	"e2e/servers/entries_linux_test.go gatherHeld":           "words that may not come: it fails nothing",
	"hub/share_property_test.go do":                          "in a bubble: a step of the model, which waits for so long",
	"rootsmgr/session_test.go question":                      "in a bubble: the client that never answers",
}

// awake are functions that sleep outside of a bubble, and why.
var awake = map[string]string{
	"e2e/childtest/calls.go callTool":                            "a scripted child: its script sets the time",
	"e2e/childtest/calls.go freezeReading":                       "a scripted child that hangs",
	"e2e/childtest/modern.go answerDiscover":                     "a scripted child: its script sets the time",
	"e2e/childtest/script.go Serve":                              "a scripted child: its script sets the time, or it waits for a file",
	"e2e/childtest/script.go askRoots":                           "a scripted child: its script sets the time",
	"e2e/childtest/script.go holdForEver":                        "a scripted child that hangs",
	"children/limits/places_test.go Yield":                       "in a bubble: the places call it",
	"children/orphan_linux_test.go hub":                          "in a process of its own, which is killed",
	"children/process/bounds_linux_test.go forkBomb":             "in processes of their own, which are killed",
	"children/process/bounds_linux_test.go memoryBomb":           "in a process of its own, which is killed",
	"e2e/opener/again_linux.go left":                             "an attack at a moment that the test varies",
	"e2e/recorder/main.go forever":                               "a server that has to be killed",
	"e2e/recorder/main.go run":                                   "a server: its test sets the time",
	"e2e/windows/witness/main.go hold":                           "a server that has to be killed",
	"hub/client_test.go ServeRequest":                            "the scripted client, which is used in bubbles",
	"hub/isolation_property_test.go calm":                        "in a bubble: a method of the model",
	"hub/isolation_property_test.go do":                          "in a bubble: a step of the model",
	"hub/share_property_test.go do":                              "in a bubble: a step of the model",
	"rootsmgr/with_call_test.go TestHandshakeAfterRootsWithCall": "in a bubble: a source that the bubble calls",
}

// TestNoTestSleeps: a test that waits for the clock is slow, and wrong on a busy machine.
func TestNoTestSleeps(t *testing.T) {
	t.Parallel()
	found := map[string]bool{}
	eachTimed(t, func(_ string, p *timed) {
		for _, f := range p.funcs {
			name := p.in[f].path + " " + f.Name.Name
			p.sleeps(f, func(at token.Pos) {
				if found[name] = true; awake[name] == "" {
					t.Errorf("%s %s sleeps outside of a bubble (testing/synctest): wait for an event", p.in[f].set.Position(at), f.Name.Name)
				}
			})
		}
	})
	for name := range awake {
		if !found[name] {
			t.Errorf("%s does not sleep: take it out of the list", name)
		}
	}
}

// sleeps gives each sleep of a function outside of a bubble.
func (p *timed) sleeps(f *ast.FuncDecl, each func(at token.Pos)) {
	p.walk(f, func(n ast.Node, in bool) {
		if s, ok := n.(*ast.SelectorExpr); ok && !in && types.ExprString(s) == "time.Sleep" {
			each(n.Pos())
		}
	})
}

// A timed is the code of a package of tests: what is said of time in it.
type timed struct {
	consts  map[string]ast.Expr
	locals  map[string]ast.Expr // of the function that find looks at
	funcs   []*ast.FuncDecl
	in      map[*ast.FuncDecl]source
	runners map[string]bool // functions that run what they are given in a bubble
	bubbled map[string]bool // functions that are only called in bubbles
}

func newTimed(files ...source) *timed {
	p := &timed{consts: map[string]ast.Expr{}, in: map[*ast.FuncDecl]source{}, runners: map[string]bool{"synctest.Test": true}, bubbled: map[string]bool{}}
	bubbles := false
	for _, s := range files {
		bubbles = bubbles || strings.Contains(s.text, `"testing/synctest"`)
		for _, d := range s.file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Body != nil {
					p.funcs, p.in[d] = append(p.funcs, d), s
				}
			case *ast.GenDecl:
				p.note(d)
			}
		}
	}
	for bubbles && p.spread() {
		continue
	}
	return p
}

// note keeps the constants of a declaration, and the variables that begin as one.
func (p *timed) note(d *ast.GenDecl) {
	for _, s := range d.Specs {
		if v, ok := s.(*ast.ValueSpec); ok {
			for i, n := range v.Names {
				if i < len(v.Values) && (d.Tok == token.CONST || written(v.Values[i])) {
					p.consts[n.Name] = v.Values[i]
				}
			}
		}
	}
}

// written reports whether a value is written out: nothing calculates it, at most of constants.
func written(e ast.Expr) bool {
	plain := unit.MatchString(types.ExprString(e))
	ast.Inspect(e, func(n ast.Node) bool {
		switch n.(type) {
		case *ast.CallExpr, *ast.FuncLit, *ast.CompositeLit:
			plain = false
		}
		return plain
	})
	return plain
}

// spread finds more functions that run, or are run, in bubbles; false: there are no more.
func (p *timed) spread() (more bool) {
	calls, outside := map[string]int{}, map[string]int{}
	for _, f := range p.funcs {
		name := f.Name.Name
		given := map[string]bool{}
		for _, field := range f.Type.Params.List {
			if _, ok := field.Type.(*ast.FuncType); ok {
				for _, n := range field.Names {
					given[n.Name] = true
				}
			}
		}
		p.walk(f, func(n ast.Node, in bool) {
			id, ok := n.(*ast.Ident)
			if !ok {
				return
			}
			if in && given[id.Name] && !p.bubbled[name] && !p.runners[name] {
				p.runners[name], more = true, true
			}
			if id.Name != name {
				if calls[id.Name]++; !in {
					outside[id.Name]++
				}
			}
		})
	}
	for _, f := range p.funcs {
		if name := f.Name.Name; calls[name] > 0 && outside[name] == 0 && !p.bubbled[name] {
			p.bubbled[name], more = true, true
		}
	}
	return more
}

// walk gives each node of a function, and whether it stands in a bubble. What a table holds for a function with a bubble does.
func (p *timed) walk(f *ast.FuncDecl, each func(n ast.Node, in bool)) {
	var walk func(n ast.Node, in, table bool)
	has := false
	ast.Inspect(f.Body, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		has = has || ok && p.runners[called(call)]
		return true
	})
	walk = func(n ast.Node, in, table bool) {
		ast.Inspect(n, func(m ast.Node) bool {
			switch m := m.(type) {
			case nil:
				return false
			case *ast.CallExpr:
				if p.runners[called(m)] {
					each(m, in)
					walk(m.Fun, in, false)
					for _, a := range m.Args {
						walk(a, true, false)
					}
					return false
				}
			case *ast.FuncLit:
				if table && m != n {
					walk(m, true, false)
					return false
				}
			case *ast.CompositeLit:
				if has && m != n {
					walk(m, in, true)
					return false
				}
			}
			each(m, in)
			return true
		})
	}
	walk(f.Body, p.bubbled[f.Name.Name], false)
}

// called returns the name of a function that is called, with the package if it is one of these.
func called(c *ast.CallExpr) string {
	fun := c.Fun
	if index, ok := fun.(*ast.IndexExpr); ok {
		fun = index.X
	}
	switch fun := fun.(type) {
	case *ast.Ident:
		return fun.Name
	case *ast.SelectorExpr:
		if x, ok := fun.X.(*ast.Ident); ok && slices.Contains([]string{"bounds", "context", "synctest", "time"}, x.Name) {
			return x.Name + "." + fun.Sel.Name
		}
		return fun.Sel.Name
	}
	return ""
}

var unit = regexp.MustCompile(`\btime\.(Nanosecond|Microsecond|Millisecond|Second|Minute|Hour)\b`)

// value returns what a name stands for: a variable of the function, or a constant; else nil.
func (p *timed) value(name string) ast.Expr {
	if e := p.locals[name]; e != nil {
		return e
	}
	return p.consts[name]
}

// own reports whether an expression is a time that a test has made up: a number of seconds, or a constant that is one, which does not
// go through the bounds package.
func (p *timed) own(e ast.Expr) bool {
	text := types.ExprString(e)
	if strings.Contains(text, "bounds.") {
		return false
	}
	made := unit.MatchString(text)
	ast.Inspect(e, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && p.value(id.Name) != nil {
			value := types.ExprString(p.value(id.Name))
			made = made || unit.MatchString(value) && !strings.Contains(value, "bounds.")
		}
		return true
	})
	return made
}

// long reports whether a time is one that only a test that fails waits for: a second or more, and not what is over.
func (p *timed) long(e ast.Expr) bool {
	text := types.ExprString(e)
	return p.own(e) && !strings.Contains(text, "(-") && !regexp.MustCompile(`time\.(Nano|Micro|Milli)second\b`).MatchString(text)
}

// waits are calls that wait for a time, and which argument it is.
var waits = map[string]int{
	"context.WithTimeout": 1, "context.WithDeadline": 1, "DialTimeout": 2, "context.WithTimeoutCause": 1, "time.After": 0, "time.AfterFunc": 0, "time.NewTimer": 0,
	"SetDeadline": 0, "SetReadDeadline": 0, "SetWriteDeadline": 0, "bounds.Within": 0, "Within": 0,
}

// ends are the methods that compare with a moment.
var ends = []string{"After", "Before"}

// find gives what a function says about time that it should not: an upper bound of its own, or a wait. It does not follow a bound
// through a field of a table or an argument, and does not count the ticks of a ticker. WaitDelay is left out: it is how long what a
// killed program has started may keep its output open.
func (p *timed) find(f *ast.FuncDecl, each func(at token.Pos, what string)) {
	moments := map[string]bool{}
	p.locals = map[string]ast.Expr{}
	p.walk(f, func(n ast.Node, in bool) {
		switch n := n.(type) {
		case *ast.GenDecl:
			p.note(n)
		case *ast.AssignStmt:
			for i, value := range n.Rhs {
				if i >= len(n.Lhs) {
					break
				}
				if id, ok := n.Lhs[i].(*ast.Ident); ok && written(value) {
					p.locals[id.Name] = value
				}
				if call, ok := value.(*ast.CallExpr); ok && strings.HasPrefix(types.ExprString(call), "time.Now().Add(") && p.own(call) {
					moments[types.ExprString(n.Lhs[i])] = true
				}
			}
		case *ast.CompositeLit:
			for _, e := range n.Elts {
				kv, ok := e.(*ast.KeyValueExpr)
				if ok && !in && n.Type != nil && slices.Contains(clients, types.ExprString(n.Type)) && types.ExprString(kv.Key) == "Timeout" && p.long(kv.Value) {
					each(kv.Pos(), "a test has a patience of its own: wait for bounds.Patience")
				}
			}
		case *ast.BinaryExpr:
			most := n.Y
			if n.Op == token.LSS || n.Op == token.LEQ {
				most = n.X
			} else if n.Op != token.GTR && n.Op != token.GEQ {
				return
			}
			measured := n.X
			if most == n.X {
				measured = n.Y
			}
			if !in && (p.own(most) && !(p.own(n.X) && p.own(n.Y)) || number(most) && counted(measured)) {
				each(n.Pos(), "a measured time is compared with a bound of this test: bounds.Of gives it ten times as much, and .ci/long none")
			}
		case *ast.CallExpr:
			name := called(n)
			at, ok := waits[name]
			if ok && !in && at < len(n.Args) && p.long(n.Args[at]) {
				each(n.Pos(), "a test has a patience of its own: wait for bounds.Patience")
			}
			if s, ok := n.Fun.(*ast.SelectorExpr); ok && !in && slices.Contains(ends, s.Sel.Name) && types.ExprString(s.X) == "time.Now()" && len(n.Args) == 1 && moments[types.ExprString(n.Args[0])] {
				each(n.Pos(), "a test ends at a moment of its own: wait for bounds.Patience")
			}
		}
	})
}

// clients are the types whose Timeout is what something waits for.
var clients = []string{"http.Client", "net.Dialer"}

// counted reports whether an expression is a time as a number of units.
func counted(e ast.Expr) bool {
	call, ok := e.(*ast.CallExpr)
	if !ok || len(call.Args) > 0 {
		return false
	}
	s, ok := call.Fun.(*ast.SelectorExpr)
	return ok && slices.Contains([]string{"Nanoseconds", "Microseconds", "Milliseconds", "Seconds", "Minutes", "Hours"}, s.Sel.Name)
}

// number reports whether an expression is a number that is written out, and not 0.
func number(e ast.Expr) bool {
	n, ok := e.(*ast.BasicLit)
	return ok && n.Value != "0"
}

// timedPackages are the packages of tests, by their folders.
var timedPackages = sync.OnceValues(func() (map[string]*timed, error) {
	files, err := sources()
	if err != nil {
		return nil, err
	}
	all := map[string][]source{}
	for _, s := range files {
		shared := slices.ContainsFunc(supports, func(dir string) bool { return strings.HasPrefix(s.path, dir) })
		if dir := path.Dir(s.path); (shared || strings.HasSuffix(s.path, "_test.go")) && dir != "internal/archtest" && dir != "e2e/bounds" {
			all[dir] = append(all[dir], s)
		}
	}
	packages := map[string]*timed{}
	for dir, files := range all {
		packages[dir] = newTimed(files...)
	}
	return packages, nil
})

func eachTimed(t *testing.T, each func(dir string, p *timed)) {
	t.Helper()
	all, err := timedPackages()
	if err != nil {
		t.Fatal(err)
	}
	for dir, p := range all {
		each(dir, p)
	}
}

// TestNoTestHasATimeOfItsOwn holds that a test that measures the clock of the machine does so by the bounds package, and waits no
// shorter than it says: a busy machine fails no test. In a bubble time is exact, and a lower bound fails on no machine.
func TestNoTestHasATimeOfItsOwn(t *testing.T) {
	t.Parallel()
	found := map[string]bool{}
	eachTimed(t, func(_ string, p *timed) {
		for _, f := range p.funcs {
			name := p.in[f].path + " " + f.Name.Name
			p.find(f, func(at token.Pos, what string) {
				if found[name] = true; ownTimes[name] == "" {
					t.Errorf("%s %s: %s", p.in[f].set.Position(at), f.Name.Name, what)
				}
			})
		}
	})
	for name := range ownTimes {
		if !found[name] {
			t.Errorf("%s has no time of its own: take it out of the list", name)
		}
	}
}

// TestTimesOfTheirOwnAreFound is the control: each form is found, and what is alike and right is not.
func TestTimesOfTheirOwnAreFound(t *testing.T) {
	t.Parallel()
	const head = "package p\nimport \"testing/synctest\"\nconst most = 5 * time.Second\nvar late = bounds.Of(5 * time.Second)\n"
	bubble := "func inBubble(t *testing.T, f func()) { synctest.Test(t, func(t *testing.T) { f() }) }\n"
	for body, want := range map[string]int{
		`if time.Since(began) > 5*time.Second { t.Error() }`:                                1,
		`if took := time.Since(began); took >= 5*time.Second { t.Error() }`:                 1,
		`if 5*time.Second < time.Since(began) { t.Error() }`:                                1,
		`if ended.Sub(began) > 300*time.Millisecond { t.Error() }`:                          1,
		`if e.Took > most { t.Error() }`:                                                    1,
		`if took := spent() - begin; took > 2*most { t.Error() }`:                           1,
		`const least = time.Minute; if took > least { t.Error() }`:                          1,
		`limit := 5*time.Second; if time.Since(began) > limit { t.Error() }`:                1,
		`var limit = 5*time.Second; if time.Since(began) > limit { t.Error() }`:             1,
		`if time.Since(began).Seconds() > 5 { t.Error() }`:                                  1,
		`if 500 <= took.Milliseconds() { t.Error() }`:                                       1,
		`if 500 < took.Seconds() || took.Milliseconds() >= 7 { t.Error() }`:                 2,
		`if took.Seconds() > 0 { t.Log() }`:                                                 0,
		`took := time.Since(began).Round(time.Millisecond); if took > least { t.Error() }`:  0,
		`limit := bounds.Of(5*time.Second); if time.Since(began) > limit { t.Error() }`:     0,
		`limit := time.Minute; ctx, _ := context.WithTimeout(t.Context(), limit)`:           1,
		`ctx, _ := context.WithDeadline(t.Context(), time.Now().Add(time.Minute))`:          1,
		`ctx, _ := context.WithDeadline(t.Context(), time.Now().Add(bounds.Patience))`:      0,
		`c, err := net.DialTimeout("tcp", address, time.Second)`:                            1,
		`c := &http.Client{Timeout: 10*time.Second}`:                                        1,
		`c := &http.Client{Timeout: bounds.Patience}`:                                       0,
		`c := Options{Timeout: 10*time.Second}`:                                             0,
		`ok := a && time.Since(began) <= 5*time.Second`:                                     0, // it is no bound that fails
		`if time.Since(began) > bounds.Of(5*time.Second) { t.Error() }`:                     0,
		`if took > late || took < 5*time.Second { t.Error() }`:                              0,
		`select { case <-c: case <-time.After(10*time.Second): t.Fatal() }`:                 1,
		`select { case <-c: case <-time.After(bounds.Patience): t.Fatal() }`:                0,
		`<-time.After(20*time.Millisecond)`:                                                 0,
		`ctx, _ := context.WithTimeout(t.Context(), time.Minute)`:                           1,
		`ctx, _ := context.WithTimeout(t.Context(), bounds.Patience)`:                       0,
		`c.SetReadDeadline(time.Now().Add(10*time.Second))`:                                 1,
		`c.SetReadDeadline(time.Now().Add(bounds.Patience))`:                                0,
		`world.Within(5*time.Second, ok)`:                                                   1,
		`world.Within(world.WaitLimit, ok)`:                                                 0,
		`for end := time.Now().Add(10*time.Second); time.Now().Before(end); {}`:             1,
		`end := time.Now().Add(10*time.Second); if time.Now().After(end) { t.Fatal() }`:     1,
		`c.SetDeadline(time.Now().Add(-time.Second))`:                                       0,
		`token(time.Now().Add(time.Hour))`:                                                  0,
		`synctest.Test(t, func(t *testing.T) { if took > time.Second { t.Error() } })`:      0,
		`inBubble(t, func() { if took > time.Second { t.Error() } })`:                       0,
		`inBubble(t, func() { helper() })`:                                                  0,
		`inBubble(t, func() {}); if took > time.Second { t.Error() }`:                       1,
		`for _, c := range []c{{func() { if took > time.Second {} }}} { inBubble(t, c.f) }`: 0,
	} {
		text := head + bubble
		if strings.Contains(body, "helper()") {
			text += "func helper() { if took > time.Second { t.Error() } }\n"
		}
		s := source{text: text + "func TestIt(t *testing.T) {\n" + body + "\n}\n", set: token.NewFileSet()}
		var err error
		if s.file, err = parser.ParseFile(s.set, "p_test.go", s.text, parser.SkipObjectResolution); err != nil {
			t.Fatal(body, err)
		}
		p := newTimed(s)
		got := 0
		for _, f := range p.funcs {
			p.find(f, func(token.Pos, string) { got++ })
		}
		if got != want {
			t.Errorf("%s\nfound %d times, want %d", body, got, want)
		}
	}
}

// strictly is a line of .ci/long that runs tests of a package with strict bounds.
var strictly = regexp.MustCompile(`(?m)^(?:MCPHUB_LONG_CASES=[0-9]+ )?strict \./(\S+) '([^']+)'$`)

// measures gives the tests of a package that hold something to a bound, themselves or by a function of the package.
func (p *timed) measures() map[string]bool {
	found := map[string]bool{}
	for more := true; more; {
		more = false
		for _, f := range p.funcs {
			name := f.Name.Name
			if found[name] {
				continue
			}
			ast.Inspect(f.Body, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.CallExpr:
					found[name] = found[name] || called(n) == "bounds.Of" || called(n) == "bounds.Strict"
				case *ast.Ident:
					found[name] = found[name] || found[n.Name] && !strings.HasPrefix(n.Name, "Test")
				}
				return !found[name]
			})
			more = more || found[name]
			if !found[name] {
				delete(found, name)
			}
		}
	}
	maps.DeleteFunc(found, func(name string, _ bool) bool {
		return !strings.HasPrefix(name, "Test") && !strings.HasPrefix(name, "Fuzz")
	})
	return found
}

// TestBoundsAreStrictInTheLongSeries holds that each test with a bound runs once with the bound as it is written.
func TestBoundsAreStrictInTheLongSeries(t *testing.T) {
	t.Parallel()
	run := map[string][]string{}
	for _, m := range strictly.FindAllStringSubmatch(fileText(t, ".ci/long"), -1) {
		run[m[1]] = append(run[m[1]], strings.Split(m[2], "|")...)
	}
	bounded := 0
	eachTimed(t, func(dir string, p *timed) {
		all := map[string]bool{}
		for _, f := range p.funcs {
			all[f.Name.Name] = true
		}
		for _, name := range run[dir] {
			if !all[name] {
				t.Errorf(".ci/long runs %s.%s with strict bounds, which does not exist", dir, name)
			}
		}
		for name := range p.measures() {
			if bounded++; !slices.Contains(run[dir], name) {
				t.Errorf("%s.%s has a bound that holds nowhere as it is written: .ci/long must run it with strict bounds", dir, name)
			}
		}
	})
	if bounded < 20 {
		t.Errorf("%d tests have bounds; are they written otherwise now?", bounded)
	}
}
