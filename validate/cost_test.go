package validate

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"
)

// TestHostileCost: no argument of half a megabyte may cost more than its length deserves. The bound is generous, since
// machines differ; what it catches is squares.
func TestHostileCost(t *testing.T) {
	w := newWorld(t)
	c := w.checker()
	tool := w.tool(c, "", anyTool)
	const size = 1 << 19
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
		"outside":      numbered(w.outside + "/x%d "),
		"outside list": numbered(w.outside + "/x%d,"),
		"uris":         numbered("file:///x%d "),
		"dots":         rep("../"),
		"braces":       rep("{"),
		"brace pairs":  rep("{a,b}"),
		"classes":      rep("[.]"),
		"dollars":      numbered("$a%d$"),
		"variables":    rep("$HOME/"),
		"unclosed":     rep("${"),
		"globs":        rep("*/"),
		"extended":     rep("@(a|b)"),
		"escapes":      rep(`\\.`),
		"documents":    rep(`{}`),
		"flags":        "-" + rep("-a/b "),
		"values":       rep("= "),
		"percent":      rep("%25"),
		"quotes":       rep(`'`),
		"backslashes":  rep(`\\`),
		"wide":         rep("．"),
		"schemes":      rep("jar:"),
		"spaces":       rep(" "),
		"json":         strings.Repeat(`[`, 100) + rep(`1,`) + `1` + strings.Repeat(`]`, 100),
		"letters":      rep("a"),
		"slashes":      rep("/"),
		"colons":       rep(":/"),
		"ats":          rep("@/"),
	}
	if testing.Short() || raceEnabled {
		t.Skip("seconds of hostile arguments, measured")
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for name, text := range texts {
		for _, key := range []string{"path", "x", "command", "sql", "args", "content", "query", "source"} {
			begin := spent()
			s, err := c.Scan(tool, []byte(`{"`+key+`":"`+text+`"}`))
			if took := spent() - begin; took > 200*time.Millisecond {
				t.Logf("%s under %s: scan %v", name, key, took)
			}
			if took := spent() - begin; took > 3*time.Second {
				t.Errorf("%s under %s: the scan took %v", name, key, took)
			}
			if err != nil {
				continue // refused
			}
			begin = spent()
			v := c.Judge(s, w.where(), w.view())
			if took := spent() - begin; took > 200*time.Millisecond {
				t.Logf("%s under %s: judge %v, %d findings", name, key, took, len(s.findings))
			}
			if took := spent() - begin; took > 5*time.Second {
				t.Errorf("%s under %s: judging %d findings took %v (%v)", name, key, len(s.findings), took, v.Decision)
			}
		}
	}
}
