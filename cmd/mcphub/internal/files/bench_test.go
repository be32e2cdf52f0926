package files

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
)

// BenchmarkCall is one call, as a client sees it.
func BenchmarkCall(b *testing.B) {
	dir := b.TempDir()
	for _, c := range []struct{ name, params string }{
		{"list", `{"name":"list_directory","arguments":{"path":"."}}`},
		{"write", `{"name":"write_file","arguments":{"path":"f","content":"` + strings.Repeat("x", 1<<20) + `"}}`},
	} {
		b.Run(c.name, func(b *testing.B) {
			inR, in := io.Pipe()
			outR, outW := io.Pipe()
			served := make(chan error, 1)
			go func() { served <- quiet(dir).Serve(context.Background(), inR, outW) }()
			out := bufio.NewReaderSize(outR, 1<<20)
			say := func(line string) {
				fmt.Fprintln(in, line)
				if answer, err := out.ReadString('\n'); err != nil || strings.Contains(answer, "rror") {
					b.Fatal(answer, err)
				}
			}
			say(hello)
			b.ReportAllocs()
			for b.Loop() {
				say(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":` + c.params + `}`)
			}
			in.Close()
			if err := <-served; err != nil {
				b.Fatal(err)
			}
		})
	}
}

// BenchmarkServe is the life of a client that only says hello.
func BenchmarkServe(b *testing.B) {
	srv, dir := quiet(), b.TempDir()
	srv.o.Dirs = []string{dir}
	for b.Loop() {
		if err := srv.Serve(context.Background(), io.NopCloser(strings.NewReader(hello+"\n")), io.Discard); err != nil {
			b.Fatal(err)
		}
	}
}
