package launch

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mcphub/children/confinement"
	"mcphub/children/program"
	"mcphub/children/sandbox"
	"mcphub/internal/commandline"
	"mcphub/internal/reference"
	"mcphub/rootsmgr"
	"mcphub/rootsmgr/guard"
)

// A Launch is everything that decides how one run of a child starts; equal
// Launches start the same thing.
type Launch struct {
	Command  string   // absolute path of the program
	Args     []string // without the program's own name
	Env      []string // NAME=value, sorted; the whole environment
	Dir      string   // the working directory that the program is to have
	StartDir string   // where the process starts instead; "" is Dir

	EnvFile string // the file with more variables, see withEnvFile; "": none

	// RootsFile is the text of the file that MCP_ROOTS_FILE is to name; nil
	// if the environment holds the roots themselves.
	RootsFile []byte

	// OnStderr, where set, is given each line of stderr as plain text, in order. It
	// must not block: the child waits for it. It decides nothing.
	OnStderr func(pid int, line string)
	// Refused, where set, learns what the child was refused by the kernel, as far as its
	// stderr tells. It is called by any goroutine and must not block.
	Refused func(f sandbox.Refusal)

	Sandbox *confinement.Confinement // how the kernel holds it; nil: not at all

	// Record, if set, notes what the child uses beyond Sandbox, which holds it unless
	// Record.Free is set.
	Record *sandbox.Recorder

	Limits program.Limits // of all its processes together; set by who starts it

	CwdRoot string // the root that Dir comes from; "" if it comes from none
	Rewrote bool   // directory arguments were replaced by roots
}

// Same reports whether starting o instead of l would make no difference.
func (l Launch) Same(o Launch) bool {
	return l.SamePlace(o) && l.EnvFile == o.EnvFile && slices.Equal(l.Env, o.Env) && string(l.RootsFile) == string(o.RootsFile) &&
		l.Sandbox.Same(o.Sandbox)
}

// SamePlace reports whether o starts the same program, with the same arguments and in
// the same directory. The environment may differ.
func (l Launch) SamePlace(o Launch) bool {
	return l.Command == o.Command && l.Dir == o.Dir && l.StartDir == o.StartDir && slices.Equal(l.Args, o.Args)
}

// Plan computes how a child starts with these roots. Its error reports what
// the operator or the person at the client can do.
func Plan(prog program.Program, roots []guard.Root, h Machine) (Launch, error) {
	h.Host = h.WithLookupCache().WithRoots(roots)
	prog = prog.ReadOnce(h.Real)
	dirs := rootsmgr.Directories(roots)
	if prog.TakesDirectories() {
		roots = dirs
	}
	args, err := program.Expander{Roots: dirs, Separator: " "}.Args(prog.RewrittenArgs(program.RootPaths(dirs)))
	if err != nil {
		return Launch{}, fmt.Errorf("args: %w", err)
	}
	env, file, err := childEnv(prog, roots, h)
	if err != nil {
		return Launch{}, err
	}
	l := Launch{RootsFile: file, Rewrote: prog.RewritesArgs() && len(dirs) > 0}
	if l.Dir, l.CwdRoot, err = workingDir(prog, dirs, h); err != nil {
		return Launch{}, err
	}
	if l.EnvFile, err = envFile(prog, dirs, h); err != nil {
		return Launch{}, err
	}
	precautions, err := prog.Precautions(args, h.scratch, h.shell)
	if err != nil {
		return Launch{}, err
	}
	if h.installed != nil {
		prog, h.fetched, precautions.Args = prog.WithInstalled(args, h.installed)
		precautions.Enter, precautions.Neutral = false, precautions.Neutral && h.installed.Neutral
	}
	l.Args = precautions.Args
	if precautions.Neutral && h.scratch == "" {
		return Launch{}, errors.New("no private directory to start the launcher in: the cache folder cannot be written; set XDG_CACHE_HOME, or allow the project's own tools with \"local\": true")
	}
	switch {
	case precautions.Enter:
		l.StartDir = h.scratch
		env.Set(WorkdirVariable, l.Dir)
	case precautions.Neutral:
		l.Dir, l.CwdRoot = h.scratch, ""
	}
	if _, set := prog.Env["PYTHONSAFEPATH"]; precautions.SafePath && !set && !h.PythonLoads(prog) {
		env.Set("PYTHONSAFEPATH", "1")
	}
	joinFolder(prog, env, roots, h)
	skipped, err := trimSearch(prog, env, roots, h)
	if err != nil {
		return Launch{}, err
	}
	if h.installed != nil && h.installed.Command == "" {
		l.Env = env.List()
		return l, nil // it can learn where it will work, and no more
	}
	l.Command, err = findProgram(prog, env, l.Dir, h)
	if err == nil && h.System() == "windows" {
		l.Command, l.Args = withoutCmd(prog, l, env, h)
	}
	if err == nil {
		l.Sandbox, err = h.Confine(h.childConfinement(prog, env, l))
	}
	if l.Env = env.List(); err != nil {
		for _, dir := range skipped {
			if found := withExtensions(filepath.Join(dir, prog.Command), env, h); found != "" && !strings.ContainsAny(prog.Command, `/`+string(filepath.Separator)) {
				return l, fmt.Errorf("command %q was found only as %s, inside a root, where whoever wrote the project could have put it; write its absolute path, or allow it with \"local\": true", prog.Command, found)
			}
		}
		return l, err
	}
	if h.System() == "windows" {
		err = checkBatch(l, roots, h)
	}
	return l, err
}

// childConfinement returns what Confine is told about the Launch. It shares the environment, which Confine adds to.
func (m Machine) childConfinement(prog program.Program, env *program.Environment, l Launch) confinement.Child {
	return confinement.Child{
		Program: prog, Env: env, Command: l.Command, Args: l.Args, Dir: l.Dir, StartDir: l.StartDir,
		Scratch: m.scratch, Shell: m.shell, Temp: m.temp, Cache: m.cache, Fresh: m.fresh, Installed: m.installed, Package: m.fetched,
	}
}

// childEnv builds the environment: what is passed on, the child's own, the
// roots. A variable that names a root where none is known stays unset.
func childEnv(prog program.Program, roots []guard.Root, h Machine) (*program.Environment, []byte, error) {
	env := h.Inherited(prog.Inherit)
	sep := ":"
	if h.System() == "windows" {
		sep = ";"
	}
	x := program.Expander{Roots: rootsmgr.Directories(roots), Separator: sep}
	for name, value := range prog.Env {
		if name == "" || strings.ContainsAny(name, "=\x00") || !reference.Valid(value) {
			return nil, nil, fmt.Errorf("env: %q cannot be a variable: a name without = and a value without NUL is needed", name)
		}
		v, err := x.Text(value)
		var missing *program.MissingRootError
		switch {
		case errors.As(err, &missing) && missing.NoRoot():
			env.Unset(name)
			continue
		case err != nil:
			return nil, nil, fmt.Errorf("env %s: %w", name, err)
		}
		env.Set(name, v)
	}
	file := env.SetRoots(roots)
	return env, file, nil
}

// WorkingDir returns the directory in which a program would work that is served these roots; "" if it would
// have an empty one of its own, or none.
func (m Machine) WorkingDir(prog program.Program, roots []guard.Root) string {
	dir, _, _ := workingDir(prog, rootsmgr.Directories(roots), m)
	return dir
}

// workingDir chooses the working directory, and reports which root it is.
func workingDir(prog program.Program, roots []guard.Root, h Machine) (dir, root string, err error) {
	if prog.Cwd != "" && !(prog.Cwd == "${root}" && len(roots) == 0) {
		x := program.Expander{Roots: roots}
		dir, err := x.Expand(prog.Cwd, firstPath(roots))
		if err != nil {
			return "", "", fmt.Errorf("cwd: %w", err)
		}
		if h.IsForeign(dir) {
			return "", "", fmt.Errorf("cwd: %s is on a host that no root names", dir)
		}
		if !filepath.IsAbs(dir) {
			return "", "", fmt.Errorf("cwd: %q is not an absolute path", dir)
		}
		if !h.IsDir(dir) {
			return "", "", fmt.Errorf("cwd: %s is not a directory that can be entered", dir)
		}
		if program.NamesRoots(prog.Cwd) {
			root = dir
		}
		return dir, root, nil
	}
	for _, r := range roots {
		if h.IsDir(r.Path) {
			return r.Path, r.Path, nil
		}
	}
	if prog.Shared {
		if h.own == "" {
			return "", "", errors.New("no directory of its own to start in, which a shared server without roots needs; set \"cwd\"")
		}
		return h.own, "", nil
	}
	if h.dir != "" && h.dir != filepath.Dir(h.dir) && h.IsDir(h.dir) {
		return h.dir, "", nil
	}
	if h.Home() != "" && h.IsDir(h.Home()) {
		return h.Home(), "", nil
	}
	return "", "", errors.New("no working directory: neither a root nor the home folder exists; set \"cwd\"")
}

func firstPath(roots []guard.Root) string {
	if len(roots) == 0 {
		return ""
	}
	return roots[0].Path
}

// trimSearch takes out of PATH what a hostile clone could fill: entries that mean
// the working directory, and folders that lie inside a root, which it returns. The
// folder of an absolute command stays. Other variables that make programs come from
// the working directory are refused.
func trimSearch(prog program.Program, env *program.Environment, roots []guard.Root, h Machine) (skipped []string, err error) {
	if prog.Local {
		return nil, nil
	}
	if v, ok := env.Get("PATH"); ok {
		var keep []string
		projects := h.projectRoots(roots)
		for _, p := range filepath.SplitList(v) {
			switch {
			case !filepath.IsAbs(p):
			case p != filepath.Dir(prog.Command) && projects.holdsPath(p):
				skipped = append(skipped, p)
			default:
				keep = append(keep, p)
			}
		}
		if env.Set("PATH", strings.Join(keep, string(filepath.ListSeparator))); len(keep) == 0 {
			env.Unset("PATH") // an empty one means the working directory
		}
	}
	if prog.Cwd != "" && !program.NamesRoots(prog.Cwd) {
		return skipped, nil
	}
	for _, name := range env.Names() {
		if value, _ := env.Get(name); commandline.LoadsFromWorkingDir(env.Key(name), value) {
			return nil, fmt.Errorf("env %s: %q would make programs come from the working directory, which may be a project somebody else wrote; write absolute paths, set \"cwd\", or allow it with \"local\": true", name, value)
		}
	}
	return skipped, nil
}

// joinFolder puts the folder of an absolute command first on PATH, if it is not there. A script of nvm, fnm or Homebrew starts by
// "env node", and that node lies beside it. An entry that sets PATH itself means what it wrote. A folder inside a root joins only for
// a Local program.
func joinFolder(prog program.Program, env *program.Environment, roots []guard.Root, h Machine) {
	for name := range prog.Env {
		if env.Key(name) == "PATH" {
			return
		}
	}
	dir := filepath.Dir(prog.Command)
	path, ok := env.Get("PATH")
	if ok && filepath.IsAbs(prog.Command) && !h.WithRoots(nil).IsForeign(prog.Command) && !slices.Contains(filepath.SplitList(path), dir) && (prog.Local || !h.projectRoots(roots).holdsPath(dir)) {
		env.Set("PATH", dir+string(filepath.ListSeparator)+path)
	}
}

// projects are the roots that another user's project may be, as a system that ignores case
// has them. A root that holds the home folder is none: it is no one's project, and the
// user's own tools are in it.
type projects struct {
	h     Machine
	roots map[string]bool
}

func (m Machine) projectRoots(roots []guard.Root) projects {
	p := projects{m, make(map[string]bool, len(roots))}
	home := p.foldPath(m.Home())
	for _, r := range roots {
		if path := p.foldPath(r.Path); !sandbox.Contains(path, home) {
			p.roots[path] = true
		}
	}
	return p
}

func (p projects) foldPath(path string) string {
	if p.h.System() == "windows" || p.h.System() == "darwin" {
		path = strings.ToLower(path)
	}
	return filepath.Clean(path)
}

// holdsPath reports whether a directory is one of them or lies inside one, as it is written or
// where its links lead.
func (p projects) holdsPath(dir string) bool {
	for _, at := range []string{p.foldPath(dir), p.foldPath(p.h.Real(dir))} {
		for !p.roots[at] && at != filepath.Dir(at) {
			at = filepath.Dir(at)
		}
		if p.roots[at] {
			return true
		}
	}
	return false
}

// findProgram finds the command as the child's own environment would. A name
// with a separator must be absolute, or start from a directory that the
// operator chose.
func findProgram(prog program.Program, env *program.Environment, dir string, h Machine) (string, error) {
	switch c := prog.Command; {
	case c == "":
		return "", errors.New("no command: set \"command\"")
	case strings.ContainsRune(c, 0):
		return "", errors.New("command: NUL cannot be part of a path")
	case h.WithRoots(nil).IsForeign(c): // no root makes a share a place of programs
		return "", fmt.Errorf("command %q is on another machine: copy the program to this one", c)
	case filepath.IsAbs(c):
		if found := withExtensions(c, env, h); found != "" {
			return found, nil
		}
		return "", noProgram(c, h)
	case strings.ContainsAny(c, `/`+string(filepath.Separator)):
		if !prog.Local && (prog.Cwd == "" || program.NamesRoots(prog.Cwd)) {
			return "", fmt.Errorf("command %q would be taken from the working directory, which may be a project somebody else wrote; write an absolute path, set \"cwd\", or allow it with \"local\": true", c)
		}
		if found := withExtensions(filepath.Join(dir, c), env, h); found != "" {
			return found, nil
		}
		return "", noProgram(filepath.Join(dir, c), h)
	}
	list, _ := env.Get("PATH")
	for _, p := range filepath.SplitList(list) {
		if !filepath.IsAbs(p) {
			if !prog.Local {
				continue
			}
			p = filepath.Join(dir, p)
		}
		if found := withExtensions(filepath.Join(p, prog.Command), env, h); found != "" {
			return found, nil
		}
	}
	return "", fmt.Errorf("command %q was not found in PATH; install it, or write its absolute path", prog.Command)
}

// A NotProgramError means that a file cannot be started, and what helps.
type NotProgramError struct {
	Path string
	Hint string
	Run  []string // a program and its arguments that help; may be empty
}

func (e *NotProgramError) describeFile() string {
	return "command " + e.Path + " is not an executable file"
}

func (e *NotProgramError) Error() string { return e.describeFile() + "; " + e.Hint }

func noProgram(path string, h Machine) error {
	e := &NotProgramError{Path: path, Hint: "make it one", Run: []string{"chmod", "+x", path}}
	if _, err := os.Stat(path); err != nil {
		e.Hint, e.Run = "nothing is there: correct the path, or write the name alone to have it looked up in PATH", nil
	} else if h.IsDir(path) {
		e.Hint, e.Run = "it is a folder: name the program in it", nil
	}
	return e
}

// withExtensions returns path, or on Windows path with an ending of PATHEXT,
// if that is a program; "" if there is none.
func withExtensions(path string, env *program.Environment, h Machine) string {
	if h.System() != "windows" {
		if h.IsProgram(path) {
			return path
		}
		return ""
	}
	if filepath.Ext(path) != "" && h.IsProgram(path) {
		return path
	}
	exts, ok := env.Get("PATHEXT")
	if !ok {
		exts = ".COM;.EXE;.BAT;.CMD"
	}
	for _, ext := range strings.Split(exts, ";") {
		if ext != "" && h.IsProgram(path+ext) {
			return path + ext
		}
	}
	return ""
}
