package program

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"mcphub/children/sandbox"
	"mcphub/internal/commandline"
	"mcphub/internal/wellknown"
	"mcphub/rootsmgr/guard"
)

// A lineMemo has what the command line of a Program starts, and whether that serves directories: see [Program.ReadOnce].
type lineMemo struct {
	command string
	args    []string
	line    commandline.Started
	serves  bool
}

// ReadOnce returns the program with its command line read and its links followed as the disk is at this moment. What asks the
// returned program does not look at the disk again, unless the command line is another one by then. Nor does ReadOnce itself.
// realPath returns a path without links, as [sandbox.RealPath] does.
func (prog Program) ReadOnce(realPath func(path string) string) Program {
	line, serves := prog.readServed(realPath)
	prog.memo = &lineMemo{prog.Command, prog.Args, line, serves}
	return prog
}

// servedLine returns what the command line starts, if that is a server whose plain arguments are the directories that it
// serves. A server in a container has other paths.
func (prog Program) servedLine() (line commandline.Started, ok bool) {
	return prog.readServed(sandbox.RealPath)
}

func (prog Program) readServed(realPath func(path string) string) (line commandline.Started, ok bool) {
	if m := prog.memo; m != nil && m.command == prog.Command && slices.Equal(m.args, prog.Args) {
		return m.line, m.serves
	}
	line = commandline.ReadLine(prog.Command, prog.Args)
	for _, name := range line.Names {
		if filepath.IsAbs(name.Text) {
			if real := realPath(name.Text); commandline.PackageOf(real) != "" {
				name.Text = real // another package may have a program of that name
			}
		}
		if s, _ := wellknown.ByName(name); s != nil && s.Directories && name.Kind != commandline.Image {
			return line, true
		}
	}
	return line, false
}

// inContainer reports whether the program runs somewhere with other paths.
func (prog Program) inContainer() bool {
	command, _ := commandline.Innermost(prog.Command, prog.Args)
	name, _, _ := commandline.LauncherOf(command)
	return name == "docker"
}

// findRootArgs finds the word after which the arguments of a filesystem-like server begin: an index into prog.Args, or -1
// for the command itself.
func findRootArgs(prog Program) (after int, ok bool) {
	line, ok := prog.servedLine()
	return line.At, ok && line.At != commandline.Nowhere
}

// ownWords returns the arguments that are the program's own, and the index of the first. known: it is filesystem-like.
func (prog Program) ownWords() (first int, words []word, known bool) {
	after, known := findRootArgs(prog)
	if !known {
		after = commandline.ProgramAt(prog.Command, prog.Args)
	}
	first = min(after+1, len(prog.Args))
	return first, splitWords(prog.Args[first:]), known
}

// RewritesArgs reports whether directory arguments of the child are replaced
// by root paths. Arguments that name ${roots} themselves say better where.
func (prog Program) RewritesArgs() bool {
	if prog.inContainer() || slices.ContainsFunc(prog.Args, NamesRoots) {
		return false
	}
	switch prog.Rewrite {
	case RewriteAlways:
		return true
	case RewriteKnown:
		_, ok := findRootArgs(prog)
		return ok
	}
	return false
}

// RewrittenArgs returns the arguments with the directories replaced by paths:
// instead of the first directory, at the end if there was none. Flags and
// their values, and everything up to the program's name, stay. Without paths
// the configured arguments stand.
func (prog Program) RewrittenArgs(paths []string) []string {
	if !prog.RewritesArgs() || len(paths) == 0 {
		return slices.Clone(prog.Args)
	}
	first, words, known := prog.ownWords()
	out := slices.Clone(prog.Args[:first])
	placed := false
	for _, w := range words {
		if !w.isDirectory(known) {
			out = append(out, w.text)
			continue
		}
		if !placed {
			out = append(out, paths...)
			placed = true
		}
	}
	if !placed {
		out = append(out, paths...)
	}
	return out
}

// OwnDirectories returns the directory arguments of a server that is known to be filesystem-like, as they are written.
func (prog Program) OwnDirectories() (dirs []string) {
	_, words, known := prog.ownWords()
	for _, w := range words {
		if known && w.positional {
			dirs = append(dirs, w.text)
		}
	}
	return dirs
}

type word struct {
	text       string
	positional bool
}

// isDirectory reports a word that roots replace. Of a program that is not known it has to look like a path.
func (w word) isDirectory(known bool) bool { return w.positional && (known || looksLikePath(w.text)) }

// splitWords tells flags and their values from positional arguments. A flag
// without "=" takes the next word, unless the flag is one that takes none.
func splitWords(args []string) []word {
	var out []word
	value, rest := false, false
	for _, a := range args {
		flag := !rest && len(a) > 1 && a[0] == '-'
		switch {
		case rest:
			out = append(out, word{a, true})
		case a == "--":
			rest = true
			out = append(out, word{a, false})
			value = false
		case flag:
			out = append(out, word{a, false})
			value = !strings.Contains(a, "=") && !isSwitch(a)
		default:
			out = append(out, word{a, !value})
			value = false
		}
	}
	return out
}

// isSwitch reports whether a flag is of a kind that takes no value.
func isSwitch(flag string) bool {
	name := strings.ToLower(strings.TrimLeft(flag, "-"))
	for _, p := range []string{"no-", "allow-", "disable-", "enable-", "skip-", "with-", "without-"} {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	switch name {
	case "read-only", "readonly", "read_only", "ro", "read-write", "rw", "writable",
		"verbose", "v", "vv", "debug", "quiet", "q", "silent", "y", "yes", "force",
		"stdio", "h", "help", "version", "strict", "dry-run", "follow-symlinks", "recursive", "hidden", "json":
		return true
	}
	return false
}

// looksLikePath is used where only "roots": "args" reports that there
// are directories: a bare word may be a subcommand.
func looksLikePath(arg string) bool {
	return arg == "." || arg == ".." || strings.HasPrefix(arg, "~") || strings.ContainsAny(arg, `/\`)
}

// An Expander replaces ${roots}, ${root} and ${root:NAME}.
type Expander struct {
	Roots     []guard.Root
	Separator string // between the roots where several must be one string
}

// A MissingRootError means that a placeholder has nothing to stand for.
type MissingRootError struct{ placeholder, known string }

func (e *MissingRootError) Error() string {
	if e.known == "" {
		return e.placeholder + " has no value: no root that is a directory is known"
	}
	return fmt.Sprintf("%s names no root; the roots are called %s", e.placeholder, e.known)
}

// NoRoot reports whether that is because no root is known at all.
func (e *MissingRootError) NoRoot() bool { return e.known == "" }

// rootNamed returns the root of a name. One that was called so comes before one whose directory is: a
// child may be shared by clients that repeat the directory's name and others that give none.
func (x Expander) rootNamed(name string) (string, bool) {
	for _, r := range x.Roots {
		if r.Name == name && r.Base() != name {
			return r.Path, true
		}
	}
	for _, r := range x.Roots {
		if r.Base() == name {
			return r.Path, true
		}
	}
	return "", false
}

func (x Expander) rootNames() string {
	var names []string
	for _, r := range x.Roots {
		names = append(names, fmt.Sprintf("%q", r.Label()))
	}
	return strings.Join(names, ", ")
}

// Text expands a string into one string: ${roots} is all roots with Separator between them.
func (x Expander) Text(s string) (string, error) {
	return x.Expand(s, strings.Join(RootPaths(x.Roots), x.Separator))
}

// holdsPlaceholder reports whether s has a placeholder that is not escaped ("$${root}" is the text "${root}").
func holdsPlaceholder(s, placeholder string) bool {
	for {
		i := strings.Index(s, placeholder)
		if i < 0 {
			return false
		}
		if i == 0 || s[i-1] != '$' {
			return true
		}
		s = s[i+len(placeholder):]
	}
}

// Expand replaces the placeholders of s; roots stands for ${roots}. It reads s once from
// left to right, so that a root's own path is never expanded again. What is escaped loses
// its first "$" and nothing else.
func (x Expander) Expand(s, roots string) (string, error) {
	var out strings.Builder
	for {
		i := strings.Index(s, "${root")
		if i < 0 {
			out.WriteString(s)
			return out.String(), nil
		}
		before := s[:i]
		s = s[i:]
		end := strings.IndexByte(s, '}')
		if end < 0 {
			out.WriteString(before)
			out.WriteString(s)
			return out.String(), nil
		}
		mark := s[:end+1]
		if literal, escaped := strings.CutSuffix(before, "$"); escaped {
			out.WriteString(literal)
			out.WriteString(mark)
			s = s[end+1:]
			continue
		}
		out.WriteString(before)
		value, err := x.placeholderValue(mark, roots)
		if err != nil {
			return "", err
		}
		out.WriteString(value)
		s = s[end+1:]
	}
}

func (x Expander) placeholderValue(mark, roots string) (string, error) {
	name, named := strings.CutPrefix(mark, "${root:")
	switch {
	case mark == "${roots}":
		return roots, nil
	case mark == "${root}" && len(x.Roots) > 0:
		return x.Roots[0].Path, nil
	case mark == "${root}":
		return "", &MissingRootError{placeholder: mark}
	case named:
		if p, ok := x.rootNamed(strings.TrimSuffix(name, "}")); ok {
			return p, nil
		}
		return "", &MissingRootError{mark, x.rootNames()}
	}
	return mark, nil // ${rootless}: not ours
}

// Args expands arguments. One with ${roots} becomes one argument for each root.
func (x Expander) Args(in []string) ([]string, error) {
	var out []string
	for _, a := range in {
		each := []string{""}
		if holdsPlaceholder(a, "${roots}") {
			each = RootPaths(x.Roots)
		}
		for _, p := range each {
			v, err := x.Expand(a, p)
			if err != nil {
				return nil, err
			}
			out = append(out, v)
		}
	}
	return out, nil
}

// RootPaths returns the paths of roots.
func RootPaths(roots []guard.Root) []string {
	out := make([]string, 0, len(roots))
	for _, r := range roots {
		out = append(out, r.Path)
	}
	return out
}
