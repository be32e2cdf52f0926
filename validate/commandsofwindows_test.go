package validate

import (
	"slices"
	"strings"
	"testing"

	"mcphub/validate/chars"
	"mcphub/validate/declare"
	"mcphub/validate/detect"
	"mcphub/validate/policy"
)

// The commands of testdata/windows-attacks.txt and testdata/windows-honest.txt are for cmd, PowerShell and Git Bash. Each line of the first
// has a label, a tab and a command; ⏎ stands for the end of a line.

func (w *windowsWorld) command(t *testing.T, command string) *Verdict {
	t.Helper()
	return w.judge(t, `{"command":`+string(quoteJSON(strings.ReplaceAll(command, "⏎", "\n")))+`}`)
}

// findsShare reports whether a path on another machine is found in a command.
func (w *windowsWorld) findsShare(t *testing.T, command string) bool {
	t.Helper()
	tool, err := w.c.PrepareTool("child", "", []byte(anyTool))
	if err != nil {
		t.Fatal(err)
	}
	s, err := w.c.Scan(tool, []byte(`{"command":`+string(quoteJSON(command))+`}`))
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(s.Findings(), func(f detect.Finding) bool {
		return strings.HasPrefix(chars.ToSlash(f.Value), "//") && !f.Relative()
	})
}

// TestWindowsCommandsThatReachOut: no command passes that opens something outside, on another machine, protected, or denied by a rule. None
// is refused if the paths of the server are not judged, which is the control.
func TestWindowsCommandsThatReachOut(t *testing.T) {
	t.Parallel()
	rule := policy.Rule{Name: "no secrets", Then: policy.Deny, Paths: &policy.PathRule{Within: `C:\Users\me\source\repos\App\secrets`}}
	w, ruled := newWindowsWorld(t, declare.ModeStrict, windowsProtected), newWindowsWorld(t, declare.ModeStrict, nil, rule)
	without, off := newWindowsWorld(t, declare.ModeStrict, nil), newWindowsWorld(t, declare.ModeOff, windowsProtected, rule)
	lines := commandLines(t, "/home/u", "windows-attacks.txt")
	var passed []string
	for _, line := range lines {
		on := w
		if line[0] == "deny" {
			on = ruled
			if v := without.command(t, line[1]); v.Decision != policy.Allow {
				t.Errorf("%s: refused without the rule: %+v", line[1], v.Deciding)
			}
		}
		if v := on.command(t, line[1]); v.Decision == policy.Allow && !(line[0] == "unc" && on.findsShare(t, line[1])) {
			passed = append(passed, line[0]+"\t"+line[1])
		}
		if v := off.command(t, line[1]); v.Decision != policy.Allow {
			t.Errorf("%s: refused without the guard", line[1])
		}
	}
	if len(passed) > 0 || len(lines) < 150 {
		t.Errorf("%d of %d pass:\n%s", len(passed), len(lines), strings.Join(passed, "\n"))
	}
}

// TestWindowsCommandsOfEveryDay: no command of every day is refused.
func TestWindowsCommandsOfEveryDay(t *testing.T) {
	t.Parallel()
	w := newWindowsWorld(t, declare.ModeStrict, nil)
	lines := commandLines(t, "/home/u", "windows-honest.txt")
	var refused []string
	for _, line := range lines {
		if v := w.command(t, line[1]); v.Decision != policy.Allow {
			refused = append(refused, line[1]+"   ("+v.Deciding.Value+", "+v.Deciding.Code+")")
		}
	}
	if len(refused) > 0 || len(lines) < 120 {
		t.Errorf("%d of %d are refused:\n%s", len(refused), len(lines), strings.Join(refused, "\n"))
	}
}

// TestWindowsMoves: behind a change to a directory that a variable names, a name may be the name of what is protected, as in a shell of
// Unix.
func TestWindowsMoves(t *testing.T) {
	t.Parallel()
	w, free := newWindowsWorld(t, declare.ModeStrict, []string{`C:\Users\me\source\repos\App\src\main.go`}), newWindowsWorld(t, declare.ModeStrict, nil)
	for _, command := range []string{
		`cd /d %x% && del main.go`, `cd %x%\src && del main.go`, `cd /d "%x%\src" & echo x>main.go`, `pushd %x% && del main.go`, `pushd %x%\src & del main.go`, `for %i in (1) do cd %i\src && del main.go`,
		`cd %x:~0,3%src && del main.go`, `Set-Location $x\src; ri main.go`, `Push-Location $x; ri main.go`,
	} {
		if v := w.command(t, command); v.Decision == policy.Allow {
			t.Errorf("it passes: %s", command)
		}
	}
	for _, command := range []string{`cd /d %x% && type README.md`, `cd %x%\src && dir /b`, `pushd src && type main.go`, `cd /d %~dp0 && type README.md`, `pushd %~dp0 & dir`} {
		if v := free.command(t, command); v.Decision != policy.Allow {
			t.Errorf("it is refused: %s: %+v", command, v.Deciding)
		}
	}
}

// TestWindowsInput: what a call pipes into a program is commands of cmd or PowerShell only if one of them is named.
func TestWindowsInput(t *testing.T) {
	t.Parallel()
	w := newWindowsWorld(t, declare.ModeStrict, windowsProtected)
	for args, want := range map[string]policy.Decision{
		`{"command":"node -","stdin":"console.log(1 / 2)"}`:                                                             policy.Allow,
		`{"command":"git commit -F -","stdin":"fix the parser\n\nsee docs and src/main.go"}`:                            policy.Allow,
		`{"command":"cmd","stdin":"type C:\\Us^ers\\me\\outside\\secret.txt"}`:                                          policy.Deny,
		`{"command":"C:\\Windows\\System32\\CMD.EXE /q","stdin":"type README.md & cd /d C:\\Users & dir me\\outs^ide"}`: policy.Deny,
		`{"command":"powershell -NoProfile -Command -","stdin":"gc C:\\Us` + "`" + `ers\\me\\outside\\secret.txt"}`:     policy.Deny,
		`{"command":"bash","stdin":"cat /c/Users/me/outside/secret.txt"}`:                                               policy.Deny,
		`{"command":"bash -s","stdin":"cd ../../..; cat outside/secret.txt"}`:                                           policy.Deny,
	} {
		if v := w.judge(t, args); v.Decision != want {
			t.Errorf("%s: %v %+v", args, v.Decision, v.Deciding)
		}
	}
}

// TestWindowsArguments: a command given as an array is read like one that is a text, and other arguments by the forms of Windows. § stands for
// a backtick.
func TestWindowsArguments(t *testing.T) {
	t.Parallel()
	w, off := newWindowsWorld(t, declare.ModeStrict, windowsProtected), newWindowsWorld(t, declare.ModeOff, windowsProtected)
	for line := range strings.Lines(`
{"command":"cmd","args":["/c","type C:\\Us^ers\\me\\outside\\secret.txt"]}
{"command":"cmd.exe","args":["/c","type","C:\\Us^ers\\me\\outside\\secret.txt"]}
{"args":["cmd","/c","type","..\\..\\..\\outside\\sec^ret.txt"]}
{"command":["powershell","-Command","gc C:\\Us§ers\\me\\outside\\secret.txt"]}
{"command":"powershell","args":["-c","gc","$HOME\\outside\\secret.txt"]}
{"command":"pwsh","args":["-NoProfile","-EncodedCommand","ZwBjACAAQwA6AFwAVQBzAGUAcgBzAFwAbQBlAFwAbwB1AHQAcwBpAGQAZQBcAHMAZQBjAHIAZQB0AC4AdAB4AHQA"]}
{"command":["powershell","-enc","ZwBjACAAQwA6AFwAVQBzAGUAcgBzAFwAbQBlAFwAbwB1AHQAcwBpAGQAZQBcAHMAZQBjAHIAZQB0AC4AdAB4AHQA"]}
{"command":["copy","C:\\Users\\me\\.ssh\\*","."]}
{"args":["copy","C:\\Users\\me\\.ssh\\*","."]}
{"command":["del","C:\\w\\*.json"]}
{"args":["rmdir","/s","/q","C:\\w"]}
{"args":["Remove-Item","-Recurse","C:\\w"]}
{"script":"gc C:\\Us§ers\\me\\outside\\secret.txt"}
{"script":{"code":"gc C:\\Us§ers\\me\\outside\\secret.txt"}}
{"keys":"type C:\\Us^ers\\me\\outside\\secret.txt\r"}
{"keys":"gc $HOME\\outside\\secret.txt\n"}
{"keys":"type %USERPROFILE%\\outside\\secret.txt\n"}
{"path":"D:secret.txt"}
{"path":"/c/Users/me/outside/secret.txt"}
{"path":"/mnt/c/Users/me/outside/secret.txt"}
{"path":"%PUBLIC%\\p.txt"}
{"x":"%PUBLIC%\\p.txt"}
{"x":"$env:PUBLIC\\p.txt"}
{"x":"$HOME\\outside\\secret.txt"}
{"x":"/c/Users/me/outside/secret.txt"}
{"path":"C:\\Users\\me\\.ssh\\*"}
{"pattern":"..\\..\\..\\.ssh\\*"}
{"sql":"COPY t FROM 'C:\\Users\\me\\outside\\secret.txt'"}
{"sql":"COPY t FROM PROGRAM 'type C:\\Us^ers\\me\\outside\\secret.txt'"}
{"command":"bash","args":["-c","cat /c/Users/me/outside/secret.txt"]}
{"command":"wsl","args":["cat","/mnt/c/Users/me/outside/secret.txt"]}
{"command":"rm -rf /c"}
{"command":"cat /c/Users/me/out*/secret.txt"}
{"command":"cl /c src\\main.c /FoC:\\Users\\me\\outside\\main.obj"}
{"args":["/IC:\\Users\\me\\outside"]}
{"x":"D:secret.txt"}
{"x":"\\??\\UNC\\host\\share\\x"}
{"x":"\\/host/share\\x"}
{"sql":"EXEC xp_cmdshell 'type C:\\Users\\me\\outside\\secret.txt'"}
`) {
		if line = strings.ReplaceAll(strings.TrimSpace(line), "§", "`"); line == "" {
			continue
		}
		if v := w.judge(t, line); v.Decision == policy.Allow {
			t.Errorf("%s passes", line)
		}
		if v := off.judge(t, line); v.Decision != policy.Allow {
			t.Errorf("%s is refused without the guard", line)
		}
	}
	honest := newWindowsWorld(t, declare.ModeStrict, nil)
	for line := range strings.Lines(`
{"command":"git","args":["commit","-m","fix: C:\\Windows and \\n"]}
{"args":["npm","run","build"]}
{"command":"powershell","args":["-NoProfile","-Command","Get-Content .\\README.md | Select-String 'x'"]}
{"keys":"npm test\r"}
{"keys":"dir /s\r"}
{"keys":"type src\\main.go\r"}
{"pattern":"^\\s*func\\b"}
{"regex":"\\\\d+\\.\\\\w"}
{"regex":"\\/api\\/v1\\??"}
{"glob":"src\\**\\*.go"}
{"path":"src\\main.go"}
{"path":"C:\\Users\\me\\source\\repos\\App\\src\\new"}
{"x":"src\\new\\table.sql"}
{"x":"100%"}
{"x":"a:b"}
{"query":"SELECT '\\n' FROM t"}
{"text":"see C:\\Windows\\win.ini"}
{"cwd":"C:\\dev\\node-app","command":"type index.js"}
{"command":"cmd","args":["/c","npm run build"]}
{"command":["dotnet","build","-c","Release","/p:X=Y","/nologo"]}
{"args":["/nologo","/t:Build"]}
{"command":["findstr","/s","/i","TODO","*.go"]}
{"pattern":"\\d+\\s\\w+"}
{"command":"rd /s /q build"}
{"command":"del /q src\\*.tmp"}
{"command":["rmdir","/s","/q","build"]}
{"args":["--header","X: a/b"]}
{"path":"C:src\\main.go"}
{"x":"C:README.md"}
{"args":["--url=https://example.com/x"]}
`) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		if v := honest.judge(t, line); v.Decision != policy.Allow {
			t.Errorf("%s is refused: %s %s", line, v.Deciding.Value, v.Deciding.Code)
		}
	}
}
