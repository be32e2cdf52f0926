package validate

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"mcphub/e2e/rootstest"
	"mcphub/rootsmgr"
	"mcphub/rootsmgr/guard"
	"mcphub/rootsmgr/platform"
	"mcphub/validate/access"
	"mcphub/validate/declare"
	"mcphub/validate/policy"
	"mcphub/validate/strictjson"
)

// officialTool is a tool of the server whose profile says both.
const officialTool = `{"name":"read_text_file"}`

// linkedWorld returns the world with further spellings of the project:
//
//	home/given           ->  home/project
//	home/deep/given      ->  home/project
//	home/projects/way    ->  home/project, below a directory that may be a root itself
//	home/project/a b.txt, é.txt, x%20y.txt
//	home/project/x!      ->  home/outside
func linkedWorld(t testing.TB) *world {
	w := newWorld(t)
	w.must(mkdir(w.home + "/deep"))
	for _, link := range []string{"given", "deep/given", "projects/way"} {
		w.must(os.Symlink(w.project, filepath.Join(w.home, link)))
	}
	w.must(os.Symlink(w.outside, w.project+"/x!"))
	for _, name := range []string{"a b.txt", "é.txt", "x%20y.txt"} {
		w.must(os.WriteFile(filepath.Join(w.project, name), []byte(name), 0o644))
	}
	return w
}

// splice carries rewrites out, as the hub does.
func splice(args []byte, list []Rewrite) []byte {
	var out []byte
	at := 0
	for _, r := range list {
		out = append(append(out, args[at:r.Start]...), r.With...)
		at = r.End
	}
	return append(out, args[at:]...)
}

// flat returns every value of a document that holds no others, by pointer.
func flat(v any, pointer string, out map[string]any) map[string]any {
	switch v := v.(type) {
	case map[string]any:
		out[pointer] = len(v)
		for k, e := range v {
			flat(e, pointer+"/"+strictjson.EscapeToken(k), out)
		}
	case []any:
		out[pointer] = len(v)
		for i, e := range v {
			flat(e, pointer+"/"+strconv.Itoa(i), out)
		}
	default:
		out[pointer] = v
	}
	return out
}

type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

// judgeAndResend judges a call and checks what must hold of its rewrites: they are sorted and apart, the spliced
// arguments are the same JSON but for the strings named, and judged again they pass with nothing more to rewrite.
func judgeAndResend(t failer, c *Checker, tool *Tool, raw []byte, where CallContext, v rootsmgr.RootsView) *Verdict {
	t.Helper()
	s, err := c.Scan(tool, raw)
	if err != nil {
		return &Verdict{}
	}
	out := c.Judge(s, where, v)
	if len(out.Rewrites) == 0 {
		return out
	}
	if out.Decision != policy.Allow {
		t.Fatalf("%s: %v, and %d rewrites", raw, out.Decision, len(out.Rewrites))
	}
	at := 0
	for _, r := range out.Rewrites {
		if r.Start < at || r.End <= r.Start || r.End > len(raw) || raw[r.Start] != '"' || raw[r.End-1] != '"' {
			t.Fatalf("%s: rewrite of bytes %d to %d after %d", raw, r.Start, r.End, at)
		}
		at = r.End
		var from, to string
		if json.Unmarshal(raw[r.Start:r.End], &from) != nil || from != r.From || json.Unmarshal(r.With, &to) != nil || to != r.To || from == to {
			t.Fatalf("%s: %+v replaces %q by %q", raw, r, from, to)
		}
	}
	sent := splice(raw, out.Rewrites)
	var before, after any
	if json.Unmarshal(raw, &before) != nil || json.Unmarshal(sent, &after) != nil {
		t.Fatalf("%s became %s", raw, sent)
	}
	want, got := flat(before, "", map[string]any{}), flat(after, "", map[string]any{})
	for _, r := range out.Rewrites {
		if want[r.Pointer] != r.From {
			t.Fatalf("%s: at %s stands %v, not %q", raw, r.Pointer, want[r.Pointer], r.From)
		}
		want[r.Pointer] = r.To
	}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("%s became %s", raw, sent)
	}
	again, err := c.Scan(tool, sent)
	if err != nil {
		t.Fatalf("%s: %v", sent, err)
	}
	if v2 := c.Judge(again, where, v); v2.Decision != policy.Allow || len(v2.Rewrites) != 0 {
		t.Fatalf("%s was allowed; what is sent, %s: %v %+v, rewrites %+v", raw, sent, v2.Decision, v2.Deciding, v2.Rewrites)
	}
	return out
}

func TestRewrite(t *testing.T) {
	t.Parallel()
	w := linkedWorld(t)
	c := w.checker()
	tool := w.tool(c, fsServer, officialTool)
	const uri, root, both = declare.RewriteFileURI, declare.RewriteResolvedRoot, declare.RewriteFileURI + ", " + declare.RewriteResolvedRoot
	resolved, given := []string{"{project}"}, []string{"{home}/given"}
	for _, e := range []struct {
		name  string
		roots []string
		args  string
		want  string // "pointer>to>why" lines; "" for none; a code for a denial
	}{
		{"nothing", resolved, `{"path":"{project}/src/main.go"}`, ""},
		{"nothing, relative", given, `{"path":"src/main.go"}`, ""},
		{"no path", given, `{"content":"{home}/given/src file://{project}/x"}`, ""},
		{"uri", resolved, `{"path":"file://{project}/src/main.go"}`, "/path>{project}/src/main.go>" + uri},
		{"uri, missing file", resolved, `{"path":"file://{project}/src/new.go"}`, "/path>{project}/src/new.go>" + uri},
		{"uri, one slash", resolved, `{"path":"file:{project}/a.txt"}`, "/path>{project}/a.txt>" + uri},
		{"uri, host and case", resolved, `{"path":"FILE://LocalHost{project}/a.txt"}`, "/path>{project}/a.txt>" + uri},
		{"uri, escapes", resolved, `{"path":"file://{project}/a%20b.txt"}`, "/path>{project}/a b.txt>" + uri},
		{"uri, escape escaped", resolved, `{"path":"file://{project}/x%2520y.txt"}`, "/path>{project}/x%20y.txt>" + uri},
		{"uri, utf-8 escapes", resolved, `{"path":"file://{project}/%C3%A9.txt"}`, "/path>{project}/é.txt>" + uri},
		{"uri, utf-8", resolved, `{"path":"file://{project}/é.txt"}`, "/path>{project}/é.txt>" + uri},
		{"uri, json escapes", resolved, `{ "path" : "\u0066ile:\/\/{project}\/\u00e9.txt" }`, "/path>{project}/é.txt>" + uri},
		{"uri, quote", resolved, `{"path":"file://{project}/%22q%22.txt"}`, `/path>{project}/"q".txt>` + uri},
		{"uri, quotes in which the plain path seems to hold another", resolved, `{"x":{"path":"file://{project}/%22q%22/src/.."}}`, CodeOutside},
		{"uri, quotes that hold a plain name", resolved, `{"x":{"path":"file://{project}/%22q%22.txt"}}`, `/x/path>{project}/"q".txt>` + uri},
		{"uri, dots kept", resolved, `{"path":"file://{project}/./src//../a.txt"}`, "/path>{project}/./src//../a.txt>" + uri},
		{"uri, device", resolved, `{"path":"file:///dev/null"}`, "/path>/dev/null>" + uri},
		{"uri, by name", resolved, `{"filename":"file://{project}/a.txt"}`, "/filename>{project}/a.txt>" + uri},
		{"uri, elsewhere", resolved, `{"note":"file://{project}/a.txt"}`, ""},
		{"uri in a string", resolved, `{"path":"x file://{project}/a.txt"}`, ""},
		{"uri in JSON in a string", resolved, `{"note":"{\"path\":\"file://{project}/a.txt\"}"}`, ""},
		{"uri as member name", resolved, `{"files":{"file://{project}/a.txt":1}}`, ""},
		{"uri, elements", resolved, `{"paths":["file://{project}/a.txt","{project}/a.txt", "file://{project}/src"],"path":"file://{project}"}`,
			"/paths/0>{project}/a.txt>" + uri + "\n/paths/2>{project}/src>" + uri + "\n/path>{project}>" + uri},
		{"uri, nested", resolved, `{"x/y":[{"path":"file://{project}/a.txt"}]}`, "/x~1y/0/path>{project}/a.txt>" + uri},
		{"uri, ambiguous", resolved, `{"path":"file://{project}/a.txt?b"}`, CodeBadURI},
		{"uri, ambiguous, fragment", resolved, `{"path":"file://{project}/C#/x"}`, CodeBadURI},
		{"uri, ambiguous, backslash", resolved, `{"path":"file://{project}/src\\a.txt"}`, CodeBadURI},
		{"uri, ambiguous, blanks", resolved, `{"path":" file://{project}/a.txt"}`, CodeBadURI},
		{"uri, ambiguous, line end", resolved, `{"path":"fi\nle://{project}/a.txt"}`, CodeBadURI},
		{"uri, in another scheme", resolved, `{"path":"view-source:file://{project}/a.txt"}`, CodeBadURI},
		{"uri, list", resolved, `{"path":"file://{project}/a.txt,file://{project}/b"}`, CodeBadURI},
		{"uri, one of two ambiguous", resolved, `{"paths":["file://{project}/a.txt","file://{project}/a#"]}`, CodeBadURI},
		{"uri, ambiguous and outside", resolved, `{"path":"file://{project}?/../../outside/secret.txt"}`, CodeOutside},
		{"uri, malformed", resolved, `{"path":"file://{project}/a%zz"}`, CodeBadURI},
		{"uri, other host", resolved, `{"path":"file://host{project}/a"}`, CodeForeignHost},
		{"uri, outside", resolved, `{"path":"file://{outside}/secret.txt"}`, CodeOutside},
		{"uri, through a link outside", resolved, `{"path":"file://{project}/link/secret.txt"}`, CodeOutsideLink},
		{"uri, encoded dots", resolved, `{"path":"file://{project}/%2e%2e/outside/secret.txt"}`, CodeOutside},
		// As a plain path it is a list of two for some servers, as a URI it is not.
		{"uri, list once it is a path", resolved, `{"path":"file://{project}/a:{outside}/secret.txt"}`, CodeOutside},
		{"uri, list once it is a path, inside", resolved, `{"path":"file://{project}/a:{project}/b"}`, "/path>{project}/a:{project}/b>" + uri},
		{"root", given, `{"path":"{home}/given/src/main.go"}`, "/path>{project}/src/main.go>" + root},
		{"root itself", given, `{"path":"{home}/given"}`, "/path>{project}>" + root},
		{"root with a slash", given, `{"path":"{home}/given/"}`, "/path>{project}/>" + root},
		{"root, json escapes", given, `{"path":"{home}\/\u0067iven\/\u00e9.txt"}`, "/path>{project}/é.txt>" + root},
		{"root, missing file", given, `{"path":"{home}/given/new/x.txt"}`, "/path>{project}/new/x.txt>" + root},
		{"root, tail not cleaned", given, `{"path":"{home}/given//src/.././a.txt/"}`, "/path>{project}//src/.././a.txt/>" + root},
		{"root, tail not resolved", given, `{"path":"{home}/given/inner/main.go"}`, "/path>{project}/inner/main.go>" + root},
		{"root, by name", given, `{"projectRoot":"{home}/given"}`, "/projectRoot>{project}>" + root},
		{"root, elements", given, `{"paths":["{home}/given/a.txt",["{project}/a.txt","{home}/given/src"]]}`,
			"/paths/0>{project}/a.txt>" + root + "\n/paths/1/1>{project}/src>" + root},
		{"root, elsewhere", given, `{"note":"{home}/given/a.txt"}`, ""},
		{"root, as a member name", given, `{"files":{"{home}/given/a.txt":1}}`, ""},
		{"root, list", given, `{"path":"{home}/given/a.txt:{home}/given/b"}`, ""},
		{"root, blanks", given, `{"path":"{home}/given/a.txt "}`, ""},
		{"root, other spelling", given, `{"path":"/{home}/given/a.txt"}`, ""},
		{"root, look-alike", given, `{"path":"{home}/given2/a.txt"}`, CodeOutside},
		{"root, link out", given, `{"path":"{home}/given/link/secret.txt"}`, CodeOutsideLink},
		{"link inside a root", resolved, `{"path":"{project}/inner/main.go"}`, ""},
		{"root below a root", []string{"{home}/given", "{project}/src"}, `{"path":"{home}/given/src/main.go"}`, "/path>{project}/src/main.go>" + root},
		// A root that is a link inside another one is not followed out of that.
		{"root below a root's text", []string{"{home}/projects", "{home}/projects/way"}, `{"path":"{home}/projects/way/a.txt"}`, CodeOutsideLink},
		{"link from one root to another", []string{"{home}/projects", "{project}"}, `{"path":"{home}/projects/way/a.txt"}`, ""},
		{"root, out and in again", given, `{"path":"{home}/given/../given/a.txt"}`, "/path>{project}/../given/a.txt>" + root},
		// The same place, but as text it would be outside both spellings of the root.
		{"root, new text outside", []string{"{home}/deep/given"}, `{"path":"{home}/deep/given/../given/a.txt"}`, ""},
		{"root, new place", []string{"{home}/given", "{home}/deep"}, `{"path":"{home}/given/../deep/given/../../given/a.txt"}`, CodeOutsideLink},
		{"both", given, `{"path":"file://{home}/given/a%20b.txt"}`, "/path>{project}/a b.txt>" + both},
		{"both, elements", given, `{"paths":["file://{home}/given","{home}/given/a.txt","file://{project}/src","src"]}`,
			"/paths/0>{project}>" + both + "\n/paths/1>{project}/a.txt>" + root + "\n/paths/2>{project}/src>" + uri},
		{"allowed and denied", given, `{"paths":["file://{home}/given","{outside}"]}`, CodeOutside},
	} {
		t.Run(e.name, func(t *testing.T) {
			w.roots = nil
			for _, r := range e.roots {
				w.roots = append(w.roots, w.fill(r))
			}
			v := judgeAndResend(t, c, tool, w.json(e.args), w.where(), w.view())
			if _, isCode := explain(e.want); isCode {
				if v.Decision != policy.Deny || v.Deciding == nil || v.Deciding.Code != e.want || len(v.Rewrites) != 0 {
					t.Fatalf("%v %+v %+v, want %s", v.Decision, v.Deciding, v.Rewrites, e.want)
				}
				if !slices.ContainsFunc(v.Deciding.Readings, func(r Reading) bool { return r.Code == e.want }) {
					t.Errorf("no reading says why: %+v", v.Deciding.Readings)
				}
				return
			}
			var got []string
			for _, r := range v.Rewrites {
				got = append(got, r.Pointer+">"+r.To+">"+r.Why)
			}
			if v.Decision != policy.Allow || strings.Join(got, "\n") != w.fill(e.want) {
				t.Fatalf("%v %+v\ngot  %q\nwant %q", v.Decision, v.Deciding, got, w.fill(e.want))
			}
		})
	}
}

// TestRewriteNewTextOutside: if the new spelling alone would be denied, a root is left as it is spelled, a file URI
// becomes a path with its root as spelled, and if that does not help either, the call is denied.
func TestRewriteNewTextOutside(t *testing.T) {
	t.Parallel()
	w := linkedWorld(t)
	// A root whose resolved name reads as a list.
	odd := w.home + "/odd:" + w.outside
	w.must(mkdir(odd))
	w.must(os.WriteFile(odd+"/a.txt", nil, 0o644))
	w.must(os.Symlink(odd, w.home+"/fine"))
	w.roots = []string{w.home + "/fine"}
	c := w.checker()
	tool := w.tool(c, fsServer, officialTool)
	for args, want := range map[string]string{
		`{"path":"{home}/fine/a.txt"}`:                                       "",
		`{"path":"file://{home}/fine/a.txt"}`:                                "/path>{home}/fine/a.txt>" + declare.RewriteFileURI,
		`{"paths":["file://{home}/fine/a.txt","{home}/fine/a.txt"]}`:         "/paths/0>{home}/fine/a.txt>" + declare.RewriteFileURI,
		`{"paths":["file://{home}/fine/a:{outside}/x","{home}/fine/a.txt"]}`: CodeOutside,
	} {
		s, err := c.Scan(tool, w.json(args))
		w.must(err)
		v := c.Judge(s, w.where(), w.view())
		var got string
		for _, r := range v.Rewrites {
			got += r.Pointer + ">" + r.To + ">" + r.Why
		}
		if v.Decision == policy.Deny && v.Deciding != nil {
			got = v.Deciding.Code
		}
		if got != w.fill(want) {
			t.Errorf("%s: %v %q, want %q", args, v.Decision, got, w.fill(want))
		}
		for i, f := range v.Findings {
			if slices.ContainsFunc(v.Findings[:i], func(g FindingVerdict) bool { return g.Pointer == f.Pointer && g.Value == f.Value && g.Form == f.Form }) {
				t.Errorf("%s: found twice: %s %s", args, f.Pointer, f.Value)
			}
		}
	}
}

// TestRewriteSwappedRoot: a root's link that points elsewhere since the roots were read is no spelling of it any more.
func TestRewriteSwappedRoot(t *testing.T) {
	t.Parallel()
	w := linkedWorld(t)
	w.roots = []string{w.home + "/given", w.home + "/projects"}
	c := w.checker()
	tool := w.tool(c, fsServer, officialTool)
	v := w.view()
	raw := w.json(`{"path":"{home}/given/a.txt"}`)
	if got := judgeAndResend(t, c, tool, raw, w.where(), v); len(got.Rewrites) != 1 {
		t.Fatalf("control: %+v", got)
	}
	w.must(os.Remove(w.home + "/given"))
	w.must(os.Symlink(w.home+"/projects", w.home+"/given"))
	if got := judgeAndResend(t, c, tool, raw, w.where(), v); got.Decision != policy.Allow || len(got.Rewrites) != 0 {
		t.Errorf("%v %+v", got.Decision, got.Rewrites)
	}
}

// TestRewriteWho: whose calls are rewritten.
func TestRewriteWho(t *testing.T) {
	t.Parallel()
	w := linkedWorld(t)
	w.roots = []string{w.home + "/given"}
	operator := map[string]map[string]declare.ArgRule{"*": {"/target": {Role: access.Write}, "/path": {Role: access.None}}}
	package_ := []string{"-y", "@modelcontextprotocol/server-filesystem", "/x"}
	open := w.view()
	disabled := w.view()
	disabled.Open = true
	open.Snapshot, open.Case, open.Open = rootsmgr.NewSnapshot(guard.OS{}, 1, rootsmgr.OriginAsked, nil), rootsmgr.CaseUnsupported, true
	args := `{"path":"file://{project}/a.txt","target":"{home}/given/a.txt"}`
	for _, e := range []struct {
		name      string
		child     ChildConfig
		server    string
		RootsView rootsmgr.RootsView
		want      string
	}{
		{"by name", ChildConfig{Command: "x"}, fsServer, w.view(), "/path"},
		{"by package", ChildConfig{Command: "npx", CommandArgs: package_}, "", w.view(), "/path"},
		{"unknown server", ChildConfig{Command: "x"}, "", w.view(), ""},
		{"other profile", ChildConfig{Command: "x"}, desk, w.view(), ""},
		{"the hub's own", ChildConfig{}, "mcphub-files", w.view(), ""},
		{"declared by the operator", ChildConfig{Command: "x", Args: operator}, fsServer, w.view(), "/target"},
		{"mode declared", ChildConfig{Command: "x", Args: operator, Mode: declare.ModeDeclared, ModeSet: true}, fsServer, w.view(), "/target"},
		{"mode off", ChildConfig{Command: "x", Args: operator, Mode: declare.ModeOff, ModeSet: true}, fsServer, w.view(), ""},
		{"no boundary", ChildConfig{Command: "x"}, fsServer, open, ""},
		{"a boundary that is not kept", ChildConfig{Command: "x"}, fsServer, disabled, ""},
	} {
		e.child.Name = "child"
		c := w.checker(e.child)
		v := judgeAndResend(t, c, w.tool(c, e.server, officialTool), w.json(args), w.where(), e.RootsView)
		var got []string
		for _, r := range v.Rewrites {
			got = append(got, r.Pointer)
		}
		if v.Decision != policy.Allow || strings.Join(got, " ") != e.want {
			t.Errorf("%s: %v %v %+v, want %q", e.name, v.Decision, got, v.Deciding, e.want)
		}
	}
	// What is asked of a child that is no tool is sent as it came.
	c := w.checker(ChildConfig{Name: "child", Command: "npx", CommandArgs: package_})
	for name, scan := range map[string]func() (*Scan, error){
		"resource":   func() (*Scan, error) { return c.ScanURI("child", "file://"+w.project+"/a.txt") },
		"prompt":     func() (*Scan, error) { return c.ScanPrompt("child", "p", w.json(args)) },
		"completion": func() (*Scan, error) { return c.ScanCompletion("child", "", "path", "file://"+w.project+"/a.txt", nil) },
	} {
		s, err := scan()
		w.must(err)
		if v := c.Judge(s, w.where(), w.view()); v.Decision != policy.Allow || len(v.Findings) == 0 || len(v.Rewrites) != 0 {
			t.Errorf("%s: %v %+v", name, v.Decision, v.Rewrites)
		}
	}
	// A container has paths of its own; a file URI of one is still no path.
	c = w.checker(ChildConfig{Name: "child", Command: "docker",
		CommandArgs: strings.Fields(w.fill("run -i -v {project}:{home}/given -v {project}:/projects mcp/filesystem /projects"))})
	v := judgeAndResend(t, c, w.tool(c, "", officialTool), w.json(`{"paths":["{home}/given/a.txt","file:///projects/a.txt"]}`), w.where(), w.view())
	if v.Decision != policy.Allow || len(v.Rewrites) != 1 || v.Rewrites[0].To != "/projects/a.txt" {
		t.Errorf("container: %v %+v %+v", v.Decision, v.Deciding, v.Rewrites)
	}
}

// TestRewriteBase: if the directory that a relative path starts from is rewritten, the path is judged from the new
// one as well.
func TestRewriteBase(t *testing.T) {
	t.Parallel()
	w := linkedWorld(t)
	w.roots = []string{w.home + "/given"}
	c := w.checker(ChildConfig{Name: "child", Command: "x", Args: map[string]map[string]declare.ArgRule{"*": {
		"/dir": {Role: access.Read}, "/name": {Role: access.Read, Base: "/dir"}}}})
	tool := w.tool(c, fsServer, officialTool)
	v := judgeAndResend(t, c, tool, w.json(`{"dir":"{home}/given/src","name":"../a.txt"}`), w.where(), w.view())
	if v.Decision != policy.Allow || len(v.Rewrites) != 1 || v.Rewrites[0].To != w.project+"/src" {
		t.Errorf("%v %+v %+v", v.Decision, v.Deciding, v.Rewrites)
	}
	// From "given" the name is inside as text; from the resolved root it is not, so the root stays as it is.
	w.roots = []string{w.home + "/deep/given"}
	for name, want := range map[string]int{"../given/a.txt": 0, "src/main.go": 1} {
		v = judgeAndResend(t, c, tool, w.json(`{"dir":"{home}/deep/given","name":"`+name+`"}`), w.where(), w.view())
		if v.Decision != policy.Allow || len(v.Rewrites) != want {
			t.Errorf("%s: %v %+v %+v", name, v.Decision, v.Deciding, v.Rewrites)
		}
	}
}

// TestRewritePlatforms: names in another letter case, drives and shares.
func TestRewritePlatforms(t *testing.T) {
	t.Parallel()
	for _, e := range []struct {
		platform platform.Platform
		root     string
		lines    []string
		args, to string
	}{
		{platform.Darwin, "/short", []string{"/Users/Me/Proj/f", "/short => /Users/Me/Proj"}, `{"path":"/short/f"}`, "/Users/Me/Proj/f"},
		{platform.Darwin, "/short", []string{"/Users/Me/Proj/f", "/short => /Users/Me/Proj"}, `{"path":"/SHORT/f"}`, "/Users/Me/Proj/f"},
		{platform.Darwin, "/short", []string{"/Users/Me/Proj/f", "/short => /Users/Me/Proj"}, `{"path":"/users/me/proj/f"}`, ""},
		{platform.Windows, `C:\short`, []string{`C:\Users\Me\Proj\f`, `C:\short => C:\Users\Me\Proj`}, `{"path":"C:\\short\\f"}`, `C:\Users\Me\Proj\f`},
		{platform.Windows, `D:\short`, []string{`C:\f`, `D:\short => C:\`}, `{"path":"D:\\short\\f"}`, `C:\f`},
		{platform.Windows, `D:\short`, []string{`C:\f`, `D:\short => C:\`}, `{"path":"D:\\short"}`, `C:\`},
		{platform.Windows, `C:\short`, []string{`C:\Users\Me\Proj\f`, `C:\short => C:\Users\Me\Proj`}, `{"path":"c:\\SHORT\\f"}`, `C:\Users\Me\Proj\f`},
		{platform.Windows, `C:\short`, []string{`C:\Users\Me\Proj\f`, `C:\short => C:\Users\Me\Proj`}, `{"path":"c:/Short/f"}`, `C:\Users\Me\Proj/f`},
		{platform.Windows, `C:\short`, []string{`C:\Users\Me\Proj\f`, `C:\short => C:\Users\Me\Proj`}, `{"path":"file:///c%3A/short/f"}`, `C:\Users\Me\Proj\f`},
		{platform.Windows, `C:\p`, []string{`C:\p\f g`}, `{"path":"file:///C:/p/f%20g"}`, `C:\p\f g`},
	} {
		disk := rootstest.NewFS(t, e.platform, e.lines, rootstest.Folding())
		c, err := NewChecker(Config{Children: []ChildConfig{{Name: "child", Command: "x"}}, FS: disk, Home: "/none", Getenv: func(string) string { return "" }})
		if err != nil {
			t.Fatal(err)
		}
		tool, err := c.PrepareTool("child", fsServer, []byte(officialTool))
		if err != nil {
			t.Fatal(err)
		}
		v := rootsmgr.RootsView{Snapshot: rootsmgr.NewSnapshot(disk, 1, rootsmgr.OriginConfig, []rootsmgr.RootEntry{{URI: e.root}}), Case: rootsmgr.CaseKnown}
		got := judgeAndResend(t, c, tool, []byte(e.args), CallContext{Served: v.Snapshot.Paths()}, v)
		to := ""
		if len(got.Rewrites) > 0 {
			to = got.Rewrites[0].To
		}
		if got.Decision != policy.Allow || to != e.to {
			t.Errorf("%s with root %s: %v %q, want %q (%+v)", e.args, e.root, got.Decision, to, e.to, got.Deciding)
		}
	}
}

// TestProfileOfTheHubsOwnServer: the same tools and roles as the official server, and nothing to rewrite.
func TestProfileOfTheHubsOwnServer(t *testing.T) {
	t.Parallel()
	own, official := declare.ByServer("mcphub-files"), declare.ByServer(fsServer)
	if own == nil || official == nil || own == official {
		t.Fatalf("%v %v", own, official)
	}
	if !reflect.DeepEqual(own.Tools, official.Tools) || own.RootsProbe != official.RootsProbe {
		t.Error("the two servers have the same tools; their profiles differ")
	}
	if own.Rewrite || !official.Rewrite {
		t.Errorf("rewrite: %v, %v", own.Rewrite, official.Rewrite)
	}
}

// TestFurtherURIs: what follows a first file URI in a string is judged too.
func TestFurtherURIs(t *testing.T) {
	t.Parallel()
	w := linkedWorld(t)
	c := w.checker()
	for _, server := range []string{"", fsServer, "mcphub-files"} {
		tool := w.tool(c, server, officialTool)
		for _, key := range []string{"path", "uri", "x"} {
			for _, value := range []string{
				`file://{project}/a,file://{outside}/secret.txt`, `file://{project}/a;file:{outside}/secret.txt`,
				`file://{project}/a file://{outside}/secret.txt`, `file://{project}/a\r\nfile://{outside}/secret.txt`,
				`file://{project}/a,{outside}/secret.txt`, `file://{project}/a\n{outside}/secret.txt`,
				// "!/" ends a path only inside another scheme.
				`file://{project}/x!/secret.txt`, `file://{project}/y!/../../outside/secret.txt`,
			} {
				if _, v := w.call(c, tool, `{"`+key+`":"`+value+`"}`); v.Decision != policy.Deny {
					t.Errorf("%s: %s under %s passes", server, value, key)
				}
			}
		}
		if _, v := w.call(c, tool, `{"x":"file://{project}/My Docs/a.txt","y":"file://{project}/a.txt\nfile://{project}/b.txt","z":"jar:file://{project}/a.jar!/b"}`); v.Decision != policy.Allow {
			t.Errorf("%s: honest ones are denied: %+v", server, v.Deciding)
		}
	}
}
