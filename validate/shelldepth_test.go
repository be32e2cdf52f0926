package validate

import (
	"os"
	"os/exec"
	"runtime/debug"
	"strings"
	"testing"

	"mvdan.cc/sh/v3/syntax"

	"mcphub/validate/budget"
	"mcphub/validate/shell"
	"mcphub/validate/strictjson"
)

// deepShapes are texts by which a reader of shell strings can be made to call itself: head, n times over, then tail.
var deepShapes = []struct {
	head, tail string
	real       bool // commands stand in each other by it
}{
	{"( ", ")", true}, {"(", ")", false}, {"{ ", ";}", true}, {"$(", ")", true}, {"\"$(", ")\"", true}, {"<(", ")", true}, {"${a:-", "}", true}, {"${a[", "]}", true}, {"`", "`", false},
	{"if ", "; then :; fi", true}, {"while ", "; do :; done", true}, {"until ", "; do :; done", true}, {"for i in x; do ", "; done", true}, {"case x in x) ", ";; esac", true}, {"select i in x; do ", "; done", true},
	{"time ", "", true}, {"coproc ", "", false}, {"f() ", "", true}, {"function f ", "", false}, {"! ", "", false}, {"a && ", "", false}, {"a || ", "", false}, {"a | ", "", false}, {"a |& ", "", false}, {"a; ", "", false},
	{"$((", "))", false}, {"(((", ")))", false}, {"$[", "]", false}, {"((-", "))", false}, {"cat <<E\n$(", ")\nE\n", false}, {"x=(", ")", false}, {"a[", "]=1", false}, {"[[ ", " ]]", false}, {"$'", "'", false}, {"@(", ")", false}, {"\\", "", false}, {"if x; then :; el", "", false}, {"#\n", "", false}, {"\\\n", "", false},
	{"bash -c '", "'", false}, {"env ", "", false}, {"sudo ", "", false}, {"find . -exec ", "", false}, {"xargs ", "", false}, {"eval ", "", false}, {"docker compose ", "", false}, {"{a,", "}", false}, {"cd x;", "", false}, {">", "", false}, {"<<E ", "", false}, {"<<<", "", false},
}

// insideShapes are such texts within something: an arithmetic expression, a test.
var insideShapes = []struct{ begin, head, end string }{
	{"$((", "-", "1))"}, {"$((", "- ", "1))"}, {"$((", "!", "1))"}, {"$((", "~", "1))"}, {"$((", "(", "1))"}, {"$((", "1?", "1))"}, {"$((", "1?1:", "1))"}, {"$((", "1+", "1))"}, {"$((", "1**", "1))"}, {"$((", "x=", "1))"}, {"$((", "x+=", "1))"},
	{"$((", "1,", "1))"}, {"$((", "a[", "1))"}, {"$((", "--", "x))"}, {"((", "x=", "1))"}, {"let ", "-", "1"}, {"let ", "x=", "1"}, {"[[ ", "! ", "x ]]"}, {"[[ ", "( ", "x ]]"}, {"[[ ", "a && ", "x ]]"}, {"[[ ", "a || ", "x ]]"}, {"[[ x =~ ", "(", "x ]]"},
	{"for ((", "x=", "1;;)); do :; done"}, {"echo ${a:", "-", "1}"}, {"echo ${a[", "-", "1]}"}, {"a[", "-", "1]=x"}, {"\"", "`", "\""}, {"\"", "${a:-", "\""}, {"`", "\\`", "`"},
}

// TestShellDepth: nothing that a shell string holds takes more stack than the bound allows, closed or not, and commands that
// stand too deep in each other are refused. Without the bound this test does not fail, it ends.
func TestShellDepth(t *testing.T) {
	withoutRaces(t)
	defer debug.SetMaxStack(debug.SetMaxStack(2*shell.MaxParseStack + 4<<20)) // a stack grows by doubling
	read := func(s string) string { return shell.Read(s, strictjson.DefaultDepth, budget.New(len(s))).Fault }
	for _, n := range []int{20, 200, 32_000, 131_000} {
		for _, shape := range deepShapes {
			if n*len(shape.head) > shell.MaxScript {
				continue // not parsed
			}
			head := strings.Repeat(shape.head, n)
			read(head)
			fault := read(head + "true" + strings.Repeat(shape.tail, n))
			if n == 20 && fault != "" && shape.head != "bash -c '" {
				t.Errorf("%q 20 times: %s", shape.head, fault)
			}
			if n == 200 && shape.real && fault == "" {
				t.Errorf("%q 200 times: read", shape.head)
			}
		}
		for _, shape := range insideShapes {
			if n*len(shape.head) > shell.MaxScript {
				continue
			}
			if fault := read(shape.begin + strings.Repeat(shape.head, n) + shape.end); n == 20 && fault != "" {
				t.Errorf("%s%q 20 times: %s", shape.begin, shape.head, fault)
			}
		}
	}
}

// TestShellDepthControl: without the bound the parser ends the whole program, and nothing can recover that.
func TestShellDepthControl(t *testing.T) {
	const env = "MCPHUB_TEST_DEEP"
	deep := strings.Repeat("$(", 1<<16)
	if shell.ParseStack(deep) <= shell.MaxParseStack {
		t.Fatal("it would be parsed")
	}
	if os.Getenv(env) != "" {
		debug.SetMaxStack(shell.MaxParseStack)
		_, err := syntax.NewParser().Parse(strings.NewReader(deep), "")
		t.Fatalf("parsed: %v", err)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestShellDepthControl$")
	cmd.Env = append(os.Environ(), env+"=1")
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "goroutine stack exceeds") {
		t.Errorf("%v: %.400s", err, out)
	}
}

// FuzzShellDepth: no text takes more stack than the bound allows, however often it stands in itself.
func FuzzShellDepth(f *testing.F) {
	for _, shape := range deepShapes {
		f.Add("", shape.head, "true", shape.tail, uint16(4000))
	}
	for _, shape := range insideShapes {
		f.Add(shape.begin, shape.head, shape.end, "", uint16(60_000))
	}
	debug.SetMaxStack(2*shell.MaxParseStack + 4<<20)
	f.Fuzz(func(t *testing.T, begin, head, middle, tail string, n uint16) {
		if len(begin)+len(middle)+int(n)*(len(head)+len(tail)) > shell.MaxScript {
			return
		}
		shell.Read(begin+strings.Repeat(head, int(n))+middle+strings.Repeat(tail, int(n)), strictjson.DefaultDepth, budget.New(shell.MaxScript))
	})
}

// FuzzShell: whatever a shell string holds is read within its budget, twice alike, and each word once.
func FuzzShell(f *testing.F) {
	for _, table := range []map[string][]string{shellAttacks, wordAttacks, nestedAttacks} {
		for _, list := range table {
			for _, s := range list {
				f.Add(s)
			}
		}
	}
	for _, list := range [][]string{shellHonest, wordHonest, nestedHonest} {
		for _, s := range list {
			f.Add(s)
		}
	}
	w := wild(f)
	c := w.checker()
	tool := w.tool(c, "", anyTool)
	f.Fuzz(func(t *testing.T, s string) {
		r := shell.Read(s, strictjson.DefaultDepth, budget.New(len(s)))
		if most := budget.CallSteps * max(len(s), budget.CallBytes) / budget.CallBytes / budget.WordSteps; len(r.Items) > most {
			t.Errorf("%d words, the budget is for %d", len(r.Items), most)
		}
		args := []byte(`{"command":` + string(quoteJSON(s)) + `}`)
		scan, err := c.Scan(tool, args)
		if err != nil {
			return
		}
		if r.Fault != "" {
			t.Errorf("%s, and the call is not refused", r.Fault)
		}
		first, second := c.Judge(scan, w.where(), w.view()), c.Judge(scan, w.where(), w.view())
		if first.Decision != second.Decision {
			t.Errorf("%v, then %v", first.Decision, second.Decision)
		}
	})
}
