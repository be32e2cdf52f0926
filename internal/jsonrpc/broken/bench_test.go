package broken

import (
	"bytes"
	"testing"
)

func BenchmarkScan(b *testing.B) {
	line := append([]byte(`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"`), bytes.Repeat([]byte("the quick brown fox jumps over the lazy dog\\n"), 1<<20/45)...)
	b.SetBytes(int64(len(line)))
	for b.Loop() {
		Scan(line)
	}
}
