package launch

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"mcphub/children/sandbox"
)

// Rewrite says when directories among the arguments of a program are replaced by
// root paths.
type Rewrite uint8

const (
	// RewriteKnown replaces those of programs that are known to be filesystem-like.
	RewriteKnown Rewrite = iota
	// RewriteAlways replaces those of any program.
	RewriteAlways
	// RewriteNever leaves all arguments alone.
	RewriteNever
)

// A Program is what an entry of hub.json says of the process to start. Args, Cwd,
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

	Directories bool // it can do with directories only, where a root is a file

	Sandbox sandbox.Settings
}

// TakesDirectories reports whether the child takes every root for a directory: it
// is given roots in its arguments, cwd or environment, or is a filesystem-like
// server that is told of them.
func (prog Program) TakesDirectories() bool {
	return prog.Directories || prog.GivenRoots() || prog.Official()
}

// NeedsRoots reports whether the child cannot be started sensibly before the
// first roots are known: its arguments, cwd or environment name them, its
// directory arguments are rewritten, or the kernel is to hold it to them.
func (prog Program) NeedsRoots() bool { return prog.Sandbox.Confines() || prog.GivenRoots() }

// GivenRoots reports whether its arguments, cwd or environment are given root paths.
func (prog Program) GivenRoots() bool {
	if rewritesArgs(prog) || namesRoots(prog.Cwd) || namesRoots(prog.EnvFile) || prog.ArgsNameRoots() {
		return true
	}
	for _, v := range prog.Env {
		if namesRoots(v) {
			return true
		}
	}
	return false
}

// ArgsNameRoots reports whether an argument holds a placeholder for roots.
func (prog Program) ArgsNameRoots() bool { return slices.ContainsFunc(prog.Args, namesRoots) }

func namesRoots(s string) bool {
	return holds(s, "${roots}") || holds(s, "${root}") || holds(s, "${root:")
}

// Traces tell, without starting it, whether the program is the one that it was.
type Traces struct {
	Inherited [][]string // the variables that the entry asks for: name, value, and whether it is set
	Files     [][]string // that hold the program: path, size, time and inode
}

// Traces looks for the traces of the program; the error says why it cannot be started.
// Where remote is set there is no program here, and no file.
func (prog Program) Traces(h Machine, remote bool) (t Traces, err error) {
	env, _, err := childEnv(prog, nil, h)
	if err != nil {
		return t, err
	}
	for _, name := range prog.Inherit {
		value, set := env.get(name)
		t.Inherited = append(t.Inherited, []string{name, value, strconv.FormatBool(set)})
	}
	if remote {
		return t, nil
	}
	found, err := findProgram(prog, env, prog.Cwd, h)
	if err != nil {
		return t, err
	}
	for _, file := range programFiles(prog, found) {
		t.Files = append(t.Files, fileMark(file))
	}
	return t, nil
}

// programFiles are the files that hold the program: itself, and for an
// interpreter the script.
func programFiles(prog Program, program string) []string {
	files := []string{program}
	if real, err := filepath.EvalSymlinks(program); err == nil && real != program {
		files = append(files, real)
	}
	if at := programAt(prog.Command, prog.Args); at >= 0 && at < len(prog.Args) {
		script := prog.Args[at]
		if !filepath.IsAbs(script) && filepath.IsAbs(prog.Cwd) {
			script = filepath.Join(prog.Cwd, script)
		}
		if filepath.IsAbs(script) {
			files = append(files, script)
		}
	}
	return files
}

// fileMark tells a file from what stood at its path before.
func fileMark(path string) []string {
	fi, err := os.Stat(path)
	if err != nil {
		return []string{path, "none"}
	}
	return []string{path, strconv.FormatInt(fi.Size(), 10), strconv.FormatInt(fi.ModTime().UnixNano(), 10), strconv.FormatUint(inode(fi), 10)}
}
