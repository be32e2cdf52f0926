package validate

import (
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"testing"

	"mcphub/validate/chars"
	"mcphub/validate/detect"
	"mcphub/validate/names"
	"mcphub/validate/policy"
	"mcphub/validate/schema"
	"mcphub/validate/shell"
	"mcphub/validate/strictjson"
)

// withoutRaces leaves a test to the run without the race detector (.ci/run): it has one goroutine, and takes minutes with it.
func withoutRaces(t *testing.T) {
	t.Helper()
	if raceEnabled {
		t.Skip("it has one goroutine")
	}
}

// smallStack makes recursion that is not bounded end a test at once: the stack of a goroutine may not grow beyond what the
// configured depth needs many times over.
func smallStack(t testing.TB) {
	old := debug.SetMaxStack(4 << 20)
	t.Cleanup(func() { debug.SetMaxStack(old) })
}

// nestings are pieces that nest: in some reader each opens something.
var nestings = []string{`[`, `{"a":`, `{a:[`, `{'a':`, `{`, `{a,`, `{/`, `${A:-`, `$(`, `(`, `@(`, `[[`, `<`, `"`, `'`, "`", `/*`, `jar:`, `view-source:`, `../`, `a/`, `- `, `[a,`, `{"a":"{`, `$a$`, `!(`, `?(a|`}

// TestDeepArguments: what nests deeper than the limit is refused. FuzzDeepArguments has every piece that nests, under every kind of key and by
// every method.
func TestDeepArguments(t *testing.T) {
	withoutRaces(t)
	smallStack(t)
	w := newWorld(t)
	c := w.checker()
	tool := w.tool(c, "", anyTool)
	var e *strictjson.Error
	for _, text := range []string{`{a:` + strings.Repeat("[", 200), `{a:` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}`, `// x\n{'a':` + strings.Repeat("[", 700_000)} {
		if _, err := c.Scan(tool, []byte(`{"x":"`+text+`"}`)); !errors.As(err, &e) || e.Code != strictjson.CodeTooDeep || e.Pointer != "/x" {
			t.Errorf("%.20s: %v", text, err)
		}
	}
	// The control: the same text within the limit is read, and what it holds is found.
	if _, v := w.call(c, tool, `{"x":"{a:`+strings.Repeat("[", 100)+`'/etc/passwd'`+strings.Repeat("]", 100)+`}"}`); v.Decision != policy.Deny {
		t.Error("a path 100 deep passes")
	}
}

// TestDepthIsConfigured: limits.depth is the limit of every reader.
func TestDepthIsConfigured(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c, err := NewChecker(Config{Children: []ChildConfig{{Name: "child", Command: "x"}}, Home: w.home, Getenv: w.getenv, Depth: 20})
	w.must(err)
	tool := w.tool(c, "", anyTool)
	for n, want := range map[int]bool{10: true, 40: false} {
		deep := strings.Repeat("[", n) + strings.Repeat("]", n)
		if _, err := c.Scan(tool, []byte(`{"x":`+deep+`}`)); (err == nil) != want {
			t.Errorf("%d deep: %v", n, err)
		}
		if _, err := c.Scan(tool, []byte(`{"x":"{a:`+deep+`}"}`)); (err == nil) != want {
			t.Errorf("%d deep in JSON5: %v", n, err)
		}
		if _, err := c.PrepareTool("child", "", []byte(`{"name":"x","inputSchema":{"default":`+deep+`}}`)); (err == nil) != want {
			t.Errorf("a schema %d deep: %v", n, err)
		}
	}
}

// chain returns a schema in which each definition refers to the next, and the last one to the elements of a list.
func chain(n int) string {
	var b strings.Builder
	b.WriteString(`{"name":"x","inputSchema":{"$defs":{`)
	for i := range n {
		fmt.Fprintf(&b, `"d%d":{"$ref":"#/$defs/d%d"},`, i, i+1)
	}
	fmt.Fprintf(&b, `"d%d":{"items":{"$ref":"#/$defs/d0"}}},"properties":{"x":{"$ref":"#/$defs/d0"}}}}`, n)
	return b.String()
}

// TestDeepSchemas: a schema that nests too deeply quarantines its tool, and one that refers too deeply refuses the call.
func TestDeepSchemas(t *testing.T) {
	withoutRaces(t)
	smallStack(t)
	w := newWorld(t)
	c := w.checker()
	for _, key := range []string{"not", "items", "if", "contains", "additionalProperties", "unevaluatedProperties"} {
		def := `{"name":"x","inputSchema":` + strings.Repeat(`{"`+key+`":`, 100_000) + `{}` + strings.Repeat("}", 100_000) + `}`
		if _, err := c.PrepareTool("child", "", []byte(def)); err == nil || !strings.Contains(err.Error(), "deep") {
			t.Errorf("%s: %.200v", key, err)
		}
	}
	for _, n := range []int{10, 2_000} {
		tool, err := c.PrepareTool("child", "", []byte(chain(n)))
		w.must(err)
		args := `{"x":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}`
		_, err = c.Scan(tool, []byte(args))
		var e *schema.Error
		if n == 10 && err != nil || n > 10 && (!errors.As(err, &e) || e.Code != schema.CodeBudget) {
			t.Errorf("a chain of %d references: %v", n, err)
		}
	}
	if _, err := c.PrepareTool("child", "", []byte(`{"name":"x","inputSchema":{"properties":{"x":{"pattern":"`+strings.Repeat("(", 2000)+strings.Repeat(")", 2000)+`"}}}}`)); err != nil {
		t.Logf("2,000 groups: %.100v", err)
	}
}

// FuzzDeepArguments: no text in the arguments overflows the stack, however it nests, and what the strict walk finds too
// deep is refused for that.
func FuzzDeepArguments(f *testing.F) {
	smallStack(f)
	for _, piece := range nestings {
		f.Add("x", "{a:", piece, "]", uint16(60_000))
		f.Add("path", "", piece, "}", uint16(400))
		f.Add("query", "'", piece, "'", uint16(129))
		f.Add("content", "", piece, "", uint16(129))
		f.Add("diff", "{a:", piece, "", uint16(129))
	}
	w := newWorld(f)
	c := w.checker()
	tool := w.tool(c, "", anyTool)
	rootsView, where := w.view(), w.where()
	f.Fuzz(func(t *testing.T, key, head, piece, tail string, n uint16) {
		if len(piece)*int(n) > 1<<18 || len(head)+len(tail)+len(key) > 1<<12 {
			return
		}
		text := head + strings.Repeat(piece, int(n)) + tail + strings.Repeat(tail, int(n)%1000)
		raw, err := json.Marshal(map[string]string{key: text})
		if err != nil {
			return
		}
		s, err := c.Scan(tool, raw)
		if err == nil {
			c.Judge(s, where, rootsView)
		}
		if s, err := c.ScanURI("child", text, "x://{a}/{+b}"); err == nil {
			c.Judge(s, where, rootsView)
		}
		if s, err := c.ScanPrompt("child", "p", raw); err == nil {
			c.Judge(s, where, rootsView)
		}
		if s, err := c.ScanCompletion("child", "x://{a}", "a", text, nil); err == nil {
			c.Judge(s, where, rootsView)
		}
		tr := strictjson.New(strictjson.DefaultDepth)
		defer tr.Free()
		if werr := tr.Walk([]byte(text), -1, 1, strictjson.Tolerated...); werr != nil {
			var e *strictjson.Error
			if errors.As(werr, &e) && e.Code == strictjson.CodeTooDeep && err == nil && strings.IndexAny(strings.TrimSpace(text), "{[") == 0 && names.ClassOf(key) == names.Other && chars.FoldName(key) == key {
				t.Fatalf("under %q a text that nests too deeply passes: %.100q", key, text)
			}
		}
	})
}

// FuzzDeepSchemas: no schema overflows the stack, when it is read or when a call is held against it.
func FuzzDeepSchemas(f *testing.F) {
	smallStack(f)
	for _, piece := range []string{`{"not":`, `{"items":`, `{"properties":{"a":`, `{"anyOf":[`, `{"$ref":"#","allOf":[`, `[`, `{"default":`, `{"pattern":"(`, `{"if":{"then":`} {
		f.Add("", piece, "{}", "}", uint16(300), `{"a":{"a":[[[{"a":1}]]]}}`)
		f.Add(`{"properties":{"a":{"$ref":"#"}},"x":`, piece, "{}", "}", uint16(20), `{"a":{"a":{"a":{}}}}`)
	}
	f.Add(strings.TrimSuffix(strings.TrimPrefix(chain(500), `{"name":"x","inputSchema":`), "}"), "", "", "", uint16(0), `{"x":[[[[]]]]}`)
	w := newWorld(f)
	c := w.checker()
	f.Fuzz(func(t *testing.T, head, open, middle, end string, n uint16, args string) {
		if len(open)*int(n) > 1<<18 || len(end)*int(n) > 1<<18 || len(head)+len(middle)+len(args) > 1<<16 {
			return
		}
		def := `{"name":"x","inputSchema":` + head + strings.Repeat(open, int(n)) + middle + strings.Repeat(end, int(n)) + `}`
		tool, err := c.PrepareTool("child", "", []byte(def))
		if err != nil {
			return
		}
		if _, err := c.Scan(tool, []byte(args)); err != nil {
			return
		}
		_, _ = c.Scan(tool, []byte(`{}`)) // it is enough that it comes back
	})
}

// FuzzDeepPatterns: braces, groups and variables are written out without a stack that grows with the text, within a bound.
func FuzzDeepPatterns(f *testing.F) {
	smallStack(f)
	for _, piece := range nestings {
		f.Add("", piece, ",b}", uint16(1000))
		f.Add("/", piece, "}", uint16(63))
	}
	w := newWorld(f)
	c := w.checker()
	tool := w.tool(c, "", anyTool)
	f.Fuzz(func(t *testing.T, head, piece, tail string, n uint16) {
		if (len(piece)+len(tail))*int(n) > 1<<17 || len(head) > 1<<12 {
			return
		}
		text := head + strings.Repeat(piece, int(n)) + strings.Repeat(tail, int(n))
		for _, write := range []func(string) ([]string, bool){shell.ExpandBraces, shell.WrittenOut} {
			list, ok := write(text)
			if len(list) > shell.MaxBraces || !ok && list != nil {
				t.Fatalf("%d alternatives, %v", len(list), ok)
			}
		}
		if text != "" {
			_, _ = c.Scan(tool, fmt.Appendf(nil, `{"x":%q,"path":%q}`, text, text)) // it is enough that it comes back
			if list, _ := c.m.Variants(text[:min(len(text), detect.MaxValue)]); len(list) > 48 {
				t.Fatalf("%d spellings", len(list))
			}
		}
		shell.GlobClimbs(text)
	})
}
