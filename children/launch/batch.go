package launch

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mcphub/children/program"
	"mcphub/internal/commandline"
	"mcphub/internal/lazyregexp"
	"mcphub/internal/reference"
	"mcphub/rootsmgr/guard"
)

// batchSpecial is what cmd.exe reads in the command line of a batch file, in
// quotes or not: variables, what joins and redirects commands, what ends quotes.
const batchSpecial = "%^&|<>\"!\r\n\x00"

// npmShim matches a batch file that npm writes for the program of a package (cmd-shim), with one blank for all that is blank. It
// captures the arguments of node, which begin with a blank, and the script, or the program if node does not run it.
var npmShim = lazyregexp.New(`^@ECHO off GOTO start :find_dp0 SET dp0=%~dp0 EXIT /b :start SETLOCAL CALL :find_dp0 ` +
	`(?:(?:IF EXIST "%dp0%\\node\.exe" \( SET "_prog=%dp0%\\node\.exe" \) ELSE \( SET "_prog=node" SET PATHEXT=%PATHEXT:;\.JS;=;% \) ` +
	`endLocal & goto #_undefined_# 2>NUL \|\| title %COMSPEC% & "%_prog%"((?: -[\w.=/:-]+)*) "%dp0%\\([^"%]+)")|"%dp0%\\([^"%]+)") %\*$`)

// behindBatch returns the program that a batch file of npm runs, and the first arguments of that program. Such files are npx.cmd
// and npm.cmd, and the ones that npm writes for programs of packages. ok is false for any other file.
func behindBatch(batch string, env *program.Environment, h Machine) (command string, args []string, ok bool) {
	dir, name := filepath.Dir(batch), commandline.BaseName(batch)
	below := func(path string) string {
		return filepath.Join(dir, filepath.FromSlash(strings.ReplaceAll(path, `\`, "/")))
	}
	script := below("node_modules/npm/bin/" + name + "-cli.js")
	if name != "npx" && name != "npm" || !h.IsProgram(script) {
		text, err := os.ReadFile(batch)
		found := npmShim.FindStringSubmatch(strings.Join(strings.Fields(string(text)), " "))
		if err != nil || found == nil {
			return "", nil, false
		}
		script = below(cmp.Or(found[2], found[3]))
		if found[2] == "" {
			return script, nil, !isBatch(script) && h.IsProgram(script)
		}
		args = strings.Fields(found[1])
	}
	command = below("node.exe")
	if !h.IsProgram(command) {
		command, _ = findProgram(program.Program{Command: "node"}, env, dir, h)
	}
	return command, append(args, script), command != "" && !isBatch(command) && h.IsProgram(script)
}

// withoutCmd returns the program and the arguments of a Launch on Windows, so that cmd.exe reads none of them, if the program is a batch
// file of npm. It leaves out "cmd /c" before that file, unless hub.json has text behind it that cmd.exe is to read.
func withoutCmd(prog program.Program, l Launch, env *program.Environment, h Machine) (command string, args []string) {
	command, args = l.Command, l.Args
	forCmd := func(a string) bool { return !reference.Has(a) && readByCmd(a) != "" }
	if commandline.BaseName(prog.Command) == "cmd" && len(args) > 1 && strings.EqualFold(args[0], "/c") && !slices.ContainsFunc(prog.Args, forCmd) {
		prog.Command, args = args[1], args[2:]
		command, _ = findProgram(prog, env, l.Dir, h)
	}
	if isBatch(command) {
		if behind, first, ok := behindBatch(command, env, h); ok {
			return behind, append(first, args...)
		}
	}
	return l.Command, l.Args
}

// checkBatch refuses arguments that cmd.exe would read again, on Windows: it runs
// batch files, and takes their command line for commands of its own, however it is
// quoted. What follows "cmd /c" in hub.json is the operator's own text; there only
// roots, and folders and programs of the hub, are values.
func checkBatch(l Launch, roots []guard.Root, h Machine) error {
	switch {
	case isBatch(l.Command):
		if why := readByCmd(l.Command); why != "" {
			return fmt.Errorf("command %s: %s", l.Command, why)
		}
		for i, a := range l.Args {
			if reference.Has(a) {
				return fmt.Errorf("args: argument %d of %s, %q: %s", i+1, filepath.Base(l.Command), a, secretToCmd)
			}
			if why := readByCmd(a); why != "" {
				return fmt.Errorf("args: argument %d of %s, %q: %s; rename the folder, or run the program behind the batch file (node FILE.js in place of npx)", i+1, filepath.Base(l.Command), a, why)
			}
		}
	case commandline.BaseName(l.Command) == "cmd":
		for i, a := range l.Args {
			if reference.Has(a) {
				return fmt.Errorf("args: argument %d of cmd, %q: %s", i+1, a, secretToCmd)
			}
		}
		for _, value := range append(program.RootPaths(roots), h.scratch, h.shell) {
			why := readByCmd(value)
			for i, a := range l.Args {
				if why != "" && strings.Contains(a, value) {
					return fmt.Errorf("args: argument %d of cmd, %q: %s; rename the folder", i+1, a, why)
				}
			}
		}
	}
	return nil
}

// secretToCmd is said of a secret in the command line of a batch file. Its value
// is not known before the start, so no one has looked for what cmd.exe would read.
const secretToCmd = "cmd.exe, which runs batch files, could read a part of the secret as an instruction; pass it under env, or run the program behind the batch file (node FILE.js in place of npx)"

// isBatch reports whether Windows runs a program by cmd.exe. Dots and blanks at
// the end of a name do not count there.
func isBatch(program string) bool {
	name := strings.ToLower(strings.TrimRight(program, ". "))
	return strings.HasSuffix(name, ".cmd") || strings.HasSuffix(name, ".bat")
}

// readByCmd returns what in a text cmd.exe would read; "" for nothing.
func readByCmd(text string) string {
	i := strings.IndexAny(text, batchSpecial)
	if i < 0 {
		return ""
	}
	return fmt.Sprintf("cmd.exe, which runs batch files, would read its %q as an instruction", text[i:i+1])
}
