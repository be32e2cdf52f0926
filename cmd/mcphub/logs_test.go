package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

func TestLogsOfOneServer(t *testing.T) {
	dir := t.TempDir()
	put := func(name, text string) {
		t.Helper()
		f, err := os.OpenFile(filepath.Join(dir, name), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err == nil {
			_, err = f.WriteString(text)
		}
		if err == nil {
			err = f.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	put("git.log", "2026-01-01T00:00:01Z one\n2026-01-01T00:00:03Z three\n2026-01-01T00:00:04Z ha")
	put("git@2.log", "2026-01-01T00:00:02Z two\n")
	put("git@work.log", "2026-01-01T00:00:02Z of another server\n")
	put("github.log", "2026-01-01T00:00:02Z of another server\n")
	var out bytes.Buffer
	l := serverLog{dir: dir, name: "Git", out: &out, read: map[string]*logEnd{}}
	defer l.close()
	if found, err := l.last(2); err != nil || !found || out.String() != "2026-01-01T00:00:02Z two\n2026-01-01T00:00:03Z three\n" {
		t.Fatalf("%v %v\n%s", found, err, out.String())
	}
	// A line that was not whole is read when it is; a file that is set aside goes on in another.
	put("git.log", "lf\n")
	if err := os.Rename(filepath.Join(dir, "git.log"), filepath.Join(dir, "git-2026.log")); err != nil {
		t.Fatal(err)
	}
	put("git.log", "2026-01-01T00:00:05Z five\n")
	out.Reset()
	if err := l.news(filepath.Join(dir, "git.log"), func(line []byte) { out.Write(line) }); err != nil || out.String() != "2026-01-01T00:00:04Z half\n2026-01-01T00:00:05Z five\n" {
		t.Fatalf("%v\n%s", err, out.String())
	}
}
