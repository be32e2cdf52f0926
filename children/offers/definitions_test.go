package offers

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/rs/zerolog"
	"pgregory.net/rapid"

	"mcphub/e2e/seeds"
)

// someDefinitions returns the definitions of one hub; the folder outlives it.
func someDefinitions(dir string) (*Definitions, *bytes.Buffer) {
	log := &bytes.Buffer{}
	return NewDefinitions(dir, zerolog.New(log)), log
}

func TestRedefinedToolsAreFound(t *testing.T) {
	t.Parallel()
	const was = `{"name":"a","title":"T","description":"reads","inputSchema":{"type":"object","properties":{"p":{"type":"string"},"q":{"enum":["x","y"]}},"required":["p","q"]},"annotations":{"readOnlyHint":true}}`
	cases := []struct {
		name, now string
		parts     []string
	}{
		{"nothing", was, nil},
		{"blanks", strings.ReplaceAll(was, ",", " ,\n\t"), nil},
		{"escapes", strings.ReplaceAll(was, "reads", `\u0072eads`), nil},
		{"order", `{"annotations":{"readOnlyHint":true},"description":"reads","title":"T","inputSchema":{"required":["q","p"],"properties":{"q":{"enum":["y","x"]},"p":{"type":"string"}},"type":"object"},"name":"a"}`, nil},
		{"what nobody goes by", strings.Replace(was, "{", `{"_meta":{"x":1},"icons":[],`, 1), nil},
		{"description", strings.Replace(was, "reads", "reads, and sends home", 1), []string{"description"}},
		{"title", strings.Replace(was, `"T"`, `"U"`, 1), []string{"title"}},
		{"a title that is gone", strings.Replace(was, `"title":"T",`, "", 1), []string{"title"}},
		{"schema", strings.Replace(was, `"enum"`, `"const"`, 1), []string{"inputSchema"}},
		{"a description in the schema", strings.Replace(was, `"p":{`, `"p":{"description":"the user's key",`, 1), []string{"inputSchema"}},
		{"one more in a list", strings.Replace(was, `"x"`, `"x","z"`, 1), []string{"inputSchema"}},
		{"one twice", strings.Replace(was, `"x"`, `"x","x"`, 1), []string{"inputSchema"}},
		{"annotations and an output", strings.Replace(was, `true}`, `false},"outputSchema":{}`, 1), []string{"outputSchema", "annotations"}},
		{"another tool", strings.Replace(was, `"a"`, `"b"`, 1), nil},
	}
	entry := []string{"kid", "", "/bin/kid"}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "definitions")
			d, log := someDefinitions(dir)
			if got := d.Compare(entry, someOffer(was)); got != nil {
				t.Fatalf("the first time: %v", got)
			}
			if got := d.Compare(entry, someOffer(was)); got != nil {
				t.Fatalf("the same again: %v", got)
			}
			var want []Redefinition
			if c.parts != nil {
				want = []Redefinition{{"a", c.parts}}
			}
			if list, err := os.ReadDir(dir); len(list) > 0 {
				t.Fatalf("a start waits for the disk: %v, %v", list, err)
			}
			d.Keep(entry)
			// A hub that starts later finds it by what is on the disk, one that runs by what it saw.
			later, _ := someDefinitions(dir)
			if got := later.Compare(entry, someOffer(c.now)); !reflect.DeepEqual(got, want) {
				t.Errorf("in the next run: %v, want %v", got, want)
			}
			if got := d.Compare(entry, someOffer(c.now)); !reflect.DeepEqual(got, want) {
				t.Errorf("in this run: %v, want %v", got, want)
			}
			if got := d.Compare(entry, someOffer(was)); got != nil {
				t.Errorf("as it was once: %v", got)
			}
			if log.Len() > 0 {
				t.Error(log)
			}
		})
	}
}

func TestDefinitionsOfAnotherEntryBeginAnew(t *testing.T) {
	t.Parallel()
	d, _ := someDefinitions("")
	one, two := someOffer(`{"name":"a","description":"1"}`), someOffer(`{"name":"a","description":"2"}`)
	d.Compare([]string{"kid", "", "x", "pkg@1"}, one)
	if got := d.Compare([]string{"kid", "", "x", "pkg@2"}, two); got != nil {
		t.Error(got)
	}
	if got := d.Compare([]string{"kid", "", "x", "pkg@1"}, two); len(got) != 1 { // also if the first is not written down yet
		t.Error("the control: it was not found")
	}
	twice := someOffer(`{"name":"t","description":"1"}`, `{"name":"t","description":"2"}`)
	for range 3 {
		if got := d.Compare([]string{"odd"}, twice); got != nil {
			t.Error("of two tools with a name the first counts:", got)
		}
	}
}

func TestDamagedDefinitionsAreToldOf(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "definitions")
	entry := []string{"kid"}
	d, _ := someDefinitions(dir)
	d.Compare(entry, someOffer(`{"name":"a"}`))
	d.Keep(entry)
	path := d.files.offerFile(definitionsKey(entry))
	for _, text := range []string{"", "[]", "null x", strings.Repeat("[", 1<<20), `{"a":[{"description":7}]}`} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		again, log := someDefinitions(dir)
		if got := again.Compare(entry, someOffer(`{"name":"a"}`)); got != nil || !strings.Contains(log.String(), "is not noticed") {
			t.Errorf("%.20q: %v, log %s", text, got, log)
		}
	}
}

// Whatever is in a value, only its sense counts; and depth takes no stack.
func TestSenseProperty(t *testing.T) {
	t.Parallel()
	seeds.Check(t, func(t *rapid.T) {
		raw, turned := drawSense(t, 4)
		if senseDigest([]byte(raw)) != senseDigest([]byte(turned)) {
			t.Fatalf("%s\n%s", raw, turned)
		}
		if other := strings.Replace(raw, "1", "2", 1); other != raw && senseDigest([]byte(raw)) == senseDigest([]byte(other)) {
			t.Fatalf("%s\n%s", raw, other)
		}
	})
	deep := strings.Repeat("[", 9000) + strings.Repeat("]", 9000)
	if senseDigest([]byte(deep)) == senseDigest([]byte("["+deep[:len(deep)/2]+"]]"+deep[len(deep)/2+1:])) {
		t.Error("all deep values are one")
	}
	senseDigest([]byte(strings.Repeat("[", 1<<20)))
}

// drawSense draws a value, written in two ways.
func drawSense(t *rapid.T, depth int) (raw, turned string) {
	kind := rapid.IntRange(0, 3).Draw(t, "kind")
	if kind < 2 || depth == 0 {
		s := rapid.SampledFrom([]string{`"a"`, `"1"`, `1`, `true`, `null`, `"é"`}).Draw(t, "scalar")
		return s, strings.ReplaceAll(s, "é", `\u00e9`)
	}
	var as, bs []string
	for i := range rapid.IntRange(0, 3).Draw(t, "n") {
		a, b := drawSense(t, depth-1)
		if kind == 2 {
			name := `"` + string(rune('a'+i)) + `":`
			a, b = name+a, name+" "+b
		}
		as, bs = append(as, a), append([]string{b}, bs...)
	}
	if kind == 2 {
		return "{" + strings.Join(as, ",") + "}", "{ " + strings.Join(bs, " ,") + "}"
	}
	return "[" + strings.Join(as, ",") + "]", "[" + strings.Join(bs, "\n,") + "]"
}
