package validate

import (
	"bytes"
	"fmt"
	"testing"

	"mcphub/rootsmgr"
	"mcphub/rootsmgr/guard"
	"mcphub/rootsmgr/platform"
	"mcphub/validate/access"
	"mcphub/validate/declare"
	"mcphub/validate/policy"
)

func benchScan(b *testing.B, def, args string) {
	w := newWorld(b)
	c := w.checker()
	t := w.tool(c, "", def)
	raw := w.json(args)
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	for b.Loop() {
		s, err := c.Scan(t, raw)
		if err != nil || s.NeedsBoundary() {
			b.Fatal(err, s.Findings())
		}
	}
}

const smallArgs = `{"message":"hello there","count":3,"verbose":true,"name":"bob","tags":["a","b"]}`

func BenchmarkNoPathNoSchema(b *testing.B) { benchScan(b, anyTool, smallArgs) }

func BenchmarkNoPathWithSchema(b *testing.B) {
	benchScan(b, `{"name":"echo","inputSchema":{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{
		"message":{"type":"string"},"count":{"type":"number"},"verbose":{"type":"boolean"},"name":{"type":"string","minLength":1},
		"tags":{"type":"array","items":{"type":"string"}}},"required":["message"],"additionalProperties":false}}`, smallArgs)
}

func BenchmarkNoPathWithCostlySchema(b *testing.B) {
	benchScan(b, `{"name":"echo","inputSchema":{"type":"object","properties":{
		"message":{"type":"string"},"count":{"anyOf":[{"type":"number"},{"type":"null"}]},"verbose":{"type":"boolean"},"name":{"type":"string","pattern":"^[a-z]+$"},
		"tags":{"type":"array","items":{"$ref":"#/$defs/tag"}}},"required":["message"],"$defs":{"tag":{"type":"string"}}}}`, smallArgs)
}

// BenchmarkLenient: what a call costs that fits by a lenient reading alone.
func BenchmarkLenient(b *testing.B) {
	w := newWorld(b)
	c := w.demanding(declare.DemandLenient, declare.ModeStrict, nil)
	t := w.tool(c, "", `{"name":"echo","inputSchema":{"type":"object","properties":{"message":{"type":"string"},"count":{"type":"number"},"tags":{"type":"array","items":{"type":"string"}}},"additionalProperties":false}}`)
	raw := []byte(`{"message":"hello there","count":"3","tags":"[\"a\",\"b\"]","more":null}`)
	b.ReportAllocs()
	for b.Loop() {
		s, err := c.Scan(t, raw)
		if err != nil || s.NeedsBoundary() {
			b.Fatal(err, s.Findings())
		}
	}
}

func BenchmarkContent1MiB(b *testing.B) {
	line := []byte(`func main() { fmt.Println(\"hello, world\") } // a line of source code\n`)
	content := bytes.Repeat(line, 1<<20/len(line))
	benchScan(b, anyTool, `{"name":"x","content":"`+string(content)+`"}`)
}

func BenchmarkContent1MiBPlain(b *testing.B) {
	benchScan(b, anyTool, `{"name":"x","content":"`+string(bytes.Repeat([]byte("abcdefgh"), 1<<17))+`"}`)
}

func benchOnePath(b *testing.B, roots int) { benchUnder(b, roots, nil, true) }

// benchUnder is one call with one path under rules of which none is about it. Their directories are made, or are missing.
func benchUnder(b *testing.B, roots int, rules []policy.Rule, made bool) {
	w := newWorld(b)
	for _, r := range rules {
		if made && r.Paths.Within != "" {
			w.must(mkdir(w.fill(r.Paths.Within)))
		}
	}
	c := w.rules("", rules...)
	t := w.tool(c, "secure-filesystem-server", `{"name":"read_text_file","inputSchema":{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}}`)
	raw := w.json(`{"path":"{project}/src/main.go"}`)
	var entries []rootsmgr.RootEntry
	for i := range roots - 1 {
		dir := fmt.Sprintf("%s/r%d", w.outside, i)
		w.must(mkdir(dir))
		entries = append(entries, rootsmgr.RootEntry{URI: platform.Host().FormatURI(dir)})
	}
	entries = append(entries, rootsmgr.RootEntry{URI: platform.Host().FormatURI(w.project)})
	v := rootsmgr.RootsView{Snapshot: rootsmgr.NewSnapshot(guard.OS{}, 1, rootsmgr.OriginAsked, entries), Case: rootsmgr.CaseKnown}
	where := CallContext{Cwd: w.project, Served: v.Snapshot.Paths()}
	b.ReportAllocs()
	for b.Loop() {
		s, err := c.Scan(t, raw)
		if err != nil {
			b.Fatal(err)
		}
		if got := c.Judge(s, where, v); got.Decision != policy.Allow {
			b.Fatalf("%+v", got)
		}
	}
}

func BenchmarkOnePathOneRoot(b *testing.B)       { benchOnePath(b, 1) }
func BenchmarkOnePathThousandRoots(b *testing.B) { benchOnePath(b, 1000) }

// BenchmarkOnePathTwentyRules: what a policy adds where every rule has to be asked.
func BenchmarkOnePathTwentyRules(b *testing.B) {
	var rules []policy.Rule
	for i := range 20 {
		rules = append(rules, policy.Rule{Then: policy.Decision(i % 3), Paths: &policy.PathRule{Within: fmt.Sprintf("{outside}/d%d", i), Roles: []access.Role{access.Read}}})
	}
	rules[19].Paths = &policy.PathRule{Outside: true}
	benchUnder(b, 1, rules, true)
}

// BenchmarkManyRules: a call with a path costs the depth of the path, and not the number of rules.
func BenchmarkManyRules(b *testing.B) {
	for _, n := range []int{10, 10_000} {
		for name, dir := range map[string]string{"there": "{outside}/d%d", "missing": "{outside}/no/d%d"} {
			b.Run(fmt.Sprintf("%s-%d", name, n), func(b *testing.B) {
				var rules []policy.Rule
				for i := range n {
					rules = append(rules, policy.Rule{Then: policy.Decision(i % 2), Paths: &policy.PathRule{Within: fmt.Sprintf(dir, i), Roles: []access.Role{access.Read}}})
				}
				benchUnder(b, 1, rules, name == "there")
			})
		}
	}
}

// BenchmarkNoPathTwentyRules: none of them is about a call without a path.
func BenchmarkNoPathTwentyRules(b *testing.B) {
	w := newWorld(b)
	var rules []policy.Rule
	for i := range 20 {
		rules = append(rules, policy.Rule{Then: policy.Deny, Paths: &policy.PathRule{Within: fmt.Sprintf("{outside}/d%d", i)}})
	}
	c := w.rules("", rules...)
	t := w.tool(c, "", anyTool)
	b.ReportAllocs()
	for b.Loop() {
		s, err := c.Scan(t, []byte(smallArgs))
		if err != nil || s.NeedsJudge() {
			b.Fatal(err, s.Findings())
		}
	}
}

// BenchmarkRewrite: a file URI through a root's other spelling, judged, rewritten and judged again.
func BenchmarkRewrite(b *testing.B) {
	w := linkedWorld(b)
	c := w.checker()
	t := w.tool(c, fsServer, officialTool)
	w.roots = []string{w.home + "/given"}
	raw := w.json(`{"path":"file://{home}/given/src/main.go"}`)
	v, where := w.view(), w.where()
	b.ReportAllocs()
	for b.Loop() {
		s, err := c.Scan(t, raw)
		if err != nil {
			b.Fatal(err)
		}
		if got := c.Judge(s, where, v); len(got.Rewrites) != 1 {
			b.Fatalf("%+v", got)
		}
	}
}

// BenchmarkCommandLine is one shell string of 200 characters, as models send them.
func BenchmarkCommandLine(b *testing.B) {
	w := newWorld(b)
	c := w.checker()
	t := w.tool(c, "", `{"name":"run","inputSchema":{"type":"object","properties":{"command":{"type":"string"}},"required":["command"]}}`)
	raw := []byte(`{"command":"cd src && grep -rn --include='*.go' 'func main' . | head -20 && go test -run 'TestRead|TestWrite' ./... -count=1 2>&1 | tee ../docs/test.log && git add -A && git commit -m 'Fix reading of names' || echo failed"}`)
	v, where := w.view(), w.where()
	b.ReportAllocs()
	for b.Loop() {
		s, err := c.Scan(t, raw)
		if err != nil {
			b.Fatal(err)
		}
		if got := c.Judge(s, where, v); got.Decision != policy.Allow {
			b.Fatalf("%+v", got.Deciding)
		}
	}
}
