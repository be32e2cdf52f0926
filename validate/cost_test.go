package validate

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"mcphub/e2e/seeds"
	"mcphub/validate/budget"
	"mcphub/validate/policy"
)

// hostileShapes are arguments of about a size that are made to cost more than their length deserves: under every kind of
// key each.
func hostileShapes(w *world, size int) map[string]string {
	rep := func(s string) string { return strings.Repeat(s, size/len(s)) }
	numbered := func(format string) string {
		var b strings.Builder
		for i := 0; b.Len() < size; i++ {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	texts := map[string]string{
		"tails":        rep("=/"),
		"tails, words": rep("a=/b "),
		"distinct":     numbered("/x%d "),
		"lines":        numbered(`/x%d\n`),
		"outside":      numbered(w.outside + "/x%d "),
		"outside list": numbered(w.outside + "/x%d,"),
		"inside list":  numbered(w.project + "/x%d,"),
		"relative":     numbered("a%d/b,"),
		"deep":         numbered("a/b/c/d/e/f/g/h/x%d "),
		"long paths":   numbered(w.outside + "/" + strings.Repeat("./", 2000) + "x%d "),
		"links":        numbered("passwd/../link/../link/../inner/../link/x%d,"),
		"uris":         numbered("file:///x%d "),
		"users":        numbered("~u%d/x,"),
		"dots":         rep("../"),
		"braces":       rep("{"),
		"brace pairs":  rep("{a,b}"),
		"nested brace": rep("{a,") + rep("}"),
		"classes":      rep("[.]"),
		"dollars":      numbered("$a%d$"),
		"variables":    rep("$HOME/"),
		"defaults":     numbered("${A:-${B:-${C:-${D:-${E:-${F:-${G:-${H:-x%d}}}}}}}},"),
		"unclosed":     rep("${"),
		"open braces":  "$A/" + rep("${"),
		"pipes":        rep("a|"),
		"globs":        rep("*/"),
		"many globs":   numbered(w.home + "/*/%d*,"),
		"extended":     rep("@(a|b)"),
		"escapes":      rep(`\\.`),
		"documents":    rep(`{}`),
		"JSON5":        `{a:` + rep(`[`),
		"objects":      `[` + numbered(`{a:'/x%d'},`) + `]`,
		"flags":        "-" + rep("-a/b "),
		"values":       rep("= "),
		"percent":      rep("%25"),
		"quotes":       rep(`'`),
		"quoted":       numbered("'/x%d/y' "),
		"doubled":      rep(`'/a''`),
		"headers":      `+++ a\n` + numbered(`+++ b/x%d\n`),
		"backslashes":  rep(`\\`),
		"hex":          rep(`\\x2f`),
		"wide":         rep("．"),
		"schemes":      rep("jar:"),
		"urls":         rep("a://,"),
		"positions":    rep("a:"),
		"pairs":        rep("'a'"),
		"closers":      rep("]"),
		"spaces":       rep(" "),
		"json":         strings.Repeat(`[`, 100) + rep(`1,`) + `1` + strings.Repeat(`]`, 100),
		"letters":      rep("a"),
		"slashes":      rep("/"),
		"colons":       rep(":/"),
		"ats":          rep("@/"),
		"yaml":         numbered(`- a: /x%d/y\n`),
	}
	calls := map[string]string{
		"array of paths":   `{"paths":[` + strings.TrimSuffix(numbered(`"a/b%d",`), ",") + `]}`,
		"array of outside": `{"x":[` + strings.TrimSuffix(numbered(`"`+w.outside+`/b%d",`), ",") + `]}`,
		"array of words":   `{"args":["echo",` + strings.TrimSuffix(strings.Repeat(`"`+strings.Repeat("a:", 2045)+`",`, size/4090), ",") + `]}`,
		"array of urls":    `{"content":[` + strings.TrimSuffix(strings.Repeat(`"`+strings.Repeat("a://,", 818)+`",`, size/4090), ",") + `]}`,
		"many members":     `{"x":{` + strings.TrimSuffix(numbered(`"/a/k%d":1,`), ",") + `}}`,
		"many edits":       `{"x":{` + strings.TrimSuffix(numbered(`"k%d_old":"a","k%[1]d_new":"b",`), ",") + `}}`,
		"documents nested": `{"x":[` + strings.TrimSuffix(numbered(`"{\"a%d\":\"/x/y\"}",`), ",") + `]}`,
	}
	for name, text := range texts {
		for _, key := range []string{"path", "x", "content", "query", "source", "diff", "command", "args"} {
			calls[name+" under "+key] = `{"` + key + `":"` + text + `"}`
		}
	}
	return calls
}

// TestHostileWork: no arguments of half a megabyte make the hub look at the disk more often, or keep more, than the
// budget of a call covers. What takes long without a look at the disk and without a finding is refused: its work is counted too.
func TestHostileWork(t *testing.T) {
	t.Parallel()
	withoutRaces(t)
	w := newWorld(t)
	disk := &countingFS{}
	c, err := NewChecker(Config{Children: []ChildConfig{{Name: "child", Command: "some-server"}}, Protected: []string{w.hub}, FS: disk, Home: w.home, Getenv: w.getenv})
	w.must(err)
	tool := w.tool(c, "", anyTool)
	const most = budget.CallSteps / budget.LookSteps
	worst := 0
	shapes := hostileShapes(w, 1<<19)
	names := slices.Sorted(maps.Keys(shapes))
	seeds.Rand(t).Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	refused := []string{"open braces under x", "values under path", "values under source", "many members"}
	for _, name := range append(refused, names[:min(len(names), seeds.Cases(t, 80))]...) {
		if shapes[name] == "" {
			t.Fatalf("there is no shape %q", name)
		}
		disk.looks = 0
		s, err := c.Scan(tool, []byte(shapes[name]))
		if err != nil {
			continue
		}
		if slices.Contains(refused, name) {
			t.Errorf("%s: not refused", name)
		}
		v := c.Judge(s, w.where(), w.view())
		if worst = max(worst, disk.looks); disk.looks > most+64 {
			t.Errorf("%s: %d looks at the disk, at most %d are paid for", name, disk.looks, most)
		}
		if len(s.found.Findings) > budget.CallSteps/budget.FindSteps || len(v.Findings) > budget.CallSteps/budget.JudgeSteps+1 {
			t.Errorf("%s: %d findings, %d judged", name, len(s.found.Findings), len(v.Findings))
		}
	}
	if worst < 1000 {
		t.Errorf("at most %d looks: the shapes are not hostile any more", worst)
	}
}

// TestHonestWork: thousands of paths in one call are within the budget.
func TestHonestWork(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.checker()
	tool := w.tool(c, "", anyTool)
	var paths []string
	for i := range 3000 {
		paths = append(paths, fmt.Sprintf(`"src/pkg%d/file%d.go"`, i%50, i))
	}
	_, v := w.call(c, tool, `{"paths":[`+strings.Join(paths, ",")+`]}`)
	if v.Decision != policy.Allow {
		t.Errorf("3,000 paths: %+v", v.Deciding)
	}
	content := strings.Repeat(`see /etc/passwd and ../x in 'quotes' {a: [b]}\n`, (20<<20)/46)
	if _, v := w.call(c, tool, `{"path":"src/big.txt","content":"`+content+`"}`); v.Decision != policy.Allow {
		t.Errorf("20 MiB of content: %+v", v.Deciding)
	}
}

// countingFS counts the looks at the disk.
type countingFS struct{ looks int }

func (c *countingFS) Lstat(name string) (os.FileInfo, error) { c.looks++; return os.Lstat(name) }
func (c *countingFS) Readlink(name string) (string, error)   { c.looks++; return os.Readlink(name) }
func (c *countingFS) ReadDir(name string) ([]os.DirEntry, error) {
	c.looks++
	return os.ReadDir(name)
}
func (c *countingFS) Writable(dir string) bool { c.looks++; return true }

// BenchmarkHostile is what the worst known shapes of one megabyte cost: at most 50 ms and 64 MiB is the aim. It also
// says how much memory was allocated at the most for one call.
func BenchmarkHostile(b *testing.B) {
	w := newWorld(b)
	for i := range 200 {
		w.must(os.Symlink(w.outside, filepath.Join(w.project, fmt.Sprintf("l%d", i))))
	}
	c := w.checker()
	tool := w.tool(c, "", anyTool)
	rootsView, where := w.view(), w.where()
	for name, args := range hostileShapes(w, 1<<20) {
		raw := []byte(args)
		b.Run(strings.ReplaceAll(name, " ", "_"), func(b *testing.B) {
			b.ReportAllocs()
			runtime.LockOSThread() // spent is of the thread
			defer runtime.UnlockOSThread()
			begin := spent()
			defer func() { b.ReportMetric(float64((spent()-begin).Microseconds())/float64(b.N)/1000, "cpu-ms/op") }()
			for b.Loop() {
				if s, err := c.Scan(tool, raw); err == nil {
					c.Judge(s, where, rootsView)
				}
			}
		})
	}
}
