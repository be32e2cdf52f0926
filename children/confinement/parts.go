package confinement

import (
	"bufio"
	"path/filepath"
	"slices"
	"strings"

	"mcphub/children/entry"
	"mcphub/children/program"
	"mcphub/internal/commandline"
)

// A part is a file that the child is made of, and what names it.
type part struct {
	file, name string
	main       bool     // without it the child does not run
	by         []string // the links or files that lead to it; none: the entry or the system does
	says       string   // what a file of by holds of it

	interpreter []string // the words of its first line, if it is a script
}

// foundAt returns the place at which the name of a part was found.
func (p part) foundAt() found { return found{p.by, p.says} }

// programParts returns the files that the child is made of: its program, what wraps it,
// its script, and the interpreters that these name.
func (h Host) programParts(child Child) (parts []part) {
	has := func(path string) bool {
		return slices.ContainsFunc(parts, func(p part) bool { return p.file == path })
	}
	add := func(path string, main bool) {
		if !has(path) {
			parts = append(parts, part{file: path, name: "program " + path, main: main})
		}
	}
	lookUp := func(name string) string { return h.lookUp(child.Env, name) }
	named := func(name string, by ...string) { // the name stands for whatever is found
		switch path := lookUp(name); {
		case path == "":
			h.rememberNothing(part{name: "program " + name, by: by, says: name})
		case !has(path):
			parts = append(parts, part{file: path, name: "program " + name})
		}
	}
	if child.Installed == nil && filepath.Base(child.Program.Command) == child.Program.Command {
		parts = append(parts, part{file: child.Command, name: "program " + child.Program.Command, main: true})
	}
	add(child.Command, true)
	at, end := commandline.LauncherWords(child.Program.Command, child.Args)
	for i, word := range child.Args[:end] {
		switch {
		case filepath.IsAbs(word):
			add(word, i == at)
		case strings.HasPrefix(word, "-"):
		case i == at && filepath.Base(word) != word:
			add(filepath.Join(child.Dir, word), true)
		default:
			if i == at && isFile(filepath.Join(child.Dir, word)) && child.Program.Cwd != "" {
				add(filepath.Join(child.Dir, word), true)
			}
			named(word)
		}
	}
	if child.Fresh == "" {
		for _, n := range child.Program.Names(h.home) {
			if n.Use == entry.Code {
				add(n.Path, false)
			}
		}
	}
	if child.Installed != nil {
		for _, name := range child.Installed.Beside {
			if filepath.IsAbs(name) {
				add(name, false)
			} else {
				named(name)
			}
		}
	}
	for i := 0; i < len(parts) && i < maxLinked; i++ {
		file := parts[i].file
		made := h.boundary.Writable(file) || child.Installed.Holds(file) // by children, or a package
		if !made {
			if _, why := h.installationPaths(parts[i]); why != "" {
				continue // what is closed leads nowhere, whatever no server could have written there
			}
			for _, p := range h.partsBeyond(file) {
				if !has(p.file) {
					parts = append(parts, p)
				}
			}
		}
		from, words := "", lookOnce(h, "words", file, interpreterWords)
		parts[i].interpreter = words
		for _, word := range words {
			switch {
			case !filepath.IsAbs(word):
				named(word, h.Real(file))
			case lookUp(filepath.Base(word)) == word:
				named(filepath.Base(word), h.Real(file))
			default:
				from = word
			}
		}
		// It may open what it did when the script was first used; and what children write, or a
		// package, nothing.
		line := part{file: from, name: "the first line of " + file, by: []string{h.Real(file)}}
		switch {
		case made, h.IsDir(file):
		case from == "":
			h.rememberNothing(line)
		case has(from):
			h.installationPaths(line) // to be remembered
		default:
			parts = append(parts, line)
		}
	}
	return parts
}

// lookUp finds a program on the PATH of a child; "" if there is none.
func (h Host) lookUp(env *program.Environment, name string) string {
	if filepath.Base(name) != name {
		return ""
	}
	list, _ := env.Get("PATH")
	for _, dir := range filepath.SplitList(list) {
		if found := filepath.Join(dir, name); filepath.IsAbs(dir) && h.IsProgram(found) {
			return found
		}
	}
	return ""
}

// interpreterWords returns the words of the first line of a script: #! and what follows.
func interpreterWords(path string) []string {
	f := openRegular(path)
	if f == nil {
		return nil
	}
	defer f.Close()
	line, _ := bufio.NewReaderSize(f, 256).ReadSlice('\n')
	words, ok := strings.CutPrefix(string(line), "#!")
	if !ok {
		return nil
	}
	return slices.Clip(slices.DeleteFunc(strings.Fields(words), func(w string) bool { // plans share it
		return strings.HasPrefix(w, "-") || strings.Contains(w, "=")
	}))
}

// rememberNothing remembers that a name leads to no part. If it ever does, a person is asked.
func (h Host) rememberNothing(p part) {
	if h.memory != nil {
		h.memory.noteAbsent(memoryLine{Path: p.name, Owner: h.owner, found: p.foundAt()})
	}
}
