package results

import (
	"encoding/json"
	"strings"
	"testing"

	"mcphub/internal/jsonrpc"
)

// BenchmarkCut is what a report of 15 MB costs beside relaying it: lines, JSON, and one that is not too large.
func BenchmarkCut(b *testing.B) {
	text := strings.Repeat("a line of a report, größer als erlaubt\n", 15_000_000/40)
	list, err := json.Marshal(strings.Split(text, "\n"))
	if err != nil {
		b.Fatal(err)
	}
	for name, tc := range map[string]struct {
		a   jsonrpc.Answer
		max int
	}{"lines": {ofText(text), 100 << 10}, "JSON": {ofText(string(list)), 100 << 10}, "below": {ofText(text), 16 << 20}, "off": {ofText(text), 0}} {
		b.Run(name, func(b *testing.B) {
			s := NewStore(new(Shelf), "", 0)
			b.SetBytes(int64(len(tc.a.Result)))
			b.ReportAllocs()
			for b.Loop() {
				s.Cut(tc.a, tc.max, newest, nil)
			}
		})
	}
}
