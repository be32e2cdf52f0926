package nesting

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/tailscale/hujson"
)

func TestTooDeep(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text string
		want int
	}{
		{`[[[]]]`, -1}, {`[[[[]]]]`, 3}, {`{"a":{"b":{"c":{}}}}`, 15}, {`["[[[[["]`, -1}, {`["\"[[[["]`, -1}, {`["\\",[[[[`, 8},
		{"[ // [[[[\n[[ /* [[[[ */ ] /* [[[", -1}, {"[ // [[[[\n[[ /* [[[[ */ [ /*", 24}, {"[[[//\n[", 6}, {`[],[],[],[],[]`, -1}, {"", -1}, {`"`, -1}, {"/", -1},
	} {
		if got := TooDeep([]byte(c.text), 3); got != c.want {
			t.Errorf("%s: %d, want %d", c.text, got, c.want)
		}
	}
	if got := TooDeep([]byte(strings.Repeat("[", 4<<20)), 100); got != 100 {
		t.Error(got)
	}
}

// FuzzTooDeep: what is let pass is no deeper, by the parsers that come after.
func FuzzTooDeep(f *testing.F) {
	for _, s := range []string{`[[[[[[]]]]]]`, `{"a":[{"b":[{}]}]}`, `["[[[["]`, "// [\n[[[[[", "/* [ */[[[[[[", `"\\"[[[[[`, "}}}}[[[[[[", `[}[}[}[}[}[}`, "\"\n[[[[[[\"", "/[[[[[[[", `'[[[[[['`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		const most = 4
		if TooDeep([]byte(s), most) >= 0 {
			return
		}
		dec := jsontext.NewDecoder(strings.NewReader(s), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
		for {
			_, err := dec.ReadToken()
			if dec.StackDepth() > most {
				t.Fatalf("%q nests to %d", s, dec.StackDepth())
			}
			if err != nil {
				break
			}
		}
		if dec := json.NewDecoder(strings.NewReader(s)); dec != nil {
			depth := 0
			for {
				tok, err := dec.Token()
				if errors.Is(err, io.EOF) || err != nil {
					break
				}
				switch tok {
				case json.Delim('{'), json.Delim('['):
					depth++
				case json.Delim('}'), json.Delim(']'):
					depth--
				}
				if depth > most {
					t.Fatalf("%q nests to %d", s, depth)
				}
			}
		}
		if v, err := hujson.Parse([]byte(s + "\n")); err == nil && deep(v) > most {
			t.Fatalf("%q nests to %d with comments", s, deep(v))
		}
	})
}

func deep(v hujson.Value) int {
	most := 0
	switch t := v.Value.(type) {
	case *hujson.Object:
		for _, m := range t.Members {
			most = max(most, deep(m.Value))
		}
	case *hujson.Array:
		for _, e := range t.Elements {
			most = max(most, deep(e))
		}
	default:
		return 0
	}
	return most + 1
}
