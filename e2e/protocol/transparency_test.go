package protocol

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"mcphub/e2e/ide"
	"mcphub/e2e/seeds"
	"mcphub/e2e/world"
)

// What passes through the hub is the same JSON afterwards, whatever it is: results, errors, progress, _meta, schemas, ids. The
// same number is one with the same digits, and a string one with the same escapes. MCPHUB_LONG_CASES says how many of each.
func TestTransparencyProperty(t *testing.T) {
	beside := func(property func(*rapid.T)) func(*testing.T) {
		return func(t *testing.T) { seeds.CheckCases(t, seeds.Cases(t, 200), property) }
	}
	for name, open := range map[string]func(*world.World) sender{
		"stdio": func(w *world.World) sender {
			return talking(w, w.Config(obj{"rec": w.Recorder("rec", "-offers")}), "rec__")
		},
		"http": func(w *world.World) sender { return postsTo(w, web(w), "rec__") },
		"stdio, a hub over http": func(w *world.World) sender {
			far := web(w)
			return talking(w, w.Config(obj{"far": obj{"url": far, "headers": world.BearingHeaders(w.T, far), "era": "legacy"}}), "far__rec__")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := world.New(t)
			c := open(w)
			x := &exchanges{c: c, taken: map[string]bool{}}
			for id := range 1000 { // those of the handshake are among them
				x.taken[strconv.Itoa(id)] = true
			}
			t.Run("answers", beside(x.answers))
			t.Run("other answers", beside(x.otherAnswers))
			t.Run("questions", beside(x.questions))
			t.Run("params", beside(x.params))
			t.Run("lists", x.lists)
		})
	}
}

// exchanges are what the property is about.
type exchanges struct {
	c      sender
	taken  map[string]bool // ids
	listed int             // how often
}

func (x *exchanges) answers(t *rapid.T) {
	told := outcome(wild).Draw(t, "outcome")
	before := rapid.SliceOfN(report(), 0, 4).Draw(t, "progress")
	coded := []string{}
	for _, members := range before {
		coded = append(coded, hex.EncodeToString([]byte(members)))
	}
	token, args := x.id(t, "token"), encode(t, obj{"hex": hex.EncodeToString([]byte(told)), "before": coded})
	got := x.request(t, "tools/call", fmt.Sprintf(`{"name":"%ssay","_meta":{"progressToken":%s},"arguments":%s}`, x.c.prefix(), token, args))
	if len(got) != len(before)+1 {
		t.Fatalf("%d messages came, want %d and the answer, which is %s", len(got), len(before), got[len(got)-1].Raw)
	}
	for i, members := range before {
		check(t, "progress", got[i].Params, `{"progressToken":`+token+`,`+members+`}`)
	}
	checkOutcome(t, got[len(before)], told)
}

// otherAnswers are those to what is no call of a tool.
func (x *exchanges) otherAnswers(t *rapid.T) {
	told := outcome(wild).Draw(t, "outcome")
	digits := hex.EncodeToString([]byte(told))
	var got []ide.Message
	switch method := rapid.SampledFrom([]string{"prompts/get", "resources/read", "completion/complete"}).Draw(t, "method"); method {
	case "prompts/get":
		got = x.request(t, method, fmt.Sprintf(`{"name":"%smade_up","arguments":{"hex":"%s"}}`, x.c.prefix(), digits))
	case "resources/read":
		got = x.request(t, method, fmt.Sprintf(`{"uri":"made:up:%s"}`, digits))
	case "completion/complete":
		got = x.request(t, method, fmt.Sprintf(`{"ref":{"type":"ref/prompt","name":"%smade_up"},"argument":{"name":"hex","value":"%s"}}`, x.c.prefix(), digits))
	}
	checkOutcome(t, got[len(got)-1], told)
}

// questions are what a child asks, under an id of any kind, and what its client answers: both arrive as they were sent, but for
// the id, which is each hub's own, and which comes back to the child as it was.
func (x *exchanges) questions(t *rapid.T) {
	method := rapid.SampledFrom([]string{"sampling/createMessage", "elicitation/create"}).Draw(t, "method")
	params := `{"message":"?","_meta":` + wild.object(2).Draw(t, "_meta") + `,"requestedSchema":` + schema().Draw(t, "schema") +
		`,"x-more":` + wild.value(3).Draw(t, "more") + `}`
	id, told := x.id(t, "id of the question"), outcome(strict).Draw(t, "answer")
	members := rapid.Permutation([]string{`"id":` + id, `"method":"` + method + `"`, `"params":` + params}).Draw(t, "order")
	var asked []string
	call, args := x.id(t, "id"), encode(t, obj{"hex": hex.EncodeToString([]byte(strings.Join(members, ",")))})
	got, err := x.c.converse(call, "tools/call", fmt.Sprintf(`{"name":"%sask","arguments":%s}`, x.c.prefix(), args), func(m string, p []byte) string {
		asked = append(asked, m, string(p))
		return told
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(asked) != 2 || asked[0] != method {
		t.Fatalf("asked %q, want %s; answered %s", asked, method, got[len(got)-1].Raw)
	}
	check(t, "question", asked[1], params)
	var result struct {
		StructuredContent json.RawMessage
	}
	if err := json.Unmarshal(got[len(got)-1].Result, &result); err != nil || result.StructuredContent == nil {
		t.Fatalf("no answer: %s", got[len(got)-1].Raw)
	}
	m := ide.Parse(result.StructuredContent)
	if string(m.ID) != id {
		t.Fatalf("the id of the question %s came back as %s", id, m.ID)
	}
	checkOutcome(t, m, told)
}

// outcome returns the member of an envelope that holds a result or an error.
func outcome(g grammar) *rapid.Generator[string] {
	return rapid.OneOf(rapid.Map(g.value(3), func(s string) string { return `"result":` + s }),
		rapid.Map(failure(g), func(s string) string { return `"error":` + s }))
}

func checkOutcome(t *rapid.T, m ide.Message, told string) {
	member, value, _ := strings.Cut(told, ":")
	if (m.Error != nil) != (member == `"error"`) {
		t.Fatalf("a result became an error, or the other way round: %s", m.Raw)
	}
	check(t, "answer", cmp.Or(string(m.Result), string(m.Error)), value)
}

// params is the other direction: what stands in a call reaches the child, which gives it back.
func (x *exchanges) params(t *rapid.T) {
	meta := rapid.SliceOfN(tame.member(2), 0, 3).Draw(t, "_meta")
	if rapid.Bool().Draw(t, "with token") {
		meta = append(meta, `"progressToken":`+x.id(t, "token"))
	}
	parts := rapid.Permutation([]string{`"name":"%s"`, `"arguments":` + escape(tame.object(3).Draw(t, "arguments")),
		`"_meta":{` + escape(distinct(meta)) + `}`, `"x-more":` + escape(tame.value(2).Draw(t, "more"))}).Draw(t, "order")
	params := `{` + strings.Join(parts, ",") + `}`
	got := x.request(t, "tools/call", fmt.Sprintf(params, x.c.prefix()+"reflect"))
	var result struct {
		StructuredContent json.RawMessage
	}
	if err := json.Unmarshal(got[len(got)-1].Result, &result); err != nil || result.StructuredContent == nil {
		t.Fatalf("no reflection: %s", got[len(got)-1].Raw)
	}
	want := fmt.Sprintf(params, "reflect")
	// The token that the child sees is the hub's.
	var seen, sent struct {
		Meta struct{ ProgressToken json.RawMessage } `json:"_meta"`
	}
	if json.Unmarshal(result.StructuredContent, &seen) == nil && json.Unmarshal([]byte(want), &sent) == nil && sent.Meta.ProgressToken != nil {
		want = strings.Replace(want, `"progressToken":`+string(sent.Meta.ProgressToken), `"progressToken":`+string(seen.Meta.ProgressToken), 1)
	}
	check(t, "params", result.StructuredContent, want)
}

// lists has the child list tools with schemas that are valid and hold whatever a schema may hold: many at a time, since a
// change of the list takes its time.
func (x *exchanges) lists(t *testing.T) {
	const each = 100
	for series := range (seeds.Cases(t, 200) + each - 1) / each {
		entries := seeds.Example(t, rapid.SliceOfN(entry(), each, each), series)
		var all []string
		for i, e := range entries {
			all = append(all, fmt.Sprintf(e, fmt.Sprintf("made_up_%d_%d", series, i)))
		}
		args := world.Raw(t, obj{"hex": hex.EncodeToString([]byte(strings.Join(all, ",")))})
		_, err := x.c.request(fmt.Sprintf(`"set %d"`, series), "tools/call", fmt.Sprintf(`{"name":"%sset_tools","arguments":%s}`, x.c.prefix(), args))
		world.Must(t, err)
		last := fmt.Sprintf("%smade_up_%d_%d", x.c.prefix(), series, each-1)
		var listed map[string]json.RawMessage
		if !world.Within(world.WaitLimit, func() bool { listed = x.list(t); return listed[last] != nil }) {
			t.Fatalf("series %d: %s is never listed", series, last)
		}
		for i, e := range entries {
			name := fmt.Sprintf("%smade_up_%d_%d", x.c.prefix(), series, i)
			if err := same("the entry", listed[name], fmt.Sprintf(e, name)); err != nil {
				t.Errorf("series %d: %v", series, err)
			}
		}
	}
}

func (x *exchanges) list(t *testing.T) map[string]json.RawMessage {
	t.Helper()
	all := map[string]json.RawMessage{}
	for cursor := "{}"; cursor != ""; {
		x.listed++
		got, err := x.c.request(fmt.Sprintf(`"list %d"`, x.listed), "tools/list", cursor)
		world.Must(t, err)
		var page struct {
			Tools      []json.RawMessage
			NextCursor string
		}
		world.Must(t, json.Unmarshal(got[len(got)-1].Result, &page))
		for _, entry := range page.Tools {
			var tool struct{ Name string }
			world.Must(t, json.Unmarshal(entry, &tool))
			all[tool.Name] = entry
		}
		if cursor = page.NextCursor; cursor != "" {
			cursor = world.Raw(t, obj{"cursor": cursor})
		}
	}
	return all
}

// request sends one under an id of any kind, which must come back as it was.
func (x *exchanges) request(t *rapid.T, method, params string) []ide.Message {
	id := x.id(t, "id")
	got, err := x.c.request(id, method, params)
	if err != nil {
		t.Fatalf("%s %s: %v", method, params, err)
	}
	if last := got[len(got)-1]; string(last.ID) != id {
		t.Fatalf("the id %s came back as %s", id, last.ID)
	}
	return got
}

// id draws one that has not been used: a number or a string.
func (x *exchanges) id(t *rapid.T, label string) string {
	id := rapid.OneOf(tame.text(), rapid.Map(rapid.Int64(), func(n int64) string { return strconv.FormatInt(n, 10) }),
		rapid.StringMatching(`-?[1-9][0-9]{18,40}`)).Filter(func(s string) bool { return !x.taken[s] }).Draw(t, label)
	x.taken[id] = true
	return id
}

// same wants the same JSON, byte for byte but for blanks between the tokens.
func same[B string | json.RawMessage](what string, got B, want string) error {
	var a, b bytes.Buffer
	if err := json.Compact(&a, []byte(got)); err != nil {
		return fmt.Errorf("%s: %w: %q, which should be\n%s", what, err, got, want)
	}
	if err := json.Compact(&b, []byte(want)); err != nil {
		return fmt.Errorf("the test itself: %w: %s", err, want)
	}
	if a.String() != b.String() {
		return fmt.Errorf("%s came as\n%s\nnot as it was sent:\n%s", what, a.String(), b.String())
	}
	return nil
}

// check is same within a property.
func check[B string | json.RawMessage](t *rapid.T, what string, got B, want string) {
	if err := same(what, got, want); err != nil {
		t.Fatal(err)
	}
}

// The control: JSON that was decoded and encoded again is not the same.
func TestTransparencyNoticesReencoding(t *testing.T) {
	t.Parallel()
	noticed := map[string]int{}
	for n := range 200 {
		for name, g := range map[string]*rapid.Generator[string]{"result": wild.object(3), "arguments": tame.object(3), "entry": entry()} {
			text := strings.ReplaceAll(seeds.Example(t, g, n), `"%s"`, `"n"`)
			var v any
			// What cannot be decoded, as a number that no float64 holds, does not even arrive.
			again := ""
			if json.Unmarshal([]byte(text), &v) == nil {
				again = world.Raw(t, v)
			}
			if same(name, again, text) != nil {
				noticed[name]++
			}
			world.Must(t, same(name, " "+text+" ", text))
		}
	}
	for _, name := range []string{"result", "arguments", "entry"} {
		if noticed[name] < 50 {
			t.Errorf("of 200 that were encoded again %d were noticed: %s", noticed[name], name)
		}
	}
}

func encode(t *rapid.T, v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// escape keeps a text as it is in a format.
func escape(s string) string { return strings.ReplaceAll(s, "%", "%%") }

// grammar makes JSON texts.
type grammar struct {
	pieces []string // of strings
	twice  bool     // names may come twice in one object
}

// tame is what a client may send and what names no path: the hub looks for these in the arguments. listed is what a tool may
// hold: one with a name twice or a NUL in a name is not offered, and list-tools says so. wild is what a child may say, strict
// what a client may answer: it is read strictly, so half a surrogate pair is an error to the one who asked.
var (
	tame   = grammar{pieces: []string{"a", "b", "Z", "0", " ", "é", "😀", `\u0041`, `\ud83d\ude00`, `\"`, `\n`, `\u2028`, "\u2028", "%"}}
	listed = grammar{pieces: append([]string{"/", `\/`, "..", "~", `\\`, `\ud83d`, `\udc00`, `\u001b[31m`, "<&>", "\u007f"}, tame.pieces...)}
	strict = grammar{pieces: append([]string{"/", `\/`, "..", "~", `\\`, `\u0000`, `\u001b[31m`, "<&>"}, tame.pieces...)}
	wild   = grammar{pieces: append([]string{`\u0000`}, listed.pieces...), twice: true}
)

func (g grammar) text() *rapid.Generator[string] {
	return rapid.Map(rapid.SliceOfN(rapid.SampledFrom(g.pieces), 0, 6), func(p []string) string { return `"` + strings.Join(p, "") + `"` })
}

var atoms = rapid.SampledFrom([]string{"null", "true", "false", "0", "-0", "1", "1.0", "1.50", "1E+2", "1e-400", "1e400", "-7", "9007199254740993",
	"123456789012345678901234567890", "0.1234567890123456789"})

func (g grammar) value(depth int) *rapid.Generator[string] {
	if depth == 0 {
		return rapid.OneOf(atoms, g.text())
	}
	return rapid.OneOf(atoms, g.text(), g.array(depth), g.object(depth))
}

func (g grammar) array(depth int) *rapid.Generator[string] {
	return rapid.Map(rapid.SliceOfN(g.value(depth-1), 0, 4), func(v []string) string { return `[` + strings.Join(v, " , ") + `]` })
}

func (g grammar) member(depth int) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string { return g.text().Draw(t, "name") + ":" + g.value(depth-1).Draw(t, "value") })
}

func (g grammar) object(depth int) *rapid.Generator[string] {
	return rapid.Map(rapid.SliceOfN(g.member(depth), 0, 4), func(m []string) string {
		if g.twice {
			return `{ ` + strings.Join(m, ",") + `}`
		}
		return `{` + distinct(m) + `}`
	})
}

// distinct joins the members that have a name of their own.
func distinct(members []string) string {
	var all []string
	seen := map[string]bool{}
	for _, m := range members {
		var name string
		d := json.NewDecoder(strings.NewReader("[" + m[:strings.Index(m, `":`)+1] + "]"))
		var one []string
		if d.Decode(&one) == nil && len(one) == 1 {
			name = one[0]
		}
		if !seen[name] {
			seen[name] = true
			all = append(all, m)
		}
	}
	return strings.Join(all, ",")
}

// failure returns an error object.
func failure(g grammar) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		members := []string{`"code":` + strconv.Itoa(rapid.IntRange(-40000, 40000).Draw(t, "code")), `"message":` + g.text().Draw(t, "message")}
		if rapid.Bool().Draw(t, "data?") {
			members = append(members, `"data":`+g.value(3).Draw(t, "data"))
		}
		if rapid.Bool().Draw(t, "more?") {
			members = append(members, `"x-more":`+g.value(1).Draw(t, "more"))
		}
		return `{` + strings.Join(rapid.Permutation(members).Draw(t, "order"), ",") + `}`
	})
}

// report returns what a progress notification holds beside its token.
func report() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		return `"progress":` + rapid.SampledFrom([]string{"1", "0.50", "1E+2", "9007199254740993"}).Draw(t, "progress") + `,"message":` +
			wild.text().Draw(t, "message") + `,"x-more":` + wild.value(2).Draw(t, "more")
	})
}

// entry returns a tool as a child lists it, with %s for its name.
func entry() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		parts := []string{`"name":"%s"`, `"inputSchema":` + escape(schema().Draw(t, "input")), `"outputSchema":` + escape(schema().Draw(t, "output")),
			`"description":` + escape(tame.text().Draw(t, "description")), `"annotations":` + escape(listed.object(2).Draw(t, "annotations")),
			`"_meta":` + escape(listed.object(2).Draw(t, "_meta")), `"x-more":` + escape(listed.value(2).Draw(t, "more"))}
		return `{` + strings.Join(rapid.Permutation(parts).Draw(t, "order"), ",") + `}`
	})
}

// schema returns a valid one with every kind of value if a schema may hold any.
func schema() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		one := listed.value(2)
		members := []string{`"type":"object"`, `"default":` + one.Draw(t, "default"), `"examples":[` + one.Draw(t, "example") + `]`,
			`"properties":{"p":{"const":` + one.Draw(t, "const") + `},"q":{"enum":[` + one.Draw(t, "enum") + `]},"r":{"maximum":1.50,"minimum":-1E+2}}`,
			`"description":` + tame.text().Draw(t, "description"), `"x-vendor":` + one.Draw(t, "vendor"), `"$comment":` + tame.text().Draw(t, "comment")}
		return `{` + strings.Join(rapid.Permutation(members).Draw(t, "order"), ",") + `}`
	})
}
