package hints

import (
	"bytes"
	"slices"
	"strings"
	"sync"

	"mcphub/internal/lazyregexp"
)

// This file knows the words by which programs tell that they were refused something.

// A kind is what a line says about a refusal.
type kind uint8

const (
	nothing    kind = iota
	refused         // it was refused something
	absent          // something is not there, which programs say about what they may not look into too
	database        // a database could not be opened: which one is not said
	module          // a module was not found, by its name
	repository      // a directory is in no repository
	service         // a service could not be reached, or a key that it has not be used
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
	{[]byte("publickey"), service}, {[]byte("onnecting to agent"), service}, {[]byte("authentication agent"), service}, {[]byte("onnect to the agent"), service},
	{[]byte("ocker daemon"), service}, {[]byte("ocker API"), service}, {[]byte("essage bus"), service}, {[]byte("onnect to bus"), service},
	{[]byte("ENOENT"), absent}, {[]byte("o such file or directory"), absent}, {[]byte("does not exist"), absent},
}

// A clue is the place of a part of a word in it.
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

// kindOf returns what a text says first of all kinds.
func kindOf(text []byte) kind {
	if i := firstWord(text, len(words)); i < len(words) {
		return words[i].kind
	}
	return nothing
}

// firstWord returns the first of all words that a text holds, or most if it holds none before that.
func firstWord(text []byte, most int) int {
	all, first := clues(), most
	for i := 0; i+stride <= len(text); i += stride {
		for _, c := range all[clueKey(text[i:])] {
			if from := i - c.at; c.word < first && from >= 0 && bytes.HasPrefix(text[from:], words[c.word].text) {
				first = c.word
			}
		}
	}
	return first
}

// MentionsRefusal reports whether a text may tell about a refusal. Of a long one it searches the edges. It is fast.
func MentionsRefusal(text []byte) bool {
	if len(text) <= maxWhole {
		return kindOf(text) != nothing
	}
	return kindOf(text[:maxEdge]) != nothing || kindOf(text[len(text)-maxEdge:]) != nothing
}

// writing are words of a line by which something was to be changed or made.
var writing = []string{"mkdir", "rmdir", "unlink", "rename", "write", "creat", "touch", "remove", "copyfile", "symlink", "truncate", "readonly"}

func writesPath(line string) bool {
	line = strings.ToLower(line)
	return slices.ContainsFunc(writing, func(verb string) bool { return strings.Contains(line, verb) })
}

func makesPath(line string) bool {
	return strings.Contains(line, "mkdir") || strings.Contains(line, "makedirs")
}

// socketLines is how many lines before an error may show the call.
const socketLines = 3

// moduleName finds the name of a module that was not found.
var moduleName = lazyregexp.New(`(?:annot find (?:module|package) |o module named )['"‘]?([^'"’\s;,]+)`)
