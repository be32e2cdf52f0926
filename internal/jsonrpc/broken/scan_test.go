package broken

import (
	"slices"
	"strings"
	"testing"
)

func TestScan(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, line string
		want       string // ids of answers, by commas
	}{
		{"nothing", ``, ``},
		{"noise", `hello world`, ``},
		{"truncated in the result", `{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"te`, `7`},
		{"truncated behind the id", `{"jsonrpc":"2.0","id":7,`, `7`},
		{"truncated in the id", `{"jsonrpc":"2.0","result":{},"id":7`, ``},
		{"id last", `{"result":{"id":3,"a":[{"id":4}]},"jsonrpc":"2.0","id":7}x`, `7`},
		{"id in the middle", `{"jsonrpc":"2.0", "id" : 7 , "result":tru}`, `7`},
		{"string id", `{"result":1,,"id":"a\"b"}`, `"a\"b"`},
		{"log in front", `2026/01/01 INFO done {"jsonrpc":"2.0","id":7,"result":{}}`, `7`},
		{"log with brackets", `[INFO] {"id":7,"result":{}}`, `7`},
		{"log with a brace", `map{a:1 {"jsonrpc":"2.0","id":7,"result":{}}`, `7`},
		{"log with a quote", `it"s done {"jsonrpc":"2.0","id":7,"result":{}}`, `7`},
		{"log with a quote and blanks", `it"s done { "id" : 7, "result":{}}`, `7`},
		{"log in JSON", `{"level":"info","id":3}{"jsonrpc":"2.0","id":7,"result":{}}`, `7`},
		{"torn by another answer", `{"jsonrpc":"2.0","id":6,"result":{"text":"abc{"jsonrpc":"2.0","id":7,"result":{}}`, `6,7`},
		{"a notification in front", `{"jsonrpc":"2.0","method":"x","params":{"id":1}}{"jsonrpc":"2.0","id":7,"result":{}}`, `7`},
		{"a torn notification in front", `{"jsonrpc":"2.0","method":"x","params":{"t":"abc{"result":{},"id":7,"jsonrpc":"2.0"}`, `7`},
		{"two answers", `{"jsonrpc":"2.0","id":6,"result":{}} {"jsonrpc":"2.0","id":7,"error":{}}`, `6,7`},
		{"batch", `[{"jsonrpc":"2.0","id":6,"result":{}},{"jsonrpc":"2.0","id":7,"result":{}}]`, `6,7`},
		{"behind a broken string", `{"jsonrpc":"2.0","result":{"text":"say "hi"},"id":7}`, `7`},
		{"behind a broken string, not last", `{"result":{"text":"a"b"},"id":7,"jsonrpc":"2.0"} `, `7`},
		{"without its beginning", `orld"}]},"jsonrpc":"2.0","id":7}`, `7`},
		{"quotes in the text", `{"jsonrpc":"2.0","result":{"text":"\"id\":9} {\"jsonrpc\":\"2.0\",\"id\":8"},"id":7,}`, `7`},
		{"brace at the end of a string", `{"jsonrpc":"2.0","result":{"id{":"jsonrpc","{":"id"},"id":7,}`, `7`},
		{"request", `{"jsonrpc":"2.0","id":7,"method":"x","params":{`, ``},
		{"request, method first", `{"method":"x","id":7,"params":{"a":"b"c"}}`, ``},
		{"request, method last", `{"jsonrpc":"2.0","id":7,"params":{"a":tru},"method":"x"}`, ``},
		{"request without its method", `{"jsonrpc":"2.0","id":7,"params":{"a":`, ``},
		{"request with a broken string", `{"method":"x","params":{"a":"b"c"},"jsonrpc":"2.0","id":7}`, ``},
		{"end of a request", `b"c"},"method":"x","jsonrpc":"2.0","id":7}`, ``},
		{"whole request and noise", `{"method":"x","jsonrpc":"2.0","id":7} oops`, ``},
		{"id below", `{"jsonrpc":"2.0","result":{"id":7,"result":1},`, ``},
		{"no result", `{"jsonrpc":"2.0","id":7,"reslut":tru}`, `7`},
		{"log line", `{"level":"info","id":7}`, ``},
		{"object id", `{"jsonrpc":"2.0","id":{"id":7},"result":1,}`, ``},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := strings.Join(Scan([]byte(tc.line)).Answers, ","); got != tc.want {
				t.Errorf("%s\nfound %q, want %q", tc.line, got, tc.want)
			}
		})
	}
}

func TestScanRequests(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		`{"jsonrpc":"2.0","id":7,"method":"x","params":{`:         `7`,
		`{"method":"x","params":{"id":1},"id":"s"}`:               `"s"`,
		`{"method":"x","params":{}}`:                              ``,
		`{"method":"x","id":null}`:                                ``,
		`{"method":"x","id":1x}`:                                  ``,
		`{"method":"x","id":1,"id":2}`:                            ``,
		`{"method":"x","id":"` + strings.Repeat("i", 2000) + `"}`: ``,
	} {
		if got := Scan([]byte(line)).Request(); got != want {
			t.Errorf("%.100s: found %s, want %s", line, got, want)
		}
	}
}

func FuzzScan(f *testing.F) {
	for _, s := range []string{
		`{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"te`, `it"s {"jsonrpc":"2.0","id":7,"result":{}}`,
		`{"result":{"t":"a"b"},"id":7}`, `[{"id":1,"result":1},{"id":2,"error":{}}]`, `{"id":"a\"b","result":1}`,
		`{"method":"x","id":1}`, `orld"}]},"jsonrpc":"2.0","id":7}`, `{"text":"abc{"jsonrpc":"2.0","id":7,"result":{}}`, `{{{{"id":1`, "\\\"{\\\"",
	} {
		f.Add([]byte(s), uint8(3))
	}
	f.Fuzz(func(t *testing.T, line []byte, piece uint8) {
		whole := Scan(line)
		if len(whole.Answers) > scanIDs || len(whole.Requests) > scanIDs {
			t.Fatalf("%d and %d ids", len(whole.Answers), len(whole.Requests))
		}
		var s Scanner
		for rest := line; len(rest) > 0; {
			n := min(len(rest), 1+int(piece))
			s.Feed(rest[:n])
			rest = rest[n:]
		}
		if len(s.text) > scanText || len(s.last) > scanText || len(s.tail) > scanTail || len(s.mark.name) > 7 {
			t.Fatal("it keeps more than it may")
		}
		if pieces := s.Finish(); !slices.Equal(pieces.Answers, whole.Answers) || !slices.Equal(pieces.Requests, whole.Requests) || pieces.Asks != whole.Asks {
			t.Fatalf("in pieces %+v, at once %+v", pieces, whole)
		}
	})
}
