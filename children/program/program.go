package program

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"

	"mcphub/children/entry"
	"mcphub/children/sandbox"
)

// Rewrite says when directories among the arguments of a program are replaced by
// root paths.
type Rewrite uint8

const (
	// RewriteKnown replaces the arguments of programs that are known to be filesystem-like.
	RewriteKnown Rewrite = iota
	// RewriteAlways replaces the arguments of any program.
	RewriteAlways
	// RewriteNever leaves all arguments alone.
	RewriteNever
)

// Limits bound all processes of one server together. The zero value bounds nothing.
type Limits struct {
	Memory    int64 // bytes
	Processes int   // threads count as well
}

// A Program is what an entry of hub.json says about the process to start. Args, Cwd,
// EnvFile and the values of Env may hold ${roots}, ${root} and ${root:NAME}; Args and
// the values of Env marks of secrets (internal/reference), which stay as they are.
type Program struct {
	Command string            // a name looked up in the child's PATH, or an absolute path
	Args    []string          //
	Env     map[string]string // the child's own variables, over what is passed on
	EnvFile string            // more variables, which count for less than Env; absolute, "": none
	Inherit []string          // more names of the hub's environment to pass on
	Cwd     string            // absolute; "": the first root that exists
	Rewrite Rewrite
	Shared  bool // several sessions are served: no directory of this process is for it
	Local   bool // the program may come from the working directory

	Directories bool // it can do with directories only, if a root is a file

	Sandbox sandbox.Settings

	memo *lineMemo // nil: the command line is read each time
}

// TakesDirectories reports whether the child takes every root for a directory: it
// is given roots in its arguments, cwd or environment, or is a filesystem-like
// server that is told about them.
func (prog Program) TakesDirectories() bool {
	if prog.Directories || prog.GivenRoots() {
		return true
	}
	_, serves := prog.servedLine()
	return serves
}

// NeedsRoots reports whether the child cannot be started sensibly before the
// first roots are known: its arguments, cwd or environment name them, its
// directory arguments are rewritten, or the kernel is to hold it to them.
func (prog Program) NeedsRoots() bool { return prog.Sandbox.Confines() || prog.GivenRoots() }

// GivenRoots reports whether its arguments, cwd or environment are given root paths.
func (prog Program) GivenRoots() bool {
	if prog.RewritesArgs() || NamesRoots(prog.Cwd) || NamesRoots(prog.EnvFile) || prog.ArgsNameRoots() {
		return true
	}
	for _, v := range prog.Env {
		if NamesRoots(v) {
			return true
		}
	}
	return false
}

// ArgsNameRoots reports whether an argument holds a placeholder for roots.
func (prog Program) ArgsNameRoots() bool { return slices.ContainsFunc(prog.Args, NamesRoots) }

// NamesRoots reports whether a text holds a placeholder for roots.
func NamesRoots(s string) bool {
	return holdsPlaceholder(s, "${roots}") || holdsPlaceholder(s, "${root}") || holdsPlaceholder(s, "${root:")
}

// NameOf returns the path that the entry names and that a path is or lies in, in the spelling of the entry.
func (prog Program) NameOf(path, home string) (name string, ok bool) {
	for _, n := range prog.Names(home) {
		if sandbox.Contains(n.Path, path) || sandbox.Contains(sandbox.RealPath(n.Path), path) {
			return n.Path, true
		}
	}
	return "", false
}

// Names returns the paths that the entry names. A directory that roots replace is none of
// them.
func (prog Program) Names(home string) []entry.Name {
	e := entry.Entry{Command: prog.Command, Args: prog.Args, Env: prog.Env, Cwd: prog.Cwd, Home: home}
	if prog.RewritesArgs() {
		first, words, known := prog.ownWords()
		e.Void = func(arg int) bool { return arg >= first && words[arg-first].isDirectory(known) }
	}
	return entry.Names(&e)
}

// Reads reports whether the entry opens a file to its program for reading.
func (prog Program) Reads(path string) bool {
	return slices.ContainsFunc(prog.Sandbox.Read, func(dir string) bool { return sandbox.Contains(dir, path) })
}

// Digest returns a digest of what the entry names. It changes when the entry may name other
// paths.
func (prog Program) Digest() string {
	sum := sha256.New()
	for _, part := range [][]string{{"2", prog.Command, prog.Cwd, prog.EnvFile}, prog.Args, prog.Sandbox.Read, prog.Sandbox.Write, {prog.Sandbox.Mode.String()}} {
		fmt.Fprintf(sum, "%q", part)
	}
	for _, name := range slices.Sorted(maps.Keys(prog.Env)) {
		fmt.Fprintf(sum, "%q", []string{name, prog.Env[name]})
	}
	return hex.EncodeToString(sum.Sum(nil)[:16])
}
