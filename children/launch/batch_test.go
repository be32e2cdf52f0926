package launch

import (
	"strings"
	"testing"

	"mcphub/children/confinement"
	"mcphub/children/program"
)

// What cmd.exe would read again reaches no batch file (the class of
// CVE-2024-24576): the rule is pure, so it is held on every system.
func TestBatchFilesGetNothingThatCmdReads(t *testing.T) {
	t.Parallel()
	o := fakeOptions([]string{`/r`, `/x&calc`}, "/bin/npx.CMD", "/bin/kid.EXE", "/bin/odd.bat. ", "/bin/cmd.EXE")
	o.System = "windows"
	h := on(o)
	for _, c := range []struct {
		name, command, arg, root, err string
	}{
		{"plain", "npx", "-y", "/r", ""},
		{"a path with blanks and parentheses", "npx", `C:\Program Files (x86)\a,b;c=d`, "/r", ""},
		{"a root that is two commands", "npx", "${root}", "/x&calc", `"/x&calc"`},
		{"in the middle of an argument", "npx", "--dir=${root}/y", "/x&calc", `"--dir=/x&calc/y"`},
		{"variable", "npx", "%USERPROFILE%", "/r", `"%"`},
		{"caret", "npx", "pkg@^1.0", "/r", `"^"`},
		{"pipe", "npx", "a|b", "/r", `"|"`},
		{"input", "npx", "a<b", "/r", `"<"`},
		{"output", "npx", "a>b", "/r", `">"`},
		{"end of quotes", "npx", `a"b`, "/r", "instruction"},
		{"delayed variable", "npx", "a!b!", "/r", `"!"`},
		{"line", "npx", "a\ncalc", "/r", `"\n"`},
		{"return", "npx", "a\rcalc", "/r", `"\r"`},
		{"name with a dot and a blank behind", "/bin/odd.bat. ", "a&b", "/r", "odd.bat"},
		{"a program of its own reads no such thing", "kid", "a&b|%c%", "/r", ""},
		{"a root for a program", "kid", "${root}", "/x&calc", ""},
		{"the operator's own text for cmd", "cmd", "a && b", "/r", ""},
		{"a root in it", "cmd", "a ${root}", "/x&calc", `"a /x&calc"`},
	} {
		args := []string{c.arg}
		if c.command == "cmd" {
			args = []string{"/c", c.arg}
		}
		spec := program.Program{Command: c.command, Args: args}
		_, err := Plan(spec, rootsAt(c.root), h)
		if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err) || !strings.Contains(err.Error(), "cmd.exe")) {
			t.Errorf("%s: %v", c.name, err)
		}
		other := o
		other.System = "linux" // control: no one reads them there
		other.Disk = &confinement.Disk{Real: o.Disk.Real, IsDir: o.Disk.IsDir, IsProgram: func(string) bool { return true }}
		if _, err := Plan(spec, rootsAt(c.root), on(other)); err != nil {
			t.Errorf("%s, elsewhere: %v", c.name, err)
		}
	}
}
