//go:build unix

package validate

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"mcphub/e2e/seeds"
	"mcphub/validate/policy"
	"mcphub/validate/shell"
)

// linesOf returns the lines of a file of testdata, each as the arguments of a call.
func linesOf(t *testing.T, name string, fill func(string) string) (calls []string) {
	t.Helper()
	raw, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(raw)) {
		switch line = strings.TrimSuffix(line, "\n"); {
		case line == "" || line[0] == '#':
		case strings.HasPrefix(line, `{"`):
			calls = append(calls, fill(line))
		default:
			calls = append(calls, `{"command":`+string(quoteJSON(fill(line)))+`}`)
		}
	}
	return calls
}

// namedWorld returns a deep world with what protected.txt and denied.txt name.
func namedWorld(t *testing.T) (w *world, fill func(string) string) {
	w, fill = deepWorld(t)
	for _, dir := range []string{"build", "docs", "secrets", "test"} {
		w.must(mkdir(w.project + "/" + dir))
		w.must(os.WriteFile(w.project+"/"+dir+"/f.txt", nil, 0o600))
	}
	for _, file := range []string{".env", "token", "hub.json"} {
		w.must(os.WriteFile(w.project+"/"+file, []byte("what nobody should see\n"), 0o600))
	}
	return w, fill
}

// denying returns a checker that denies what namedWorld's directories hold.
func (w *world) denying(t *testing.T) *Checker {
	t.Helper()
	var rules []policy.Rule
	for _, dir := range []string{"build", "docs", "secrets", "test"} {
		rules = append(rules, policy.Rule{Then: policy.Deny, Paths: within("{project}/" + dir)})
	}
	return w.rules("", rules...)
}

// passing returns the calls of a list that a checker allows.
func (w *world) passing(t *testing.T, c *Checker, tool string, calls []string) (list []string) {
	t.Helper()
	prepared := w.tool(c, "", tool)
	for _, args := range calls {
		s, err := c.Scan(prepared, []byte(args))
		if err == nil && c.Judge(s, w.where(), w.view()).Decision == policy.Allow {
			list = append(list, args)
		}
	}
	return list
}

// TestOutsideByReadings: no value inside a word leads out. A cat of the same file is the control that the file is there.
func TestOutsideByReadings(t *testing.T) {
	t.Parallel()
	w, fill := namedWorld(t)
	if !w.prints("", "cat ../outside/secret.txt") || !w.prints("", "xargs -a../outside/secret.txt echo") || !w.prints("", "tar cf - -C../outside secret.txt") {
		t.Error("a shell does not reach the file")
	}
	c := w.checker()
	for climb, most := range map[string]int{"../outside": 7, "src/../../outside": 7, "../project/../outside": 7} {
		calls := linesOf(t, "outside.txt", func(s string) string { return fill(strings.ReplaceAll(s, "../outside", climb)) })
		if list := w.passing(t, c, anyTool, calls); len(list) > most {
			t.Errorf("%s: %d of %d pass:\n%s", climb, len(list), len(calls), strings.Join(list, "\n"))
		}
	}
	if list := w.passing(t, c, `{"name":"interact_with_process"}`, linesOf(t, "typed.txt", fill)); len(list) > 0 {
		t.Errorf("typed into a program:\n%s", strings.Join(list, "\n"))
	}
}

// TestProtectedNames: what is protected is so by its bare name too. The control is the same call without protection.
func TestProtectedNames(t *testing.T) {
	t.Parallel()
	w, fill := namedWorld(t)
	for _, s := range []string{"cat .env", "cat hub.json", "tar cf - token"} {
		if !w.prints("", s) {
			t.Errorf("%s does not open it", s)
		}
	}
	cfg := w.config("")
	cfg.Protected = append(cfg.Protected, w.project+"/token", w.project+"/hub.json")
	cfg.Policy.Protected = []string{w.project + "/.env", w.project + "/secrets"}
	kept, err := NewChecker(cfg)
	w.must(err)
	calls := linesOf(t, "protected.txt", fill)
	if list := w.passing(t, kept, anyTool, calls); len(list) > 0 {
		t.Errorf("%d of %d pass:\n%s", len(list), len(calls), strings.Join(list, "\n"))
	}
	if list := w.passing(t, w.checker(), anyTool, calls); len(list) < len(calls)-1 {
		t.Errorf("control: %d of %d pass without protection", len(list), len(calls))
	}
	for _, uri := range []string{".env", "secrets", "file:.env"} {
		s, err := kept.ScanURI("child", uri)
		w.must(err)
		if v := kept.Judge(s, w.where(), w.view()); v.Decision == policy.Allow {
			t.Errorf("resource %s: allowed", uri)
		}
	}
	honest := []string{
		`{"command":"git commit -m \"add .env to the list\""}`, `{"command":"cat .env.example"}`, `{"name":"env"}`, `{"message":"see hub.json for more"}`, `{"path":"a.txt","content":"the token is in .env"}`,
		`{"x":"it's a token of love"}`,
	}
	if list := w.passing(t, kept, anyTool, honest); len(list) < len(honest) {
		t.Errorf("honest calls are refused, these pass:\n%s", strings.Join(list, "\n"))
	}
}

// TestDeniedNames: a rule denies a directory by its bare name too, and not the words that are none to their program. The control is the
// same call without the rule.
func TestDeniedNames(t *testing.T) {
	t.Parallel()
	w, fill := namedWorld(t)
	c, bare := w.denying(t), w.checker()
	calls := linesOf(t, "denied.txt", fill)
	if list := w.passing(t, c, anyTool, calls); len(list) > 0 {
		t.Errorf("%d of %d pass:\n%s", len(list), len(calls), strings.Join(list, "\n"))
	}
	if list := w.passing(t, bare, anyTool, calls); len(list) < len(calls)-8 {
		t.Errorf("control: %d of %d pass without the rule", len(list), len(calls))
	}
	honest := linesOf(t, "everyday.txt", fill)
	for name, c := range map[string]*Checker{"no rule": bare, "rules": c} {
		list := w.passing(t, c, anyTool, honest)
		refused := slices.DeleteFunc(slices.Clone(honest), func(args string) bool { return slices.Contains(list, args) })
		if len(refused) > len(honest)/250 {
			t.Errorf("%s: %d of %d honest calls are refused:\n%s", name, len(refused), len(honest), strings.Join(refused, "\n"))
		}
	}
}

// printing are the known programs whose operands are text whatever options they have.
var printing = map[string]bool{"echo": true, "printf": true, "basename": true, "dirname": true, "expr": true, "kill": true, "date": true}

// TestUnknownOptions: behind an option that the table of programs does not list, everything is a path. The control is what the
// program is given without the path.
func TestUnknownOptions(t *testing.T) {
	t.Parallel()
	w, _ := namedWorld(t)
	c := w.checker()
	tool := w.tool(c, "", anyTool)
	var programs []string
	for name := range shell.Programs() {
		if first, _, _ := strings.Cut(name, "+"); !printing[first] && !strings.HasPrefix(name, "./") {
			programs = append(programs, strings.ReplaceAll(name, "+", " "))
		}
	}
	seeds.Check(t, func(t *rapid.T) {
		program := rapid.SampledFrom(programs).Draw(t, "program")
		option := "--zz" + rapid.StringMatching(`[a-z]{1,6}`).Draw(t, "option")
		path := rapid.SampledFrom([]string{w.outside + "/secret.txt", "../outside/secret.txt", "src/../../outside/secret.txt"}).Draw(t, "path")
		form := rapid.SampledFrom([]string{"%s %s %s", "%s %s=%s", "%s %s a %s", "%s %s=a:%s", "%s %s=k=@%s"}).Draw(t, "form")
		command := fmt.Sprintf(form, program, option, path)
		s, err := c.Scan(tool, []byte(`{"command":`+string(quoteJSON(command))+`}`))
		if err != nil {
			t.Fatal(err)
		}
		if v := c.Judge(s, w.where(), w.view()); v.Decision == policy.Allow {
			t.Fatalf("%s: allowed", command)
		}
	})
}
