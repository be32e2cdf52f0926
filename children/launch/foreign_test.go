package launch

import (
	"strings"
	"testing"

	"mcphub/children/program"
	"mcphub/rootsmgr/guard"
)

// TestOtherMachines: no program, no env file and no working directory of an entry is looked at on a host that no root names.
func TestOtherMachines(t *testing.T) {
	t.Parallel()
	o := fakeOptions([]string{"/work"})
	o.System = "windows"
	looked := ""
	o.Disk.IsDir = func(p string) bool { looked += p + "\n"; return true }
	o.Disk.IsProgram = o.Disk.IsDir
	o.Disk.Real = func(p string) string { looked += p + "\n"; return p }
	roots := []guard.Root{{Path: `\\server\good\dir`}}
	const refused = "on a host that no root names"
	for _, tt := range []struct{ cwd, command, err string }{
		{`\\evil\share`, "kid", refused}, {`//evil/share/x`, "kid", refused}, {`\\?\UNC\evil\share`, "kid", refused}, {`\\evil@SSL\DavWWWRoot`, "kid", refused},
		{`\\server\other`, "kid", refused}, {`\\localhost\C$`, "kid", refused}, {"", `\\evil\share\kid.exe`, "another machine"}, {"", `\\?\UNC\evil\share\kid.exe`, "another machine"},
	} {
		_, err := Plan(program.Program{Command: tt.command, Cwd: tt.cwd}, roots, on(o))
		if err == nil || !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%+v: %v", tt, err)
		}
	}
	for _, file := range []string{`\\evil\share\.env`, `\??\UNC\evil\share\.env`, `/\evil\share\.env`} {
		if _, err := Plan(program.Program{Command: "kid", EnvFile: file}, roots, on(o)); err == nil || !strings.Contains(err.Error(), refused) {
			t.Errorf("envFile %s: %v", file, err)
		}
	}
	for _, prog := range []program.Program{
		{Command: "kid", Cwd: `\\evil\share`}, {Command: "kid", EnvFile: `\\evil\share\.env`}, {Command: `\\evil\share\kid.exe`}, {Command: "node", Args: []string{`\\evil\share\kid.js`}},
	} {
		on(o).Lacks(prog)
	}
	if strings.Contains(looked, "evil") || strings.Contains(looked, "other") || strings.Contains(looked, "localhost") {
		t.Error("looked at:", looked)
	}
	if h := on(o).WithRoots(roots); h.IsForeign(`\\SERVER\Good\dir\x`) || h.IsForeign(`C:\x`) {
		t.Error("a directory on the share of a root is refused")
	}
}
