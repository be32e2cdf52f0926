package jsonrpc

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"mcphub/e2e/seeds"
	"mcphub/internal/jsonrpc/broken"
)

// The id of a line that is an answer in truth is found wherever it stands and
// however the line ends, and no other one.
func TestScanFindsTheID(t *testing.T) {
	t.Parallel()
	seeds.Check(t, func(t *rapid.T) {
		value := text(t, 3)
		parts := rapid.Permutation([]string{`"jsonrpc":"2.0"`, `"id":12`, `"result":` + value}).Draw(t, "order")
		line := "{" + strings.Join(parts, ",") + "}"
		if got := broken.Scan([]byte(line)).Answers; !slices.Equal(got, []string{"12"}) {
			t.Fatalf("%s: found %q", line, got)
		}
		// Cut anywhere behind the id it is still found.
		at := strings.Index(line, `"id":12`) + len(`"id":12,`)
		if parts[2] == `"id":12` {
			return
		}
		cut := line[:rapid.IntRange(at, len(line)).Draw(t, "cut")]
		if got := broken.Scan([]byte(cut)).Answers; !slices.Equal(got, []string{"12"}) {
			t.Fatalf("%s: found %q", cut, got)
		}
	})
}

// Where a line can be read after all, the search for ids says the same.
func FuzzRecoverID(f *testing.F) {
	for _, s := range []string{
		`{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"te`, `it"s {"jsonrpc":"2.0","id":7,"result":{}}`,
		`{"result":{"t":"a"b"},"id":7}`, `[{"id":1,"result":1},{"id":2,"error":{}}]`, `{"id":"a\"b","result":1}`,
		`{"method":"x","id":1}`, `orld"}]},"jsonrpc":"2.0","id":7}`, `{"text":"abc{"jsonrpc":"2.0","id":7,"result":{}}`, `{{{{"id":1`, "\\\"{\\\"",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		var m Message
		if Split(line, true, &m) != nil || strings.Contains(string(line), `\u`) {
			return
		}
		whole := broken.Scan(line)
		if m.IsResponse() && (m.Result != nil || m.Error != nil) && !slices.Equal(whole.Answers, []string{string(m.ID)}) {
			t.Fatalf("found %q, the id is %s", whole.Answers, m.ID)
		}
		if m.IsRequest() && len(whole.Answers) > 0 {
			t.Fatalf("a request ends calls %q", whole.Answers)
		}
	})
}
