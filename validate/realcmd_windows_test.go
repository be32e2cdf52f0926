package validate

import (
	"context"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"mcphub/e2e/bounds"
	"mcphub/e2e/seeds"
	"mcphub/rootsmgr"
	"mcphub/rootsmgr/guard"
	"mcphub/validate/policy"
)

// cmdWorld is a real disk with the folders of windowsFiles that are on C, in a folder of its own.
type cmdWorld struct {
	*windowsWorld
	home, app string
	env       []string
	fill      *strings.Replacer
}

// told stands in the file that no command may print.
const told = "what is in the file outside"

func newCmdWorld(t *testing.T) *cmdWorld {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	home := filepath.Join(top, "Users", "me")
	w := &cmdWorld{home: home, app: filepath.Join(home, "source", "repos", "App"), fill: strings.NewReplacer(`C:\`, top+`\`, "C:/", filepath.ToSlash(top)+"/", `c:\users`, strings.ToLower(top)+`\users`)}
	for _, file := range windowsFiles {
		file, ok := strings.CutPrefix(file, "C:/")
		if !ok {
			continue
		}
		text := "inside"
		if filepath.Base(file) == "secret.txt" {
			text = told
		}
		name := filepath.Join(top, filepath.FromSlash(file))
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text+"\r\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	variables := map[string]string{"USERPROFILE": home, "HOMEDRIVE": home[:2], "HOMEPATH": home[2:], "TEMP": os.Getenv("TEMP"), "PATH": os.Getenv("PATH"), "SYSTEMROOT": os.Getenv("SYSTEMROOT"), "COMSPEC": os.Getenv("COMSPEC"), "PATHEXT": ".EXE;.BAT"}
	for name, value := range variables {
		w.env = append(w.env, name+"="+value)
	}
	c, err := NewChecker(Config{
		Children: []ChildConfig{{Name: "child", Command: "some-server"}}, Protected: []string{filepath.Join(top, "hub.json")}, Home: home,
		Getenv: func(name string) string { return variables[strings.ToUpper(name)] },
	})
	if err != nil {
		t.Fatal(err)
	}
	snapshot := rootsmgr.NewSnapshot(guard.OS{}, 1, rootsmgr.OriginConfig, []rootsmgr.RootEntry{{URI: w.app}})
	w.windowsWorld = &windowsWorld{c, CallContext{Cwd: w.app, Served: snapshot.Paths()}, rootsmgr.RootsView{Snapshot: snapshot, Case: rootsmgr.CaseKnown}}
	return w
}

// run runs a command as servers do, and returns what it prints.
func (w *cmdWorld) run(t *testing.T, command string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), bounds.Patience) // a program that waits for a person
	defer cancel()
	c := exec.CommandContext(ctx, os.Getenv("COMSPEC"))
	c.SysProcAttr = &syscall.SysProcAttr{CmdLine: `cmd.exe /d /s /c "` + command + `"`}
	c.Dir, c.Env = w.app, w.env
	out, _ := c.CombinedOutput() // many fail
	return string(out)
}

// TestCmdOpensWhatIsRefused: of the commands that are said to be for cmd, the shell itself prints what is in the file for most. So they are no
// attacks on paper. None passes. One in four is tried, and all if MCPHUB_LONG_CASES is 100 or more.
func TestCmdOpensWhatIsRefused(t *testing.T) {
	w := newCmdWorld(t)
	all := seeds.Cases(t, 25) >= 100
	tried, opened := 0, 0
	var not []string
	for i, line := range commandLines(t, "/home/u", "windows-attacks.txt") {
		if line[0] != "cmd" || i%4 > 0 && !all {
			continue
		}
		command := w.fill.Replace(line[1])
		tried++
		if strings.Contains(w.run(t, command), told) {
			opened++
		} else {
			not = append(not, line[1])
			continue // of another disk, or of another cmd
		}
		if v := w.command(t, command); v.Decision != policy.Deny {
			t.Errorf("%s prints the file, and passes", command)
		}
	}
	t.Logf("%d of %d print the file; not:\n%s", opened, tried, strings.Join(not, "\n"))
	if opened*3 < tried*2 {
		t.Errorf("%d of %d print the file", opened, tried)
	}
}

// writer writes commands at random. hides has it spell them in ways that hide what they name.
type writer struct {
	*rand.Rand
	hides bool
}

// spell writes a text as cmd reads it in another spelling: with carets, quotes, or other letter case.
func (w writer) spell(s string) string {
	if !w.hides {
		return s
	}
	var b strings.Builder
	in, quotes := false, 0
	for i := 0; i < len(s); i++ {
		c := s[i : i+1]
		letter := 'a' <= s[i]|0x20 && s[i]|0x20 <= 'z'
		switch n := w.IntN(40); {
		case n == 0 && letter && !in:
			b.WriteByte('^')
		case n == 1 && letter:
			c = strings.ToUpper(c)
		case n == 2 && quotes < 4:
			b.WriteByte('"')
			in, quotes = !in, quotes+1
		}
		b.WriteString(c)
	}
	if in {
		b.WriteByte('"')
	}
	return b.String()
}

// pick returns one of several.
func (w writer) pick(list ...string) string { return list[w.IntN(len(list))] }

// command opens a file below a directory, in a way that cmd has. bases are spellings of the directory.
func (w writer) command(bases []string, file string) string {
	base := w.pick(bases...)
	whole := base + `\` + w.spell(file)
	if !strings.Contains(base, "%") {
		whole = w.spell(base) + `\` + w.spell(file)
	}
	variable := "%" + w.pick("i", "a", "f", "z")
	dir, name := filepath.Split(file)
	ways := []string{
		w.spell("type") + " " + whole,
		"type" + w.pick("<", " < ", ";", ",", "=") + whole,
		"for " + variable + " in (" + base + `\` + file + ") do " + w.pick("", "@") + "type " + variable,
		"for " + variable + " in (" + strings.TrimSuffix(dir, `\`) + ") do type " + base + `\` + variable + `\` + name,
		w.pick("cd ", "cd /d ", "pushd ", "chdir ") + base + w.pick("&", " & ", "&&", " && ") + "type " + w.spell(file),
		"cmd " + w.pick("/c", "/d /c") + " type " + whole,
		`cmd /s /c "type ` + base + `\` + file + `"`,
		"if " + w.pick("exist a.txt ", "not exist zz ", `"x"=="x" `, "/i a==A ") + "type " + whole,
		"copy " + w.pick("", "/y ") + base + `\` + w.pick(file, dir+"*.*", dir+name[:1]+"*") + " . >nul & type " + name,
		"findstr . " + whole,
		`for /f "delims=" ` + variable + " in (" + w.pick("'type "+base+`\`+file+"'", base+`\`+file) + ") do @echo " + variable,
		"(type " + base + `\` + file + ")",
		"set Q=x" + file + "& call type " + base + `\%Q:~1%`,
	}
	for cut := 1; cut < len(file); cut += 4 {
		ways = append(ways, "set Q="+base+`\`+file[:cut]+"& set R="+file[cut:]+"& call type %Q%%R%")
	}
	command := w.pick(ways...)
	if w.IntN(3) == 0 {
		command = w.pick("echo x", "ver", "set X=1", "if exist zz echo z") + w.pick("&", " & ", "&&", " && ") + command
	}
	return command
}

// TestRandomCommandsOfCmd: whatever way of cmd to open a file is taken, at random, a command that makes the shell print a file outside is
// refused. The same ways into the boundary pass. MCPHUB_LONG_CASES says how many commands.
func TestRandomCommandsOfCmd(t *testing.T) {
	w := newCmdWorld(t)
	r := seeds.Rand(t)
	outside := []string{w.home, filepath.ToSlash(w.home), "%USERPROFILE%", "%HOMEDRIVE%%HOMEPATH%", "%USERPROFILE:~0,5%%USERPROFILE:~5%", "%USERPROFILE:Users=Users%", `..\..\..`, `%CD%\..\..\..`, `src\..\..\..\..`, w.app + `\..\..\..`, w.home[:2] + `..\..\..`, w.home[2:]}
	inside := []string{w.app, ".", "%CD%", `src\..`, `%USERPROFILE%\source\repos\App`}
	cases := seeds.Cases(t, 25)
	opened, refused := 0, 0
	for range cases {
		command := writer{r, true}.command(outside, `outside\secret.txt`)
		v := w.command(t, command)
		if strings.Contains(w.run(t, command), told) {
			if opened++; v.Decision != policy.Deny {
				t.Errorf("%s prints the file, and passes", command)
			}
		}
		command = writer{r, false}.command(inside, `src\main.go`)
		if v := w.command(t, command); v.Decision != policy.Allow {
			refused++
			t.Logf("%s is refused: %s %s", command, v.Deciding.Value, v.Deciding.Code)
		}
	}
	t.Logf("%d of %d print the file, %d of as many inside are refused", opened, cases, refused)
	if opened*2 < cases || refused*50 > cases {
		t.Errorf("%d of %d print the file, and %d of as many inside are refused", opened, cases, refused)
	}
}
