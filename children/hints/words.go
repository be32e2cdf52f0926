package hints

import (
	"bytes"
	"slices"
	"strings"
	"sync"

	"mcphub/internal/lazyregexp"
)

// This file knows the words with which programs report a refusal.

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
	ended           // a program that it ran may have ended with an error: no refusal
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
	{[]byte("xit status"), ended}, {[]byte("xit code"), ended}, {[]byte("xit Code"), ended}, {[]byte("xit_code"), ended}, {[]byte("xitCode"), ended},
	{[]byte("xit value"), ended}, {[]byte("xited with"), ended}, {[]byte("ailed with exit"), ended}, {[]byte("eturn code"), ended}, {[]byte("eturncode"), ended}, {[]byte(commandFailed), ended},
}

// commandFailed stands before the command line of a program that Node ran and that ended with an error.
const commandFailed = "ommand failed: "

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
func MentionsRefusal(text []byte) bool { return searchedKind(text).isRefusal() }

// searchedKind returns what a text says first of all kinds. Of a long one it searches the edges.
func searchedKind(text []byte) kind {
	if len(text) <= maxWhole {
		return kindOf(text)
	}
	if k := kindOf(text[:maxEdge]); k.isRefusal() {
		return k
	}
	return kindOf(text[len(text)-maxEdge:])
}

func (k kind) isRefusal() bool { return k != nothing && k != ended }

// failureIn returns the end of the status of a failed program, or the begin of its command line, as a place in the text; -1 if it has none.
func failureIn(text []byte) int {
	for _, w := range words {
		if w.kind != ended {
			continue
		}
		for at := 0; ; {
			i := bytes.Index(text[at:], w.text)
			if i < 0 {
				break
			}
			at += i + len(w.text)
			if string(w.text) == commandFailed {
				return at
			}
			if n := failedStatus(text[at:]); n > 0 {
				return at + n
			}
		}
	}
	return -1
}

// maxBeforeStatus is how much may stand between the words and the number, as in `exited with exit code 1` and `"exit_code": 1`.
const maxBeforeStatus = 16

// failedStatus returns how long the beginning of a text is that gives a status other than 0; 0 if it gives none.
func failedStatus(text []byte) int {
	at := bytes.IndexAny(text[:min(len(text), maxBeforeStatus)], "0123456789")
	if at < 0 || text[at] == '0' || bytes.ContainsAny(text[:at], ".,;()\n") {
		return 0
	}
	for at < len(text) && '0' <= text[at] && text[at] <= '9' {
		at++
	}
	return at
}

// isUnexplained reports whether a text holds no more than the status of a failed program. What the program wrote, or a sentence
// about it, is a reason.
func isUnexplained(text string) bool {
	failed := false
	for _, line := range linesOf(text) {
		line = strings.Trim(line, " \t\r,")
		end := failureIn([]byte(line))
		switch {
		case line == "", line == "text", strings.HasSuffix(line, ":"): // the type of a content, and the heading of an empty part
		case end < 0:
			return false
		case strings.Contains(line[:end], commandFailed), strings.Contains(line[:end], "failed with exit"): // the command line follows
			failed = true
		case strings.Trim(line[end:], " .:;,)]}'\"`") == "":
			failed = true
		default:
			return false
		}
	}
	return failed
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
