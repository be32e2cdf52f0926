package validate

import (
	"os"
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
	tool, err := w.c.Tool("child", "", []byte(anyTool))
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

// windowsLines reads a file of commands: label, command.
func windowsLines(t *testing.T, name string) (lines [][2]string) {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		label, command, labelled := strings.Cut(strings.TrimRight(line, "\r\n"), "\t")
		if !labelled {
			label, command = "", label
		}
		lines = append(lines, [2]string{label, command})
	}
	return lines
}

// TestWindowsCommandsThatReachOut: no command passes that opens something outside, on another machine, protected, or denied by a rule. None
// is refused if the paths of the server are not judged, which is the control.
func TestWindowsCommandsThatReachOut(t *testing.T) {
	t.Parallel()
	rule := policy.Rule{Name: "no secrets", Then: policy.Deny, Paths: &policy.PathRule{Within: `C:\Users\me\source\repos\App\secrets`}}
	w, ruled := newWindowsWorld(t, declare.ModeStrict, windowsProtected), newWindowsWorld(t, declare.ModeStrict, nil, rule)
	without, off := newWindowsWorld(t, declare.ModeStrict, nil), newWindowsWorld(t, declare.ModeOff, windowsProtected, rule)
	lines := windowsLines(t, "windows-attacks.txt")
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
	lines := windowsLines(t, "windows-honest.txt")
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
