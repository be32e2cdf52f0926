package shell

import (
	"slices"
	"strings"

	"mcphub/validate/chars"
)

// whereabouts is where a shell string has gone.
type whereabouts struct {
	dir    string // every directory since the beginning, as cd names them, the latest last; NUL between
	sure   Surety
	firm   bool // the latest is where the rest runs even if a command failed in between
	chance bool // the command runs only where another one has succeeded
	moved  bool // the latest command was cd
	lost   bool // it has gone further than can be followed
	drives bool // a directory may begin with a drive
	native bool // see Course
}

// Course is where a shell string has gone: every directory since its beginning, the latest last, NUL between.
type Course struct {
	Dir  string
	Sure Surety // that the latest is where the word is read from
	Lost bool   // something may have gone to a directory that no one can tell
	// Native marks a word of a shell of Windows, or of a command that cmd has too: /s is an option there, and no drive of Git Bash.
	Native bool
}

// Surety is whether the latest directory is where the rest of a shell string runs.
type Surety uint8

const (
	SureNot   Surety = iota
	sureThere        // it is, if there is such a directory
	SureDone         // it is, or nothing runs: cd x && y
)

// boundary ends commands that run only if the former succeeded.
func (where *whereabouts) boundary() {
	if where.sure == SureDone {
		where.sure = SureNot
		if where.firm {
			where.sure = sureThere
		}
	}
	where.chance = false
}

// join returns to uncertainty: the commands read since before may not have run in this shell.
func (where *whereabouts) join(before whereabouts) {
	if where.dir != before.dir {
		where.sure, where.firm = SureNot, false
	}
}

const maxMoves = 32

// move goes to a directory from the latest.
func (where *whereabouts) move(to string, sure Surety) {
	if where.lost = where.lost || len(where.dir)+len(to) > maxMoves*chars.MaxPath; where.lost {
		return // the whole is refused
	}
	list := strings.Split(where.dir, "\x00")
	dir := list[len(list)-1]
	if where.drives && len(to) > 1 && to[1] == ':' {
		dir = ""
	}
	list = append(list, chdir(dir, to))
	if list[0] == "" {
		list = list[1:]
	}
	where.lost = len(list) > maxMoves
	where.dir, where.sure = strings.Join(list, "\x00"), sure
}

// rise keeps every directory above the latest as well: it may have been moved there.
func (where *whereabouts) rise() {
	latest := where.dir[strings.LastIndexByte(where.dir, 0)+1:]
	for range maxMoves {
		i := strings.LastIndexByte(strings.TrimRight(latest, "/"), '/')
		if i <= 0 {
			break
		}
		latest = latest[:i]
		where.dir = latest + "\x00" + where.dir
	}
	where.sure = SureNot
}

// chdir returns where cd goes from dir.
func chdir(dir, to string) string {
	if dir == "" || to == "" || strings.IndexByte("/~$", to[0]) >= 0 {
		return to
	}
	return dir + "/" + to
}

// besideDirectory may stand beside the directory that cd is given.
var besideDirectory = chars.WordSet("-P -L -e -@ -- cd")

// moves follows cd.
func (p *parser) moves(words []Word, u *Usage, changed bool, in scope) {
	name := words[0].name()
	p.where.moved = false
	switch {
	case u.Program == Programs()["cd"]:
		operands := slices.DeleteFunc(slices.Clone(words[1:]), func(w Word) bool { return besideDirectory[w.Text] })
		if len(operands) == 0 {
			p.add(Item{Word: Word{Text: "~"}}) // home
			p.where.move("~", SureNot)
			return
		}
		to := operands[0].name()
		plain := name == "cd" && len(operands) == 1 && !changed && !operands[0].loose && to != "" && to[0] != '-' && !strings.ContainsAny(to, "*?[]{}$~`!#\\ \x01")
		sure := SureNot
		known := p.where.dir == "" || p.where.sure != SureNot
		if plain && known && !in.maybe {
			sure = SureDone
		}
		p.roams = p.roams || !plain
		p.where.firm = sure == SureDone && p.only && !p.where.chance
		p.only = p.where.firm
		p.where.move(to, sure)
		p.where.moved = true
	case name == "pushd" && len(words) > 1:
		p.where.move(words[len(words)-1].name(), SureNot)
	case name == "mv" && p.where.dir != "":
		p.where.rise()
		p.Odd = true
	case name == "mkdir" || name == "set":
	default:
		p.only = false
	}
}
