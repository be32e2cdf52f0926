package files

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write the answers that come into testdata/transcript.txt")

// TestTranscript replays testdata/transcript.txt, byte for byte: "> " is a line that the
// client sends, "< " one that comes back, "== " the start of another client. DIR stands
// for the allowed directory.
func TestTranscript(t *testing.T) {
	t.Parallel()
	const name = "testdata/transcript.txt"
	recorded, err := os.ReadFile(name)
	must(t, err)
	var out strings.Builder
	var p *peer
	var dir string
	for line := range strings.Lines(string(recorded)) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(line, "== "):
			dir = transcriptFolder(t)
			p = dial(t, quiet(dir))
		case strings.HasPrefix(line, "> "):
			p.send("%s", strings.ReplaceAll(line[2:], "DIR", dir))
		case strings.HasPrefix(line, "<"):
			want := line
			line = "< " + strings.ReplaceAll(strings.TrimSuffix(p.line(), "\n"), dir, "DIR")
			if line != want && !*update {
				t.Errorf("came:\n%s\nrecorded:\n%s", line, want)
			}
		}
		out.WriteString(line + "\n")
	}
	if *update {
		must(t, os.WriteFile(name, []byte(out.String()), 0o644))
	}
}

func transcriptFolder(t *testing.T) string {
	dir := folder(t, map[string]string{
		"a.txt": "one\ntwo\nthree\n", "crlf.txt": "a\r\nb\r\n", "latin": "gr\xfc\xdfe", "new\nline": "", "p.png": "\x89PNG\r\n\x1a\n", "s.mp3": "ID3",
		"sub/deep/f.go": "package f\n", "sub/g.go": "", "sub/link": "-> deep/f.go", "out": "-> /etc/passwd",
	})
	must(t, os.Chmod(filepath.Join(dir, "a.txt"), 0o644))
	must(t, os.Chtimes(filepath.Join(dir, "a.txt"), time.Unix(1e9, 0), time.Unix(1e9, 0)))
	return dir
}
