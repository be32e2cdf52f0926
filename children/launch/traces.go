package launch

import (
	"os"
	"path/filepath"
	"strconv"

	"mcphub/children/program"
	"mcphub/children/sandbox"
	"mcphub/internal/commandline"
	"mcphub/rootsmgr/guard"
)

// A Fingerprint tells, without starting it, whether the program is the one that it was.
type Fingerprint struct {
	Inherited [][]string // the variables that the entry asks for: name, value, and whether it is set
	Files     [][]string // that hold the program: path, size, time and inode
}

// Traces takes the fingerprint of the program; the error reports why it cannot be
// started. Where remote is set there is no program here, and no file.
func (m Machine) Traces(prog program.Program, remote bool) (t Fingerprint, err error) {
	env, _, err := childEnv(prog, nil, m)
	if err != nil {
		return t, err
	}
	for _, name := range prog.Inherit {
		value, set := env.Get(name)
		t.Inherited = append(t.Inherited, []string{name, value, strconv.FormatBool(set)})
	}
	if remote {
		return t, nil
	}
	found, err := findProgram(prog, env, prog.Cwd, m)
	if err != nil {
		return t, err
	}
	for _, file := range programFiles(prog, found) {
		t.Files = append(t.Files, sandbox.FindOnce(m.Looks(), "mark "+file, func() []string { return fileMark(file) }))
	}
	return t, nil
}

// programFiles returns the files that hold the program: the one that was found, and
// for an interpreter the script. A link stands for the file that it leads to: see fileMark.
func programFiles(prog program.Program, found string) []string {
	files := []string{found}
	if at := commandline.ProgramAt(prog.Command, prog.Args); at >= 0 && at < len(prog.Args) {
		script := prog.Args[at]
		if !filepath.IsAbs(script) && filepath.IsAbs(prog.Cwd) {
			script = filepath.Join(prog.Cwd, script)
		}
		if filepath.IsAbs(script) && guard.MayFollow(script, nil) {
			files = append(files, script)
		}
	}
	return files
}

// fileMark tells a file from what stood at its path, or was led to by it, before.
func fileMark(path string) []string {
	fi, err := os.Stat(path)
	if err != nil {
		return []string{path, "none"}
	}
	return []string{path, strconv.FormatInt(fi.Size(), 10), strconv.FormatInt(fi.ModTime().UnixNano(), 10), strconv.FormatUint(inodeOf(fi), 10)}
}
