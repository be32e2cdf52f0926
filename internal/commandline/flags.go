package commandline

import (
	"iter"
	"slices"
	"strings"
)

// A word is one that a launcher reads itself: a flag with its value, or a plain word.
type word struct {
	at    int    // of the flag, or of the plain word
	flag  string // "": it is a plain word
	value string // of the flag; or the plain word
	has   int    // the argument that holds the value; -1: the flag has none
	next  int    // the argument behind it
}

// readWords returns the words that a launcher may read itself, and goes on behind its program. --env-file=FILE, --env-file FILE
// and -Ilib are one word each.
func (l *Launcher) readWords(args []string) iter.Seq[word] {
	return func(yield func(word) bool) {
		for i := 0; i < len(args); {
			w := l.wordAt(args, i)
			if i = w.next; !yield(w) {
				return
			}
		}
	}
}

func (l *Launcher) wordAt(args []string, at int) word {
	w := word{at: at, flag: args[at], has: -1, next: at + 1}
	name, value, joined := strings.Cut(w.flag, "=")
	switch {
	case !strings.HasPrefix(w.flag, "-"):
		w.flag, w.value, w.has = "", w.flag, at
	case l.takesValue(w.flag) || l.IsCode(w.flag):
		if w.next = at + 2; at+1 < len(args) {
			w.value, w.has = args[at+1], at+1
		}
	case len(w.flag) > 2 && w.flag[1] != '-' && slices.Contains(l.files, w.flag[:2]):
		w.flag, w.value, w.has = w.flag[:2], strings.TrimPrefix(w.flag[2:], "="), at
	case joined:
		w.flag, w.value, w.has = name, value, at
	}
	return w
}

// plainWord returns the first plain word of a launcher, which may be a subcommand, and its index; -1 if there is none.
func (l *Launcher) plainWord(args []string) (string, int) {
	for w := range l.readWords(args) {
		if w.flag == "" {
			return w.value, w.at
		}
	}
	return "", -1
}
