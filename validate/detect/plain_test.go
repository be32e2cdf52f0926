package detect

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"mcphub/e2e/seeds"
	"mcphub/validate/machine"
	"mcphub/validate/strictjson"
)

// plainSchema declares arguments of every class that a reader of plain arguments has to tell apart.
const plainSchema = `{"type":"object","properties":{
	"text":{"type":"string"},"name":{"type":"string","maxLength":12},"label":{"enum":["a","b"]},"n":{"type":"integer","minimum":0},"any":{},
	"path":{"type":"string"},"query":{"type":"string"},"command":{"type":"string"},"old":{"type":"string"},"new":{"type":"string"},"list":{"type":"array"},
	"on":{"type":"boolean"},"C:/x":{"type":"string"},"Text":{"type":"string"}},"required":["n"]}`

// searches returns the search by a reader and the one without.
func searches(t testing.TB) (s *Searcher, with, without *Tool) {
	t.Helper()
	m := machine.New(nil, "", nil, nil)
	s = &Searcher{Machine: &m, Depth: strictjson.DefaultDepth, Size: strictjson.DefaultSize}
	with = &Tool{}
	if err := with.UseSchema([]byte(plainSchema), strictjson.DefaultDepth); err != nil {
		t.Fatal(err)
	}
	if with.late != nil {
		with = with.late()
	}
	if with.plain == nil {
		t.Fatal("arguments of this tool are never read plainly, so nothing is tested")
	}
	bare := *with
	bare.plain = nil
	return s, with, &bare
}

// agrees checks that the search finds nothing in arguments in which the reader says that there is nothing.
func agrees(t interface {
	Fatalf(string, ...any)
}, s *Searcher, with, without *Tool, args []byte) (plain bool) {
	if !with.plain.fitsPlainly(args, &Names{}) {
		return false
	}
	r, err := s.Arguments(without, args)
	if err != nil || len(r.Findings) > 0 || len(r.Resources) > 0 {
		t.Fatalf("%q is read plainly, but has %v, %v", args, r.Findings, err)
	}
	return true
}

func TestPlainArguments(t *testing.T) {
	t.Parallel()
	s, with, without := searches(t)
	for args, want := range map[string]bool{
		`{"n":1}`: true, `{"n": 1, "text": "hello (world) [1]; it's fine!"}`: true, ` {"n":12,"on":true,"any":null,"label":"a"} `: true, `{"n":3,"path":7}`: false,
		`{}`: false, ``: false, `null`: false, `{"n":1,"n":1}`: false, `{"n":01}`: false, `{"n":-1}`: false, `{"n":1.0}`: false, `{"n":1e3}`: false, `{"n":1,}`: false,
		`{"n":1}}`: false, `{"n":1}{`: false, `{"n":1,"x":1}`: false, `{"n":1,"label":"c"}`: false, `{"n":1,"name":"much too long for it"}`: false,
		`{"n":1,"text":"a/b"}`: false, `{"n":1,"text":"a\u002fb"}`: false, `{"n":1,"text":".."}`: false, `{"n":1,"text":"-o x"}`: false, `{"n":1,"text":"@x"}`: false,
		`{"n":1,"text":"rename from x"}`: false, `{"n":1,"text":"{a"}`: false, `{"n":1,"path":"a"}`: false, `{"n":1,"old":"a","new":"b"}`: false, `{"n":1,"command":"a"}`: false,
		`{"n":1,"C:/x":"a"}`: false, `{"n":1,"text":"é"}`: false, `{"n":1,"text":"a` + "\n" + `"}`: false, `{"n":1,"list":[]}`: false, `{"n":1,"on":tru}`: false, `{"n":1,"any":nul}`: false,
	} {
		if got := agrees(t, s, with, without, []byte(args)); got != want {
			t.Errorf("%s: read plainly: %v, want %v", args, got, want)
		}
	}
}

func TestPlainArgumentsHoldNothing(t *testing.T) {
	t.Parallel()
	s, with, without := searches(t)
	names := slices.Sorted(maps.Keys(with.classes))
	plain := 0
	seeds.Check(t, func(t *rapid.T) {
		args := []byte(`{"n":7`)
		for range rapid.IntRange(0, 4).Draw(t, "members") {
			args = append(args, rapid.SampledFrom([]string{",", ", ", " ,"}).Draw(t, "comma")...)
			name := rapid.OneOf(rapid.SampledFrom(append(names, "n", "text", "name")), rapid.StringN(0, 4, 8)).Draw(t, "name")
			args = append(append(args, quoted(name)...), rapid.SampledFrom([]string{":", ": ", " :"}).Draw(t, "colon")...)
			value := rapid.OneOf(
				rapid.SampledFrom([]string{"1", "0", "-3", "true", "null", "[]", "{}", "1.5", "12345678901234567890", `""`}),
				rapid.Map(rapid.StringMatching(`[ a-zA-Z0-9.,;!?()'<>{}\[\]*+&#^|_-]{0,20}`), quoted),
				rapid.Map(rapid.SampledFrom([]string{"/etc/passwd", "..", "a/b", "file:x", "~", "-I/x", "@x", "$HOME", "%2e", "rename from x", "--- a", "{\"a\":1}", "x=y"}), quoted),
				rapid.Map(rapid.String(), quoted),
			).Draw(t, "value")
			args = append(args, value...)
		}
		args = append(args, '}')
		if agrees(t, s, with, without, args) {
			plain++
		}
	})
	if plain == 0 {
		t.Error("no arguments were read plainly, so nothing was tested")
	}
}

func quoted(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func FuzzPlainArguments(f *testing.F) {
	s, with, without := searches(f)
	f.Add([]byte(`{"n":1,"text":"hello"}`))
	f.Add([]byte(`{"n": 1, "name": "x", "label": "a", "any": null, "on": false}`))
	f.Fuzz(func(t *testing.T, args []byte) { agrees(t, s, with, without, args) })
}

// TestPlainArgumentsCostNothing: they are the most of all calls.
func TestPlainArgumentsCostNothing(t *testing.T) {
	s, with, _ := searches(t)
	args := []byte(`{"n":12,"text":"hello, how are you?"}`)
	if n := testing.AllocsPerRun(100, func() {
		if _, err := s.Arguments(with, args); err != nil {
			t.Fatal(err)
		}
	}); n > 0 {
		t.Errorf("%v allocations, want none", n)
	}
}
