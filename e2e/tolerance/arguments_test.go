package tolerance

import (
	"bytes"
	"context"
	"encoding/json"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcphub/e2e/world"
)

// A said is what a client got for a call.
type said struct {
	Text    string
	IsError bool
	Error   string
}

func (s said) passed() bool { return s.Error == "" && !s.IsError }

// call has the official clients call tools of a server, or of a hub.
func call(w *world.World, n world.Node, command string, args []string, calls []obj) map[string][]said {
	w.T.Helper()
	env := map[string]string{}
	for _, v := range w.Env() {
		name, value, _ := strings.Cut(v, "=")
		env[name] = value
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*world.WaitLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, n.Program, world.Source("e2e", "tolerance", "calls.mjs"))
	cmd.Env = w.Env()
	cmd.Stdin = strings.NewReader(world.Raw(w.T, obj{"command": command, "args": args, "env": env, "cwd": w.Project, "calls": calls}))
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		w.T.Fatalf("the clients: %v\n%s", err, errs.Bytes())
	}
	var all map[string][]said
	world.Must(w.T, json.Unmarshal(out.Bytes(), &all))
	for _, sdk := range []string{"v1", "v2"} {
		if len(all[sdk]) != len(calls) {
			w.T.Fatalf("%s made %d of %d calls\n%s", sdk, len(all[sdk]), len(calls), errs.Bytes())
		}
	}
	w.T.Cleanup(func() {
		if w.T.Failed() {
			w.T.Logf("stderr:\n%s", errs.Bytes())
		}
	})
	return all
}

// What the hub does with a call if the entry has no key arguments.
const (
	passes  = ""                          // and the server gets what the client sent
	denied  = "Access denied: Path '"     // what the arguments may be read as is outside
	misfits = "Invalid arguments for the" // no lossless reading, so it is refused as the schema says
	twice   = "differs from that of"      // a second spelling of a declared name
)

// An argumentCase is a call of the lenient server, and what the hub does with it.
type argumentCase struct {
	tool, args string
	hub        string // one of the above
	strictly   bool   // it fits the schema as it stands
	refused    bool   // the server itself refuses it: a control
}

var argumentCases = map[string]argumentCase{
	"as the schema says": {"find", `{"query":"a","limit":5,"score":0.5,"deep":true,"tags":["a"],"ids":[1]}`, passes, true, false},

	"an integer in a string":           {"find", `{"query":"a","limit":"5"}`, passes, false, false},
	"zero in a string":                 {"find", `{"query":"a","limit":"0"}`, passes, false, false},
	"a whole number with a point":      {"find", `{"query":"a","limit":"5.0"}`, passes, false, false},
	"an exponent in a string":          {"find", `{"query":"a","limit":"1e2"}`, passes, false, false},
	"a number in a string":             {"find", `{"query":"a","score":"-0.25"}`, passes, false, false},
	"true in a string":                 {"find", `{"query":"a","deep":"true"}`, passes, false, false},
	"false in a string":                {"find", `{"query":"a","deep":"false"}`, passes, false, false},
	"all at once":                      {"find", `{"query":"a","limit":"5","score":"1","deep":"true","tags":"[\"a\"]","ids":"[1]","mode":null,"more":{}}`, passes, false, false},
	"a list in a string":               {"find", `{"query":"a","tags":"[\"a\",\"b c\"]"}`, passes, false, false},
	"an empty list in a string":        {"find", `{"query":"a","tags":"[]"}`, passes, false, false},
	"a list of numbers in a string":    {"find", `{"query":"a","ids":"[1, 2]"}`, passes, false, false},
	"a list over lines":                {"find", `{"query":"a","ids":"[\n  1,\n  2\n]\n"}`, passes, false, false},
	"numbers of a list in strings":     {"find", `{"query":"a","ids":["1","2"]}`, passes, false, false},
	"null for a number":                {"find", `{"query":"a","limit":null}`, passes, false, false},
	"null for one of a few words":      {"find", `{"query":"a","mode":null}`, passes, false, false},
	"null for a list":                  {"find", `{"query":"a","tags":null}`, passes, false, false},
	"null for all":                     {"find", `{"query":"a","limit":null,"score":null,"deep":null,"mode":null,"tags":null,"ids":null}`, passes, false, false},
	"a member too many":                {"find", `{"query":"a","reason":"because"}`, passes, false, false},
	"several members too many":         {"find", `{"query":"a","reason":"because","_meta":{"x":[1]},"random_string":"dummy"}`, passes, false, false},
	"a member with blanks in its name": {"find", `{"query":"a","the reason":"because"}`, passes, false, false},

	"paths in a string":               {"show", `{"paths":"[\"hello.txt\",\"sub/deep.txt\"]"}`, passes, false, false},
	"a path in the root, in a string": {"show", `{"paths":"[\"{project}/hello.txt\"]"}`, passes, false, false},
	"a path with blanks":              {"show", `{"paths":"[\"{project}/my file, v2.txt\"]"}`, passes, false, false},
	"null beside a path":              {"show", `{"paths":["hello.txt"],"title":null}`, passes, false, false},
	"a path in a member too many":     {"show", `{"paths":["hello.txt"],"base":"{project}/sub"}`, passes, false, false},

	"an object in a string":           {"change", `{"options":"{\"depth\":2,\"note\":\"a\"}"}`, passes, false, false},
	"an empty object in a string":     {"change", `{"options":"{}"}`, passes, false, false},
	"a path in an object in a string": {"change", `{"options":"{\"target_path\":\"sub/deep.txt\"}"}`, passes, false, false},
	"a number below":                  {"change", `{"options":{"depth":"2"}}`, passes, false, false},
	"null below":                      {"change", `{"options":{"depth":null,"target_path":"hello.txt"}}`, passes, false, false},
	"a member too many below":         {"change", `{"options":{"depth":2,"why":"x"}}`, passes, false, false},
	"objects of a list":               {"change", `{"steps":[{"depth":"1"},{"depth":2,"note":null},{"x":1}]}`, passes, false, false},
	"a list of objects in a string":   {"change", `{"steps":"[{\"depth\":1,\"note\":\"a, b\"},{\"target_path\":\"sub/deep.txt\"}]"}`, passes, false, false},

	"a number for one of two types": {"either", `{"value":"5"}`, passes, false, false},
	"a constant in a string":        {"either", `{"kind":"7"}`, passes, false, false},

	"a default that is not needed": {"save", `{"out_dir":"{project}/sub","n":"5"}`, passes, false, false},

	"a number beside a loose object": {"open_ended", `{"limit":"5","file_path":"hello.txt"}`, passes, false, false},
	"an unknown member of one":       {"open_ended", `{"limit":5,"colour":"red"}`, passes, false, false},

	// What works directly and must not work: a path outside, wherever it stands.
	"a path outside in a list in a string":  {"show", `{"paths":"[\"hello.txt\",\"{outside}/secret.txt\"]"}`, denied, false, false},
	"a climbing path in a list in a string": {"show", `{"paths":"[\"../outside/secret.txt\"]"}`, denied, false, false},
	"a link in a list in a string":          {"show", `{"paths":"[\"link-out/secret.txt\"]"}`, denied, false, false},
	"an escaped path in a list in a string": {"show", `{"paths":"[\"\\u002e\\u002e/outside/secret.txt\"]"}`, denied, false, false},
	"a file URI in a list in a string":      {"show", `{"paths":"[\"file://{outside}/secret.txt\"]"}`, denied, false, false},
	"a path outside, in an object":          {"change", `{"options":"{\"target_path\":\"{outside}/secret.txt\"}"}`, denied, false, false},
	"a path outside, in a list of objects":  {"change", `{"steps":"[{\"target_path\":\"../outside\"}]"}`, denied, false, false},
	"a path outside beside a number":        {"change", `{"options":{"target_path":"{outside}/secret.txt","depth":"5"}}`, denied, false, false},
	"a default outside for null":            {"save", `{"out_dir":null}`, denied, false, false},
	"a default outside beside a number":     {"save", `{"n":"5"}`, denied, false, false},
	"a member too many that is a path":      {"find", `{"query":"a","path":"{outside}/secret.txt"}`, denied, false, false},
	"a path below a member too many":        {"find", `{"query":"a","more":{"files":["{outside}/secret.txt"]}}`, denied, false, false},
	"a name of a member that is a path":     {"find", `{"query":"a","{outside}/secret.txt":1}`, denied, false, false},
	"a link whose name is a number":         {"save", `{"out_dir":"sub","n":"77"}`, denied, false, false},

	// What works directly and has two meanings to two servers.
	"a second spelling by case":       {"open_ended", `{"file_path":"hello.txt","File_Path":"x"}`, twice, false, false},
	"a second spelling by hyphens":    {"open_ended", `{"file_path":"hello.txt","file-path":"x"}`, twice, false, false},
	"a second spelling in camel case": {"open_ended", `{"filePath":"hello.txt"}`, twice, false, false},

	// What works directly, and has no lossless reading.
	"blanks around a number":        {"find", `{"query":"a","limit":" 5 "}`, misfits, false, false},
	"a leading zero":                {"find", `{"query":"a","limit":"05"}`, misfits, false, false},
	"hexadecimal":                   {"find", `{"query":"a","limit":"0x10"}`, misfits, false, false},
	"nothing for a number":          {"find", `{"query":"a","limit":""}`, misfits, false, false},
	"a boolean for a number":        {"find", `{"query":"a","limit":true}`, misfits, false, false},
	"strings in a list in a string": {"find", `{"query":"a","ids":"[\"1\"]"}`, misfits, false, false},
	"two names in a string":         {"change", `{"options":"{\"target_path\":\"a\",\"target_path\":\"b\"}"}`, misfits, false, false},
	"a member too many in a string": {"change", `{"options":"{\"depth\":1,\"x\":1}"}`, misfits, false, false},
	"null in a string":              {"change", `{"options":"{\"depth\":null}"}`, misfits, false, false},
	"anything":                      {"anything", `{"n":["x"]}`, misfits, false, false},

	// Controls that the server refuses too.
	"a word for a number":         {"find", `{"query":"a","limit":"five"}`, misfits, false, true},
	"a word for a boolean":        {"find", `{"query":"a","deep":"maybe"}`, misfits, false, true},
	"text for a list":             {"find", `{"query":"a","tags":"a, b"}`, misfits, false, true},
	"an object for a list":        {"find", `{"query":"a","tags":"{}"}`, misfits, false, true},
	"null for what is required":   {"find", `{"query":null}`, misfits, false, true},
	"nothing of what is required": {"find", `{"limit":"5"}`, misfits, false, true},
	"a list of others":            {"find", `{"query":"a","tags":"[1]"}`, misfits, false, true},
	"a fraction for an integer":   {"find", `{"query":"a","limit":"5.5"}`, misfits, false, true},
}

// TestArgumentsThatServersRead: what a server reads although its schema does not say so passes the hub, unchanged, unless what it may be
// read as is a path outside, or has more than one reading.
func TestArgumentsThatServersRead(t *testing.T) {
	t.Parallel()
	n := world.RequireNode(t)
	w := world.New(t)
	program := []string{world.Source("e2e", "tolerance", "lenient-server.mjs"), w.Path("outside", "new")}
	world.Symlink(t, w.Outside, w.Path("project", "77"))
	entry := func(mode string) obj {
		e := world.Free(obj{"command": n.Program, "args": program})
		if mode != "" {
			e["arguments"] = mode
		}
		return e
	}
	config := w.Config(obj{"usual": entry(""), "strict": entry("strict"), "off": entry("off")})
	fill := strings.NewReplacer("{project}", jsonText(t, w.Project), "{outside}", jsonText(t, w.Outside))
	var names []string
	var direct, hub []obj
	for name, c := range argumentCases {
		names = append(names, name)
		args := json.RawMessage(fill.Replace(c.args))
		direct = append(direct, obj{"name": c.tool, "arguments": args})
		for _, server := range []string{"usual", "strict", "off"} {
			hub = append(hub, obj{"name": server + "__" + c.tool, "arguments": args})
		}
	}
	straight := call(w, n, n.Program, program, direct)
	through := call(w, n, world.Hub(t), []string{"serve", "--config", config, "--roots", w.Project}, hub)
	for _, sdk := range []string{"v1", "v2"} {
		for i, name := range names {
			c, alone := argumentCases[name], straight[sdk][i]
			usual, strict, off := through[sdk][3*i], through[sdk][3*i+1], through[sdk][3*i+2]
			if alone.passed() == c.refused {
				t.Errorf("%s, %s: directly %+v: this shows nothing", sdk, name, alone)
				continue
			}
			switch {
			case c.hub == passes && cmp.Diff(alone, usual) != "":
				t.Errorf("%s, %s: %s", sdk, name, cmp.Diff(alone, usual))
			case c.hub != passes && (usual.passed() || !strings.Contains(usual.Text+usual.Error, c.hub)):
				t.Errorf("%s, %s: %+v, want %q", sdk, name, usual, c.hub)
			}
			if strict.passed() != (c.strictly && c.hub == passes) || !c.strictly && c.hub != twice && !strings.Contains(strict.Text, misfits) {
				t.Errorf("%s, %s: if arguments have to fit: %+v", sdk, name, strict)
			}
			// Without the schema nothing is known of its defaults; a list of paths with slashes is a pattern that may match anything.
			if strings.Contains(name, "default") || strings.Contains(c.args, `"paths":"[`) || strings.Contains(c.args, `"steps":"[`) {
				continue
			}
			if want := c.hub != denied && !c.refused; off.passed() != want || want && cmp.Diff(alone, off) != "" {
				t.Errorf("%s, %s: if the schema is the server's business: %+v", sdk, name, off)
			}
		}
	}
}

// jsonText returns a text as it stands between the quotes of JSON.
func jsonText(t testing.TB, s string) string {
	t.Helper()
	b, err := json.Marshal(s)
	world.Must(t, err)
	return strings.Trim(string(b), `"`)
}
