package validate

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"mcphub/e2e/seeds"
	"mcphub/rootsmgr"
	"mcphub/rootsmgr/guard"
	"mcphub/rootsmgr/platform"
	"mcphub/validate/policy"
)

// encode writes a string as JSON with some of its characters escaped.
func encode(t *rapid.T, s string) string {
	how := rapid.IntRange(0, 3).Draw(t, "escapes")
	if how < 2 {
		b, _ := jsontext.AppendQuote(nil, s)
		return string(b)
	}
	var b strings.Builder
	b.WriteByte('"')
	for i, r := range s {
		switch {
		case r == '/' && how == 2:
			b.WriteString(`\/`)
		case r < 0x20 || r == '"' || r == '\\' || r < 0x10000 && i%5 == 1:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// TestRewriteProperty: random calls, sent as the verdict says, are the same calls, and lead to the same places.
func TestRewriteProperty(t *testing.T) {
	t.Parallel()
	w := linkedWorld(t)
	c := w.checker()
	tool := w.tool(c, fsServer, officialTool)
	views := map[string]rootsmgr.RootsView{}
	for name, roots := range map[string][]string{
		"project": {w.project}, "given": {w.home + "/given"}, "deep": {w.home + "/deep/given", w.project + "/src"},
		"two": {w.home + "/given", w.home + "/projects"}, "way": {w.home + "/projects", w.home + "/projects/way"},
	} {
		w.roots = roots
		views[name] = w.view()
	}
	names := slices.Sorted(maps.Keys(views))
	rewritten, allowed := 0, 0
	seeds.Check(t, func(t *rapid.T) {
		rootsView := views[rapid.SampledFrom(names).Draw(t, "roots")]
		value := rapid.Custom(func(t *rapid.T) string {
			s := rapid.SampledFrom([]string{w.project, w.project, w.home + "/given", w.home + "/given", w.home + "/deep/given", w.home + "/projects/way", w.home + "/projects", "", "src"}).Draw(t, "start")
			for range rapid.IntRange(0, 3).Draw(t, "length") {
				s += rapid.SampledFrom([]string{"/", "/", "/", "//", "/./"}).Draw(t, "slash")
				s += rapid.SampledFrom([]string{"src", "a.txt", "a b.txt", "é.txt", "x%20y.txt", "inner", "main.go", "..", "given", "new", `"q"`, "a,b", "c:d", "\U0001f600", "e=f"}).Draw(t, "name")
			}
			switch rapid.IntRange(0, 5).Draw(t, "spelling") {
			case 0, 1:
				if strings.HasPrefix(s, "/") {
					return rapid.SampledFrom([]string{"", "", "", " "}).Draw(t, "blank") + strings.ReplaceAll(platform.Host().FormatURI(s), "file:", rapid.SampledFrom([]string{"file:", "FILE:"}).Draw(t, "scheme"))
				}
			case 2:
				return "file://" + s
			}
			return s
		})
		var b strings.Builder
		space := func() { b.WriteString(rapid.SampledFrom([]string{"", "", " ", "\n\t"}).Draw(t, "space")) }
		space()
		b.WriteByte('{')
		for i, key := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"path", "paths", "source", "destination", "note", "content", "cwd", "p\u00e4th", "a/b", "command"}), 1, 4, rapid.ID[string]).Draw(t, "keys") {
			if i > 0 {
				b.WriteByte(',')
			}
			space()
			b.WriteString(encode(t, key) + ":")
			space()
			switch rapid.IntRange(0, 4).Draw(t, "shape") {
			case 0:
				b.WriteByte('[')
				for i := range rapid.IntRange(0, 3).Draw(t, "elements") {
					if i > 0 {
						b.WriteByte(',')
					}
					space()
					b.WriteString(encode(t, value.Draw(t, "value")))
				}
				b.WriteByte(']')
			case 1:
				b.WriteString(`{"path":` + encode(t, value.Draw(t, "value")) + `,"n":1.50}`)
			default:
				b.WriteString(encode(t, value.Draw(t, "value")))
			}
			space()
		}
		b.WriteByte('}')
		space()
		raw := []byte(b.String())
		v := judgeAndResend(t, c, tool, raw, CallContext{Cwd: w.project, Served: rootsView.Snapshot.Paths()}, rootsView)
		if v.Decision == policy.Allow {
			allowed++
		}
		for _, r := range v.Rewrites {
			rewritten++
			from := r.From
			if p, err := platform.Host().ParseURI(from); err == nil {
				from = p
			}
			is, err1 := guard.Resolve(guard.OS{}, r.To)
			was, err2 := guard.Resolve(guard.OS{}, from)
			if err1 != nil || err2 != nil || is.Path != was.Path || is.Readings.Cleaned != was.Readings.Cleaned {
				t.Fatalf("%q leads to %s, %q to %s", r.From, was.Path, r.To, is.Path)
			}
			if _, err := rootsView.Snapshot.Guard().Check(r.To); err != nil {
				t.Fatalf("%q is sent: %v", r.To, err)
			}
		}
	})
	if rewritten == 0 || allowed == 0 {
		t.Errorf("%d calls allowed, %d strings rewritten: nothing was tested", allowed, rewritten)
	}
	t.Logf("%d calls allowed, %d strings rewritten", allowed, rewritten)
}
