package hints

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"mcphub/internal/lazyregexp"
)

// This file knows the words by which programs tell that they were refused something.

// A kind is what a line says of a refusal.
type kind uint8

const (
	nothing    kind = iota
	refused         // it was refused something
	absent          // something is not there, which programs say of what they may not look into too
	database        // a database could not be opened: which one is not said
	module          // a module was not found, by its name
	repository      // a directory is in no repository
)

// words are what is searched for, before anything is looked at.
var words = []struct {
	text []byte
	kind kind
}{
	{[]byte("EACCES"), refused}, {[]byte("EPERM"), refused}, {[]byte("ermission denied"), refused},
	{[]byte("peration not permitted"), refused}, {[]byte("ccess is denied"), refused}, {[]byte("AccessDenied"), refused}, {[]byte("UnauthorizedAccess"), refused},
	{[]byte("not a git repository"), repository}, {[]byte("annot find module"), module}, {[]byte("annot find package"), module}, {[]byte("o module named"), module},
	{[]byte("nable to open database"), database}, {[]byte("CANTOPEN"), database}, {[]byte("readonly database"), database},
	{[]byte("ENOENT"), absent}, {[]byte("o such file or directory"), absent}, {[]byte("does not exist"), absent},
}

// usual is how many of words an ordinary result is searched for: the others stand in many
// an honest one.
const usual = 14

// A clue is where a part of a word stands in it.
type clue struct{ word, at int }

// stride is how long the parts are by which words are found. One of any stride parts of a word that follow each other
// stands in a text at a multiple of stride, so a text is looked at there alone.
const stride = 3

// clues are the first parts of all words, by their clueKey.
var clues = sync.OnceValue(func() (all *[512][]clue) {
	all = new([512][]clue)
	for i := range words {
		for at := range stride {
			key := clueKey(words[i].text[at:])
			all[key] = append(all[key], clue{i, at})
		}
	}
	return all
})

func clueKey(b []byte) int { return (int(b[0]) + int(b[1])<<2 + int(b[2])<<4) & 511 }

// kindOf is what a text says first of all kinds.
func kindOf(text []byte, most int) kind {
	all, first := clues(), most
	for i := 0; i+stride <= len(text); i += stride {
		for _, c := range all[clueKey(text[i:])] {
			if from := i - c.at; c.word < first && from >= 0 && bytes.HasPrefix(text[from:], words[c.word].text) {
				first = c.word
			}
		}
	}
	if first == most {
		return nothing
	}
	return words[first].kind
}

// MentionsRefusal reports whether an error may tell of a refusal. It is fast.
func MentionsRefusal(text []byte) bool { return kindOf(text, len(words)) != nothing }

// ResultMentionsRefusal reports whether an ordinary result may. It is fast.
func ResultMentionsRefusal(text []byte) bool { return kindOf(text, usual) != nothing }

// writing are words of a line by which something was to be changed or made.
var writing = []string{"mkdir", "rmdir", "unlink", "rename", "write", "creat", "touch", "remove", "copyfile", "symlink", "truncate", "readonly"}

func writes(line string) bool {
	line = strings.ToLower(line)
	return slices.ContainsFunc(writing, func(verb string) bool { return strings.Contains(line, verb) })
}

func makes(line string) bool {
	return strings.Contains(line, "mkdir") || strings.Contains(line, "makedirs")
}

// ofSockets are calls that a socket was to be used by, as traces of errors show them.
var ofSockets = lazyregexp.New(`\.(?:bind|connect)\(|socket\.socket\(|socket\.__init__\(|\bunix socket\b|\b(?:listen|connect|bind) E(?:ACCES|PERM)\b[^\n]* [/\x00@]|\b(?:bind|listen|connect|dial)\b[^\n]*\bunix\b|\bunix\b[^\n]*\b(?:bind|listen|connect|dial)\b`)

// socketLines is how many lines before an error may show the call.
const socketLines = 3

// moduleName finds the name of a module that was not found.
var moduleName = lazyregexp.New(`(?:annot find (?:module|package) |o module named )['"‘]?([^'"’\s;,]+)`)

// relativePath finds a relative path in quotes.
var relativePath = lazyregexp.New(`['"]((?:[^'"/\s:]+/)*[^'"/\s:]+)['"]`)

// maxPaths bounds how many paths of one text are looked at.
const maxPaths = 8

// closing are the signs that end a path which begins behind another.
var closing = map[rune]string{'\'': "'", '"': `"`, '`': "`", '‘': "’", '“': "”", '«': "»"}

// pathsIn are absolute paths that stand in a text, clean.
func pathsIn(text string) (paths []string) {
	for i := 0; i < len(text) && len(paths) < maxPaths; i++ {
		if text[i] != '/' || strings.HasPrefix(text[i:], "//") {
			continue
		}
		if scheme := strings.TrimRight(text[:i], "/"); i-len(scheme) >= 2 && strings.HasSuffix(scheme, ":") { // of a URL without a host, as sqlite:///data/x.db
			end := strings.IndexAny(text[i:], " \t\n'\"`)>],;’”?#")
			if end < 0 {
				end = len(text) - i
			}
			paths = append(paths, filepath.Clean(text[i:i+end]))
			i += max(end-1, 0)
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
	return more && !MentionsRefusal([]byte(first))
}
