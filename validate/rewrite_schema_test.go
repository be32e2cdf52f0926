package validate

import (
	"strconv"
	"strings"
	"testing"

	"mcphub/validate/policy"
)

// TestRewriteFitsSchema: what is sent instead has to fit the tool's schema as what came did. A root that does not fit
// any more stays as it was spelled; a file URI that does not fit as a path is refused.
func TestRewriteFitsSchema(t *testing.T) {
	t.Parallel()
	w := linkedWorld(t)
	c := w.checker()
	w.roots = []string{w.home + "/given"}
	given, plain := w.home+"/given/a.txt", w.project+"/a.txt"
	long := strings.Repeat("x", 60)
	w.must(mkdir(w.home + "/given/" + long))
	for name, e := range map[string]struct{ Schema, args, rewrites, code string }{
		"no limit":                      {`{"type":"string"}`, `{"path":"{home}/given/a.txt"}`, plain, ""},
		"the spelling, wanted":          {`{"type":"string","pattern":"/given/"}`, `{"path":"{home}/given/a.txt"}`, "", ""},
		"too long as resolved":          {`{"type":"string","maxLength":` + strconv.Itoa(len(given)) + `}`, `{"path":"{home}/given/a.txt"}`, "", ""},
		"a URI, a path fits":            {`{"type":"string","minLength":3}`, `{"path":"file://{home}/given/a.txt"}`, plain, ""},
		"a URI, only the spelling fits": {`{"type":"string","pattern":"/given/"}`, `{"path":"file://{home}/given/a.txt"}`, given, ""},
		"a URI wanted":                  {`{"type":"string","pattern":"^file:"}`, `{"path":"file://{home}/given/a.txt"}`, "", CodeBadURI},
		"a URI wanted, long":            {`{"type":"string","minLength":` + strconv.Itoa(len(given)+5) + `}`, `{"path":"file://{home}/given/a.txt"}`, "", CodeBadURI},
	} {
		tool := w.tool(c, fsServer, `{"name":"read_text_file","inputSchema":{"type":"object","properties":{"path":`+e.Schema+`,"n":{"type":"array"}}}}`)
		s, v := w.call(c, tool, e.args)
		got := ""
		for _, r := range v.Rewrites {
			got += r.To
		}
		if got != e.rewrites || (v.Decision == policy.Deny) != (e.code != "") {
			t.Errorf("%s: %v, rewritten to %q, want %q", name, v.Decision, got, e.rewrites)
		}
		if e.code != "" && (v.Deciding == nil || v.Deciding.Code != e.code || !strings.Contains(v.Deciding.Readings[len(v.Deciding.Readings)-1].Err, "schema")) {
			t.Errorf("%s: %+v", name, v.Deciding)
		}
		// A second judgement of the same scan sees the arguments as they came.
		if again := c.Judge(s, w.where(), w.view()); again.Decision != v.Decision || len(again.Rewrites) != len(v.Rewrites) {
			t.Errorf("%s: judged twice, %v and %v", name, v.Decision, again.Decision)
		}
	}
	// The control: the schema alone, applied to what would have been sent, refuses it.
	tool := w.tool(c, fsServer, `{"name":"read_text_file","inputSchema":{"type":"object","properties":{"path":{"type":"string","pattern":"/given/"}}}}`)
	if _, err := c.Scan(tool, w.json(`{"path":"{project}/a.txt"}`)); err == nil {
		t.Error("the resolved spelling fits: the test shows nothing")
	}
}
