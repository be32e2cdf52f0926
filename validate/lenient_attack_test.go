package validate

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"mcphub/validate/access"
	"mcphub/validate/declare"
	"mcphub/validate/policy"
	"mcphub/validate/schema"
	"mcphub/validate/strictjson"
)

// demanding returns a checker whose server has arguments held against its schemas in one way.
func (w *world) demanding(d declare.Demand, mode declare.Mode, args map[string]map[string]declare.ArgRule) *Checker {
	return w.checker(ChildConfig{Name: "child", Command: "some-server", Mode: mode, ModeSet: true, Demand: d, Args: args})
}

// lenientWorld has links out whose names are words that a lenient reading takes for something else.
func lenientWorld(t testing.TB) *world {
	w := newWorld(t)
	for name, target := range map[string]string{"5": w.outside, "true": w.outside + "/secret.txt"} {
		w.must(os.Symlink(target, w.project+"/"+name))
	}
	w.must(os.WriteFile(w.project+"/7", nil, 0o600))
	w.must(os.MkdirAll(w.project+"/sub/deep/deeper/deepest", 0o755))
	w.must(os.Symlink("../../../outside", w.project+"/sub/deep/far"))
	return w
}

// lenientTool has an argument of every kind that a lenient reading knows.
const lenientTool = `{"name":"do_it","inputSchema":{"type":"object","properties":{
	"file":{"type":"integer"},"flag":{"type":"boolean"},"n":{"type":"integer"},"files":{"type":"array","items":{"type":"string"}},"items":{"type":"array","items":{"type":"string"}},
	"comments":{"type":"array","items":{"type":"string"}},"options":{"type":"object","properties":{"target_path":{"type":"string"},"note":{"type":"string"},"cwd":{"type":"string"}},"additionalProperties":false},
	"places":{"type":"array","items":{"type":"string","format":"path"}},"kinds":{"type":"array","items":{"type":"string","enum":["../x","y"]}},
	"out_dir":{"type":"string","default":"{outside}/new"},"in_dir":{"type":"string","default":"{project}/src"},"query":{"type":"string"}},
	"additionalProperties":false}}`

// lenientCalls are calls that fit lenientTool by a lenient reading alone: by what hides a path in it, one that must be denied and
// its control, which passes.
var lenientCalls = map[string][2]string{
	"a number in a string, a link's name":    {`{"file":"5","in_dir":"src","out_dir":"src"}`, `{"file":"7","out_dir":"src"}`},
	"a boolean in a string, a link's name":   {`{"flag":"true","out_dir":"src"}`, `{"flag":"false","out_dir":"src"}`},
	"a list of paths in a string":            {`{"files":"[\"a.txt\",\"{outside}/secret.txt\"]","out_dir":"src"}`, `{"files":"[\"a.txt\",\"{project}/src/main.go\"]","out_dir":"src"}`},
	"a list of links in a string":            {`{"files":"[\"link/secret.txt\"]","out_dir":"src"}`, `{"files":"[\"inner/main.go\"]","out_dir":"src"}`},
	"a bare name in a list in a string":      {`{"files":"[\"passwd\"]","out_dir":"src"}`, `{"files":"[\"a.txt\"]","out_dir":"src"}`},
	"a list of patterns, its text another":   {`{"files":"[\"b/]etc/passw[d\"]","out_dir":"src"}`, `{"files":"[\"b/etc/passwd\"]","out_dir":"src"}`},
	"a list of braces that close elsewhere":  {`{"files":"[\"x/{q\",\"z,..,w\",\"v}/{q\",\"z,..,w\",\"v}/{q\",\"z,..,w\",\"v}/y\"]","out_dir":"src"}`, `{"files":"[\"x/q\",\"z\"]","out_dir":"src"}`},
	"a list under a plain name":              {`{"items":"[\"x\",\"../outside/secret.txt\"]","out_dir":"src"}`, `{"items":"[\"x\",\"src/../a.txt\"]","out_dir":"src"}`},
	"escapes in a list in a string":          {`{"items":"[\"\\u002fetc\\u002fpasswd\"]","out_dir":"src"}`, `{"items":"[\"\\u0061\"]","out_dir":"src"}`},
	"an object in a string":                  {`{"options":"{\"target_path\":\"../outside/secret.txt\"}","out_dir":"src"}`, `{"options":"{\"target_path\":\"a.txt\"}","out_dir":"src"}`},
	"a base in an object in a string":        {`{"options":"{\"cwd\":\"{outside}\"}","out_dir":"src"}`, `{"options":"{\"cwd\":\"{project}/src\"}","out_dir":"src"}`},
	"a format in a list in a string":         {`{"places":"[\"link\"]","out_dir":"src"}`, `{"places":"[\"inner\"]","out_dir":"src"}`},
	"free text in a list in a string":        {`{"comments":"[\"file://{outside}/secret.txt\"]","out_dir":"src"}`, `{"comments":"[\"see there\"]","out_dir":"src"}`},
	"null for a path with a default outside": {`{"out_dir":null}`, `{"in_dir":null,"out_dir":"src"}`},
	"absent beside a lenient value":          {`{"n":"8"}`, `{"n":"8","out_dir":"src"}`},
	"a member too many":                      {`{"target":"{outside}/secret.txt","out_dir":"src"}`, `{"target":"{project}/a.txt","out_dir":"src"}`},
	"a relative path in one":                 {`{"path":"passwd","out_dir":"src"}`, `{"path":"a.txt","out_dir":"src"}`},
	"below one":                              {`{"more":{"deep":[{"path":"link/secret.txt"}]},"out_dir":"src"}`, `{"more":{"deep":[{"path":"inner/main.go"}]},"out_dir":"src"}`},
	"JSON in one":                            {`{"more":"{\"path\":\"../outside\"}","out_dir":"src"}`, `{"more":"{\"path\":\"src\"}","out_dir":"src"}`},
	"the name of one":                        {`{"{outside}/secret.txt":1,"out_dir":"src"}`, `{"{project}/a.txt":1,"out_dir":"src"}`},
	"a command in one":                       {`{"command":"cat ../outside/secret.txt","out_dir":"src"}`, `{"command":"cat a.txt","out_dir":"src"}`},
	"one below a declared member":            {`{"options":{"path":"{outside}"},"out_dir":"src"}`, `{"options":{"path":"{project}"},"out_dir":"src"}`},
	"beside what is lenient":                 {`{"n":"8","query":"{outside}/secret.txt","out_dir":"src"}`, `{"n":"8","query":"{project}/a.txt","out_dir":"src"}`},
}

func TestLenientAttacks(t *testing.T) {
	t.Parallel()
	w := lenientWorld(t)
	c := w.demanding(declare.DemandLenient, declare.ModeStrict, nil)
	tool, strict := w.tool(c, "", string(w.json(lenientTool))), w.demanding(declare.DemandStrict, declare.ModeStrict, nil)
	strictTool := w.tool(strict, "", string(w.json(lenientTool)))
	off := w.demanding(declare.DemandNothing, declare.ModeDeclared, nil)
	offTool := w.tool(off, "", string(w.json(lenientTool)))
	for name, pair := range lenientCalls {
		for i, args := range pair {
			want := []policy.Decision{policy.Deny, policy.Allow}[i]
			if _, err := strict.Scan(strictTool, w.json(args)); err == nil {
				t.Errorf("%s: %s fits strictly: this shows nothing", name, args)
			} else if _, ok := errors.AsType[*schema.Error](err); !ok {
				t.Errorf("%s: %v", name, err)
			}
			s, v := w.call(c, tool, args)
			if v.Decision != want || v.Lenient == 0 || !s.NeedsJudge() {
				t.Errorf("%s: %s: %v by %s, lenient %d", name, args, v.Decision, v.Rule, v.Lenient)
			}
			// Without the schema nothing is known of defaults, and a string is what it is; the rest is judged alike.
			if strings.Contains(name, "default") || strings.Contains(name, "absent") || strings.Contains(name, "free text") || want == policy.Allow && strings.Contains(name, "a list of") {
				continue
			}
			if _, v := w.call(off, offTool, args); v.Decision != want || v.Lenient != 0 {
				t.Errorf("%s: %s: %v by %s where the schema is not asked", name, args, v.Decision, v.Rule)
			}
		}
	}
}

// TestLenientMembersUnderDeclaredMode: a member that the schema does not know is searched as in strict mode, and what the schema knows
// only if it is declared, wherever it stands.
func TestLenientMembersUnderDeclaredMode(t *testing.T) {
	t.Parallel()
	w := lenientWorld(t)
	declared := map[string]map[string]declare.ArgRule{"do_it": {"/items/*": {Role: access.Delete}, "/options/note": {Role: access.Write}}}
	for name, tc := range map[string]struct {
		args string
		want policy.Decision
		role access.Role // of what decides
	}{
		"declared elements in a string":       {`{"items":"[\"a.txt\",\"passwd\"]"}`, policy.Deny, access.Delete},
		"control":                             {`{"items":"[\"a.txt\"]"}`, policy.Allow, 0},
		"a declared member in a string":       {`{"options":"{\"note\":\"passwd\"}"}`, policy.Deny, access.Write},
		"the same outside a string":           {`{"n":"5","options":{"note":"passwd"}}`, policy.Deny, access.Write},
		"what is not declared":                {`{"files":"[\"{outside}/secret.txt\"]"}`, policy.Allow, 0},
		"what is not declared, beside":        {`{"n":"5","query":"{outside}/secret.txt"}`, policy.Allow, 0},
		"a file URI":                          {`{"files":"[\"file://{outside}/secret.txt\"]"}`, policy.Deny, access.Write},
		"a member too many":                   {`{"n":5,"target":"{outside}/secret.txt"}`, policy.Deny, access.Write},
		"its control":                         {`{"n":5,"target":"{project}/a.txt"}`, policy.Allow, 0},
		"deep in one":                         {`{"more":[{"a":[{"path":"passwd"}]}]}`, policy.Deny, access.Write},
		"a component list in one":             {`{"more":{"segments":["sub","deep","far","secret.txt"]}}`, policy.Deny, access.Write},
		"its name":                            {`{"{outside}/secret.txt":true}`, policy.Deny, access.Write},
		"a name in it":                        {`{"more":{"{outside}/secret.txt":true}}`, policy.Deny, access.Write},
		"a bare name beside a path":           {`{"files":["a"],"thing":"passwd"}`, policy.Deny, access.Write},
		"a patch in one":                      {`{"patch":"--- a/x\n+++ {outside}/secret.txt\n@@ -1 +1 @@\n-a\n+b\n"}`, policy.Deny, access.Write},
		"one below a member that is declared": {`{"options":{"path":"passwd"}}`, policy.Deny, access.Write},
		"beside one":                          {`{"query":"{outside}/secret.txt","target":"a"}`, policy.Allow, 0},
	} {
		c := w.demanding(declare.DemandLenient, declare.ModeDeclared, declared)
		def := strings.ReplaceAll(string(w.json(lenientTool)), `,"default":"`+w.outside+`/new"`, "")
		_, v := w.call(c, w.tool(c, "", def), tc.args)
		if v.Decision != tc.want || tc.want == policy.Deny && v.Deciding.Role != tc.role {
			t.Errorf("%s: %s: %v %+v", name, tc.args, v.Decision, v.Deciding)
		}
		off := w.demanding(declare.DemandLenient, declare.ModeOff, nil)
		if _, v := w.call(off, w.tool(off, "", def), tc.args); v.Decision != policy.Allow {
			t.Errorf("%s: %s: searched although nothing is to be", name, tc.args)
		}
	}
	// The control: without a schema a declared argument alone is searched.
	c := w.demanding(declare.DemandLenient, declare.ModeDeclared, declared)
	if _, v := w.call(c, w.tool(c, "", anyTool), `{"target":"{outside}/secret.txt"}`); v.Decision != policy.Allow {
		t.Error("everything is searched under declared mode: this shows nothing")
	}
}

func TestLenientSecondSpelling(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	declared := map[string]map[string]declare.ArgRule{"do_it": {"/odd-thing": {Role: access.Write}, "/options/deepThing": {Role: access.Read}}}
	c := w.demanding(declare.DemandLenient, declare.ModeStrict, declared)
	const def = `{"name":"do_it","inputSchema":{"type":"object","properties":{"file_path":{"type":"string"},"n":{"type":"integer"},"options":{"type":"object","properties":{"repoPath":{"type":"string"}},"additionalProperties":false}},"additionalProperties":%}}`
	closed, open := w.tool(c, "", strings.Replace(def, "%", "false", 1)), w.tool(c, "", strings.Replace(def, "%", "true", 1))
	for _, args := range []string{
		`{"file_path":"a","filePath":"b"}`, `{"file_path":"a","file-path":"b"}`, `{"filepath":"b"}`, `{"FILE_PATH":"b"}`, `{"file__path":1}`, `{"_file_path":"b"}`, `{"N":1}`, `{"n-":"x"}`, `{"ﬁle_path":1,"File-Path":1}`,
		`{"options":{"repo_path":"x"}}`, `{"options":{"repoPath":"x","RepoPath":"y"}}`, `{"oddThing":"x"}`, `{"odd_thing":"x","n":5}`, `{"options":{"deep-thing":"x"}}`, `{"\u0066ilePath":"b"}`,
	} {
		_, err := c.Scan(closed, []byte(args))
		if e, ok := errors.AsType[*strictjson.Error](err); !ok || e.Code != strictjson.CodeFolded || !strings.Contains(e.Message, "declared spelling") {
			t.Errorf("%s: %v", args, err)
		}
	}
	for _, args := range []string{`{"file path":1}`, `{"filePaths":["a.txt"]}`, `{"nn":1}`, `{"ﬁle_path":"a.txt"}`, `{"odd-thing":"a.txt"}`, `{"a-b":1,"a_b":2,"AB":3}`, `{"options":{"file_path":"a.txt"}}`} {
		if _, v := w.call(c, closed, args); v.Decision != policy.Allow || v.Lenient == 0 {
			t.Errorf("the control %s: %v", args, v.Decision)
		}
	}
	// Where the schema allows other members, two spellings are told apart by case alone, as they always were.
	for args, bad := range map[string]bool{`{"file_path":"a.txt","File_Path":"b"}`: true, `{"filePath":"a.txt"}`: false, `{"file_path":"a.txt","file-path":"a.txt"}`: false} {
		if _, err := c.Scan(open, []byte(args)); (err != nil) != bad {
			t.Errorf("%s where others are allowed: %v", args, err)
		}
	}
}

// TestLenientRefusals: what is no lossless reading is refused with the words of the strict check, whatever it holds.
func TestLenientRefusals(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c, strict := w.demanding(declare.DemandLenient, declare.ModeStrict, nil), w.demanding(declare.DemandStrict, declare.ModeStrict, nil)
	tool, strictTool := w.tool(c, "", string(w.json(lenientTool))), w.tool(strict, "", string(w.json(lenientTool)))
	for _, args := range []string{
		`{"files":"[\"a.txt\",\"a.txt\",5]"}`, `{"options":"{\"target_path\":\"a\",\"target_path\":\"b\"}"}`, `{"options":"{\"target_path\":\"a\",\"target_p\\u0061th\":\"b\"}"}`, `{"options":"{\"other\":1}"}`,
		`{"options":"{\"target_path\":null}"}`, `{"files":"\"[]\""}`, `{"options":"\"{}\""}`, `{"files":"['a']"}`, `{"files":"[\"a\",]"}`, `{"files":"a.txt"}`, `{"n":"5 "}`, `{"n":"0x5"}`, `{"n":"five"}`, `{"n":5.5}`,
		`{"flag":"yes"}`, `{"flag":"TRUE"}`, `{"flag":1}`, `{"query":5}`, `{"query":true}`, `{"query":["a"]}`, `{"n":"null"}`, `{"files":[null]}`, `{"files":{"0":"a"}}`, `{"kinds":"[\"z\"]"}`, `{"n":[5]}`,
		`{"n":"5","query":5}`, `{"more":1,"query":5}`,
	} {
		_, want := strict.Scan(strictTool, []byte(args))
		_, err := c.Scan(tool, []byte(args))
		if _, ok := errors.AsType[*schema.Error](err); !ok || want == nil || err.Error() != want.Error() {
			t.Errorf("%s: %v, want %v", args, err, want)
		}
	}
	// A string that a reading takes is no constant of the schema any more, and JSON in a string is as deep as it stands.
	deep := `{"options":"` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `"}`
	if _, err := c.Scan(tool, []byte(deep)); err == nil {
		t.Error("JSON in a string that is too deep passes")
	}
}

// TestLenientReadingsAreJudgedApart: the paths of one reading do not start from the directories that the other names.
func TestLenientReadingsAreJudgedApart(t *testing.T) {
	t.Parallel()
	w := lenientWorld(t)
	c := w.demanding(declare.DemandLenient, declare.ModeStrict, nil)
	for to, want := range map[string]policy.Decision{"link/new": policy.Deny, "inner/new": policy.Allow} {
		tool := w.tool(c, "", `{"name":"do_it","inputSchema":{"type":"object","properties":{"flag":{"type":"boolean"},"out_dir":{"type":"string","default":"`+to+`"}}}}`)
		if _, v := w.call(c, tool, `{"root":"{project}/sub","dir":"deep","path":"deeper","source":"deepest","flag":"false"}`); v.Decision != want {
			t.Errorf("a default %s: %v", to, v.Decision)
		}
	}
}

// TestLenientKeepsBothReadings: what was found in both is told once, and the rest of both.
func TestLenientKeepsBothReadings(t *testing.T) {
	t.Parallel()
	w := lenientWorld(t)
	c := w.demanding(declare.DemandLenient, declare.ModeStrict, nil)
	tool := w.tool(c, "", string(w.json(lenientTool)))
	s, v := w.call(c, tool, `{"query":"{project}/a.txt","files":"[\"{project}/src\"]","out_dir":"src","more":1,"n":null}`)
	if v.Decision != policy.Allow || v.Lenient != 3 {
		t.Fatalf("%v, lenient %d", v.Decision, v.Lenient)
	}
	count := map[string]int{}
	for _, f := range v.Findings {
		count[f.Pointer+" "+f.Value]++
	}
	for at, n := range count {
		if n != 1 {
			t.Errorf("%s is told %d times", at, n)
		}
	}
	for _, at := range []string{"/query " + w.project + "/a.txt", "/files/0 " + w.project + "/src", "/out_dir src"} {
		if count[at] == 0 {
			t.Errorf("%s was not judged: %v", at, count)
		}
	}
	if !s.NeedsBoundary() || !s.IsCertain() {
		t.Error("the roots are not asked for")
	}
	counts := w.tool(c, "", `{"name":"count","inputSchema":{"type":"object","properties":{"n":{"type":"integer"}}}}`)
	plain, err := c.Scan(counts, []byte(`{"n":"8"}`))
	if err != nil || plain.NeedsBoundary() || !plain.NeedsJudge() {
		t.Errorf("a lenient call without a path: %v", err)
	}
	if v := c.Judge(plain, w.where(), w.view()); v.Decision != policy.Allow || v.Lenient != 1 || v.Rule != RuleNoPath {
		t.Errorf("it is judged %+v", v)
	}
	var nothing *Scan
	if slices.Contains([]bool{nothing.NeedsBoundary(), nothing.IsCertain()}, false) {
		t.Error("what was not scanned needs nothing")
	}
}

// TestLenientRewrite: a string is sent in the spelling that its server needs beside values that fit by a lenient reading alone.
func TestLenientRewrite(t *testing.T) {
	t.Parallel()
	w := linkedWorld(t)
	w.roots = []string{w.home + "/given"}
	c := w.demanding(declare.DemandLenient, declare.ModeStrict, nil)
	for path, want := range map[string]string{`"maxLength":1000`: w.project + "/a.txt", `"pattern":"/given/"`: ""} {
		tool := w.tool(c, fsServer, `{"name":"read_text_file","inputSchema":{"type":"object","properties":{"path":{"type":"string",`+path+`},"head":{"type":"integer"}},"additionalProperties":false}}`)
		_, v := w.call(c, tool, `{"path":"{home}/given/a.txt","head":"5","more":"{home}/given/a.txt"}`)
		got := ""
		for _, r := range v.Rewrites {
			got += r.To
		}
		if v.Decision != policy.Allow || v.Lenient != 2 || got != want {
			t.Errorf("%s: %v, rewritten to %q", path, v.Decision, got)
		}
	}
}
