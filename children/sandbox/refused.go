package sandbox

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// This file is about errors of a confined child that come from the kernel.

// A Refusal is something that the kernel has not let a child do, as an error of the
// child tells it.
type Refusal struct {
	Path   string // outside of what the child may open; "" where the error names none
	Access Access // that it seems to have wanted there
}

var refusalWords = [][]byte{[]byte("EACCES"), []byte("EPERM"), []byte("ermission denied"), []byte("peration not permitted"), []byte("ccess is denied")}

// SpeaksOfRefusal reports whether a text, of an error, may tell of a refusal.
func SpeaksOfRefusal(text []byte) bool {
	for _, word := range refusalWords {
		if bytes.Contains(text, word) {
			return true
		}
	}
	return false
}

var writing = []string{"mkdir", "rmdir", "unlink", "rename", "write", "creat", "touch", "remove", "copyfile", "symlink", "truncate"}

// Refused reads the text of an error of a child that is held to p, line by line. It is ok
// where the kernel has refused what a line is about, or may have: what is named lies
// outside, or nothing is named. It looks at the file system.
func (p *Profile) Refused(text string) (r Refusal, ok bool) {
	if p == nil || p.Unbounded {
		return Refusal{}, false
	}
	for line := range strings.Lines(text) {
		if !SpeaksOfRefusal([]byte(line)) {
			continue
		}
		paths := pathsIn(line)
		for _, path := range paths {
			if a := p.lacks(path, line); a != 0 {
				return Refusal{path, a}, true
			}
		}
		ok = ok || len(paths) == 0
	}
	return Refusal{}, ok
}

// lacks is what was wanted at a path of an error, and is not allowed there.
func (p *Profile) lacks(path, line string) Access {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		real = path
	}
	switch a := p.Allows(path) & p.Allows(real); {
	case a&(Read|Write) == Read|Write:
		return 0
	case a&Read != 0:
		return Write
	}
	line = strings.ToLower(line)
	if _, missing := os.Lstat(real); missing != nil || slices.ContainsFunc(writing, func(verb string) bool { return strings.Contains(line, verb) }) {
		return Write // of what is not there, it was to be made
	}
	return Read
}

// mostPaths bounds how many paths of one text are looked at.
const mostPaths = 8

// closing are the signs that end a path which begins behind another.
var closing = map[rune]string{'\'': "'", '"': `"`, '`': "`", '‘': "’", '“': "”", '«': "»"}

// pathsIn are absolute paths that stand in a text, clean.
func pathsIn(text string) (paths []string) {
	for i := 0; i < len(text) && len(paths) < mostPaths; i++ {
		if text[i] != '/' || strings.HasPrefix(text[i:], "//") {
			continue
		}
		before, _ := utf8.DecodeLastRuneInString(text[:i])
		quote, quoted := closing[before]
		if i > 0 && !quoted && !strings.ContainsRune(" \t\n(<[=:,", before) {
			continue
		}
		end := strings.Index(text[i:], quote)
		if !quoted || end < 0 {
			end = strings.IndexAny(text[i:], " \t\n'\"`)>],;’”")
		}
		if end < 0 {
			end = len(text) - i
		}
		if path := filepath.Clean(strings.TrimRight(text[i:i+end], ".:")); path != "/" && !(i == 0 && speaker(text[end:])) {
			paths = append(paths, path)
		}
		i += max(end-1, 0)
	}
	return paths
}

// speaker reports whether what stands before rest is the program that says it, as in
// "/bin/sh: 1: x: Permission denied".
func speaker(rest string) bool {
	first, _, more := strings.Cut(strings.TrimLeft(rest, ": "), ":")
	return more && !SpeaksOfRefusal([]byte(first))
}

// Cure says what allows what was refused; at is where the entry of the server stands.
func (r Refusal) Cure(server, at string) string {
	if at != "" {
		at = " (" + at + ")"
	}
	if r.Path == "" {
		return fmt.Sprintf("To find out what it needs run: mcphub learn %s", server)
	}
	key := "read"
	if r.Access&Write != 0 {
		key = "write"
	}
	return fmt.Sprintf("If it is to have that, add it to sandbox.%s of %q in hub.json%s, or find out all that it needs with: mcphub learn %s", key, server, at, server)
}

// Refusals counts what the kernel is known to have refused to one run of a child. Its
// methods may be called from any goroutine.
type Refusals struct {
	mu   sync.Mutex // guards the rest
	n    int
	last string
}

// Add counts one.
func (s *Refusals) Add(r Refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.n++; r.Path != "" {
		s.last = r.Path
	}
}

// Known are how many there were, and the last path that was named.
func (s *Refusals) Known() (n int, last string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.n, s.last
}
