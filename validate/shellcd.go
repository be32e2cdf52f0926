package validate

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// whereabouts is where a shell string has gone.
type whereabouts struct {
	dir    string // every directory since the beginning, as cd names them, the latest last; NUL between
	sure   surety
	firm   bool // the latest is where the rest runs even where a command failed in between
	chance bool // the command runs only where another one has succeeded
	moved  bool // the latest command was cd
	lost   bool // it has gone further than can be followed
}

// course is where a shell string has gone: every directory since its beginning, the latest last, NUL between.
type course struct {
	dir  string
	sure surety // that the latest is where the word is read from
	lost bool   // something may have gone to a directory that nobody can tell
}

// surety is whether the latest directory is where the rest of a shell string runs.
type surety uint8

const (
	sureNot   surety = iota
	sureThere        // it is, where there is such a directory
	sureDone         // it is, or nothing runs: cd x && y
)

// boundary ends commands that run only where the former succeeded.
func (w *whereabouts) boundary() {
	if w.sure == sureDone {
		w.sure = sureNot
		if w.firm {
			w.sure = sureThere
		}
	}
	w.chance = false
}

// join takes in that what was read since may not have run here.
func (w *whereabouts) join(before whereabouts) {
	if w.dir != before.dir {
		w.sure, w.firm = sureNot, false
	}
}

const maxMoves = 32

// move goes to a directory from the latest.
func (w *whereabouts) move(to string, sure surety) {
	list := strings.Split(w.dir, "\x00")
	list = append(list, chdir(list[len(list)-1], to))
	if list[0] == "" {
		list = list[1:]
	}
	w.lost = w.lost || len(list) > maxMoves || len(w.dir)+len(to) > maxMoves*maxTail
	if w.lost {
		list = list[len(list)-1:]
	}
	w.dir, w.sure = strings.Join(list, "\x00"), sure
}

// rise keeps every directory above the latest as well: it may have been moved there.
func (w *whereabouts) rise() {
	latest := w.dir[strings.LastIndexByte(w.dir, 0)+1:]
	for range maxMoves {
		i := strings.LastIndexByte(strings.TrimRight(latest, "/"), '/')
		if i <= 0 {
			break
		}
		latest = latest[:i]
		w.dir = latest + "\x00" + w.dir
	}
	w.sure = sureNot
}

// chdir is where cd goes from dir.
func chdir(dir, to string) string {
	if dir == "" || to == "" || strings.IndexByte("/~$", to[0]) >= 0 {
		return to
	}
	return dir + "/" + to
}

// moves follows cd.
func (r *shellPart) moves(words []shellWord, u *usage, c *syntax.CallExpr, redirected bool, in scope) {
	name := words[0].text
	r.where.moved = false
	switch {
	case u.program == programs["cd"]:
		var operands []shellWord
		for _, w := range words[1:] {
			if w.text != "-P" && w.text != "-L" && w.text != "-e" && w.text != "-@" && w.text != "--" && w.text != "cd" {
				operands = append(operands, w)
			}
		}
		if len(operands) == 0 {
			r.add(shellItem{shellWord: shellWord{text: "~"}}) // home
			r.where.move("~", sureNot)
			return
		}
		to := operands[0]
		plain := name == "cd" && len(operands) == 1 && !redirected && len(c.Assigns) == 0 && !to.loose && to.text != "" && to.text[0] != '-' && !strings.ContainsAny(to.text, "*?[]{}$~`!#\\ \x01")
		sure := sureNot
		known := r.where.dir == "" || r.where.sure != sureNot
		if plain && known && !in.maybe {
			sure = sureDone
		}
		r.roams = r.roams || !plain
		r.where.firm = sure == sureDone && r.only && !r.where.chance
		r.only = r.where.firm
		r.where.move(to.text, sure)
		r.where.moved = true
	case name == "pushd" && len(words) > 1:
		r.where.move(words[len(words)-1].text, sureNot)
	case name == "mv" && r.where.dir != "":
		r.where.rise()
		r.odd = true
	case name == "mkdir" || name == "set":
	default:
		r.only = false
	}
}
