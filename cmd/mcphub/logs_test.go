package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mcphub/hub/audit"
)

func TestLogsOfOneServer(t *testing.T) {
	t.Parallel()
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
	defer l.closeFiles()
	if found, err := l.showLast(2); err != nil || !found || out.String() != "2026-01-01T00:00:02Z two\n2026-01-01T00:00:03Z three\n" {
		t.Fatalf("%v %v\n%s", found, err, out.String())
	}
	// A line that was not whole is read when it is; a file that is set aside goes on in another.
	put("git.log", "lf\n")
	if err := os.Rename(filepath.Join(dir, "git.log"), filepath.Join(dir, "git-2026.log")); err != nil {
		t.Fatal(err)
	}
	put("git.log", "2026-01-01T00:00:05Z five\n")
	out.Reset()
	if err := l.readNews(filepath.Join(dir, "git.log"), func(line []byte) { out.Write(line) }); err != nil || out.String() != "2026-01-01T00:00:04Z half\n2026-01-01T00:00:05Z five\n" {
		t.Fatalf("%v\n%s", err, out.String())
	}
}

// Whose session a line is of is said once, before the first line, and again looked for if no one was known.
func TestLogsSayWhose(t *testing.T) {
	t.Parallel()
	var out, said bytes.Buffer
	looks := 0
	l := serverLog{name: "git", out: &out, say: &said, told: map[string]bool{}, look: func() []sessionOf {
		looks++
		return []sessionOf{{"1f0c2d3e-rest", audit.ClientInfo{Name: "ide 1\x1b", Folder: "/p"}}, {"roots-26aa", audit.ClientInfo{Folder: "/q"}}, {"", audit.ClientInfo{Folder: "/all"}}}
	}}
	for _, session := range []string{"1f0c2d3e", "1f0c2d3e", "roots-26", "-", "other"} {
		if err := l.printLine("2026-01-01T00:00:01Z git[7] " + session + ": text\n"); err != nil {
			t.Fatal(err)
		}
	}
	if said.String() != "1f0c2d3e: ide 1\\x1b in /p\nroots-26: a client in /q\n" || looks != 1 || strings.Count(out.String(), "\n") != 5 {
		t.Errorf("%d looks\n%q\n%s", looks, said.String(), out.String())
	}
	l.looked, l.json = time.Time{}, true
	out.Reset()
	if err := l.printLine("2026-01-01T00:00:01Z git[7] other: text\n"); err != nil || looks != 2 || strings.Contains(out.String(), "clients") {
		t.Errorf("%d looks, %v\n%s", looks, err, &out)
	}
}
