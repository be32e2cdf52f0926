package launch

import (
	"fmt"
	"path/filepath"
	"strings"

	"mcphub/children/program"
	"mcphub/internal/reference"
	"mcphub/rootsmgr/guard"
)

// batchSpecial is what cmd.exe reads in the command line of a batch file, in
// quotes or not: variables, what joins and redirects commands, what ends quotes.
const batchSpecial = "%^&|<>\"!\r\n\x00"

// checkBatch refuses arguments that cmd.exe would read once more, on Windows: it
// runs batch files, and takes their command line for commands of its own, however
// it is quoted. What follows "cmd /c" in hub.json is the operator's own text; there
// only roots are values.
func checkBatch(prog program.Program, l Launch, roots []guard.Root) error {
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
	case program.BaseName(prog.Command) == "cmd":
		for i, a := range l.Args {
			if reference.Has(a) {
				return fmt.Errorf("args: argument %d of cmd, %q: %s", i+1, a, secretToCmd)
			}
		}
		for _, r := range roots {
			why := readByCmd(r.Path)
			for i, a := range l.Args {
				if why != "" && strings.Contains(a, r.Path) {
					return fmt.Errorf("args: argument %d of cmd, %q: %s; rename the folder", i+1, a, why)
				}
			}
		}
	}
	return nil
}

// secretToCmd is said of a secret in the command line of a batch file. Its value
// is not known before the start, so nobody has looked for what cmd.exe would read.
const secretToCmd = "cmd.exe, which runs batch files, could read a part of the secret as an instruction; pass it under env, or run the program behind the batch file (node FILE.js in place of npx)"

// isBatch reports whether Windows runs a program by cmd.exe. Dots and blanks at
// the end of a name do not count there.
func isBatch(program string) bool {
	name := strings.ToLower(strings.TrimRight(program, ". "))
	return strings.HasSuffix(name, ".cmd") || strings.HasSuffix(name, ".bat")
}

// readByCmd says what in a text cmd.exe would read; "" for nothing.
func readByCmd(text string) string {
	i := strings.IndexAny(text, batchSpecial)
	if i < 0 {
		return ""
	}
	return fmt.Sprintf("cmd.exe, which runs batch files, would read its %q as an instruction", text[i:i+1])
}
