package shell

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"mcphub/validate/budget"
)

// variables of the machine in these tests.
func windowsVariable(name string) string {
	return map[string]string{"USERPROFILE": `C:\Users\me`, "HOMEDRIVE": "C:", "HOMEPATH": `\Users\me`, "TEMP": `C:\t`, "PATH": `C:\w;C:\x`}[strings.ToUpper(name)]
}

// readsAs checks what a dialect makes of shell strings. ⏎ is the end of a line.
func readsAs(t *testing.T, dialect int, rows []row) {
	t.Helper()
	for _, r := range rows {
		text := strings.ReplaceAll(r.text, "⏎", "\n")
		if got := told(ReadWindows(text, depth, budget.New(0), windowsVariable)[dialect]); got != r.want {
			t.Errorf("{\"%s\", `%s`},\nwant %s", r.text, got, r.want)
		}
	}
}

// TestCmdQuotesAndRedirectionsAreRead: quotes and carets, variables and parts of them, redirections, and what stands behind if, for, call, start and cmd /c.
func TestCmdQuotesAndRedirectionsAreRead(t *testing.T) {
	t.Parallel()
	readsAs(t, 0, []row{
		{`type a\b`, `type=command run; a\b=read`},
		{`t^ype "a b"\c^d "x^y"`, `type=command run lost; "a b\\cd"=read lost; a=command run lost; b\cd=path lost; x^y=read lost | reads`},
		{`type ^"a b^"`, `type=command run lost; "a=read lost; b"=read lost; type=command run lost; "a b"=read lost; a=command run lost; b=path lost | reads`},
		{`TYPE.EXE a`, `TYPE=command run; .EXE=read; a=read`},
		{`cd.. & type a`, `cd=command run captured; ..=cd/read captured; type=command run captured in ..; a=read captured in ..`},
		{`cd /d D:\x && type a`, `/d=word/read?; cd=command run captured; D:\x=cd/read captured; type=command run captured in D:/x!; a=read captured in D:/x!`},
		{`cd src && type ..\a`, `cd=command run captured; src=cd/read captured; type=command run captured in src!; ..\a=read captured in src!`},
		{`cd a b & type c`, `"a b"=cd/read whole lost in a b?; type=command run captured lost in a b?; c=read captured lost in a b?`},
		{`pushd x & type a`, `pushd=command run captured lost; x=path captured lost; type=command run captured lost in x?; a=read captured lost in x? | odd | reads`},
		{`d: & type a`, `d:=command run captured lost in d:/?; type=command run captured lost in d:/?; a=read captured lost in d:/? | reads`},
		{`dir/s/b x`, `/s/b=word/read?; dir=command run; x=read`},
		{`echo a>b 2>>c 2>&1 <d`, `echo=command run; a=print; b=write written; c=write written; d=read redirect`},
		{`del /q a\*`, `/q=word/read?; del=command run; a\*=delete`},
		{`copy a+b c`, `copy=command run; a+b=read; c=write`},
		{`type %USERPROFILE%\a %userprofile:~0,3%a %USERPROFILE:~-2% %USERPROFILE:\=/% %USERPROFILE:*me=x%`, `type=command run; C:\Users\me\a=read; C:\a=read; me=read; C:/Users/me=read; x=read`},
		{`type %X% %X:~1% %CD%\a %CD:~0,3%a %DATE:~0,4% %PATH%`, `type=command run; ""=read; ""=read; \=read; ..\=read; .\a=read; a=read; \a=read; ..\a=read; 0=read; ""=read`},
		{`type %HOMEDRIVE%%HOMEPATH%\a`, `type=command run; C:\Users\me\a=read; type=command run; C:HOMEPATH%\a=read`},
		{`set A=b& set B=c d& call type %A%\%B% !A!`, `A=b=word/read? lost; A=b=assign lost; B=c=word/read? lost; "B=c d"=assign lost; type=command run captured lost; "b\\c d"=read captured lost; b\c=command run captured lost; d=path captured lost; b=read captured lost | reads`},
		{`set /p X=<a`, `/p=word/read?; X==assign; a=read redirect`},
		{`if not exist a (type b) else type c`, `exist=word/read?; a=word/read?; type=command run captured; b=read captured; type=command run captured; c=read captured`},
		{`if /i "a"=="b" type c`, `a==b=word/read?; type=command run; c=read`},
		{`for %i in (a b) do type %i x%~nxi`, `%i=word/read?; in=word/read?; a=word/read?; b=word/read?; type=command run captured; a=read captured; b=read captured; xa=read captured; xb=read captured`},
		{`for /f "delims=" %i in ('type a') do echo %i`, `/f=word/read?; delims==word/read?; %i=word/read?; in=word/read?; 'type=word/read?; a'=word/read?; type=command run captured; a=read captured; echo=command run captured; type=path captured; a=path captured`},
		{`start "a b" /d c type d`, `"a b"=word/read?; /d=word/read?; c=word/read? in c?; type=command run in c?; d=read in c?`},
		{`cmd /c "type a" & cmd /ctype b`, `/c=word/read? lost; cmd=command run captured lost; "type a"=path captured lost; type=command run captured lost; a=read captured lost; "type a"=command run captured lost; type=command run captured lost; a=read captured lost; /ctype=word/read? lost; cmd=command run captured lost; b=path captured lost; type=command run captured lost; b=read captured lost | reads`},
		{`powershell -c "gc a"`, `powershell=command run lost; -c=path? lost; "gc a"=path lost; gc=command run lost; a=path lost; -c=word/read? lost; unnamed=command run lost; "gc a"=path lost; gc=command run lost; a=read lost; gc=command run lost; a=read lost | reads`},
		{`git log -- src\a`, `git=command run; log=name; --=text; src\a=read`},
		{`.\gradlew.bat build`, `.\gradlew.bat=command run lost; build=name lost | reads`},
		{`type "a b`, `type=command run lost; "a b"=read lost; a=command run lost; b=path lost | reads`},
		{`a | more`, `a=command run captured lost; more=command run captured lost | reads`},
		{`%X`, `%X=command run lost | reads`},
		{`!`, `!=command run lost | reads`},
		{``, ``},
	})
}

// TestPowerShell: quotes, backticks and variables, parameters, what operators join, and what is run.
func TestPowerShell(t *testing.T) {
	t.Parallel()
	readsAs(t, 1, []row{
		{`gc a\b`, `gc=command run; a\b=read`},
		{"g`c 'a''b' \"c`\"d\" e`f", `gc=command run; a'b=read; c"d=read; ef=read`},
		{`Get-Content -Path:a -Raw`, `Get-Content=command run lost; -Path=path? lost; a=path lost; -Raw=path? lost`},
		{`gc $HOME\a ${env:TEMP}\b "$env:TEMP\c" $PWD\d $x\e`, `gc=command run; C:\Users\me\a=read; C:\t\b=read; C:\t\c=read; .\d=read; \e=read`},
		{`gc "$(gc a)\b" "$($env:TEMP)\c"`, `gc=command run lost; a=read lost; unnamed=command run lost; C:\t=path lost; gc=command run lost; \b=read lost; .\b=read lost; C:\t\c=read lost | reads`},
		{`$a = 'x'; $a += 'y'; gc "${a}z"`, `unnamed=command run captured lost; x=path captured lost; unnamed=command run captured lost; y=path captured lost; gc=command run captured lost; xz=read captured lost; xyz=read captured lost; yz=read captured lost; z=read captured lost | reads`},
		{`gc ('a' + 'b'+'c')`, `gc=command run captured lost; abc=path? lost; unnamed=command run captured lost; a=path captured lost; +=path captured lost; b=path captured lost; +=path captured lost; c=path captured lost | reads`},
		{`gc (@('a','b') -join '\')`, `gc=command run captured lost; unnamed=command run captured lost; a=path captured lost; b=path captured lost; a\b=path? lost; -join=word/read? lost; \=word/read? lost | reads`},
		{`gc ('{0}\{1}' -f 'a','b')`, `gc=command run captured lost; a\b=path? lost; unnamed=command run captured lost; {0}\{1}=path captured lost; -f=path? captured lost; a=path captured lost; b=path captured lost | reads`},
		{`foreach ($f in 'a','b') { gc $f }`, `unnamed=command run captured lost; a=path captured lost; b=path captured lost; gc=command run captured lost; a=read captured lost; b=read captured lost; ""=read captured lost | reads`},
		{`'a' | gc`, `unnamed=command run captured lost; a=path captured lost; gc=command run captured lost | reads`},
		{`'a' | % { gc $_ }`, `unnamed=command run captured lost; a=path captured lost; %=command run captured lost; gc=command run captured lost; a=read captured lost; ""=read captured lost | reads`},
		{`& 'a b' c`, `"a b"=command run captured lost; c=path captured lost | reads`},
		{`. a.ps1`, `a.ps1=command run lost | reads`},
		{`& { gc a }`, `gc=command run captured; a=read captured`},
		{`iex 'gc a'`, `iex=command run lost; "gc a"=path lost; gc=command run lost; a=read lost | reads`},
		{`rm -r -fo a`, `rm=command run lost; -r=path? lost; -fo=path? lost; a=delete lost`},
		{`cp a b -Destination c`, `cp=command run; a=read; b=write; -Destination=path; c=write`},
		{`cd a; gc ..\b`, `cd=command run; a=cd/read; gc=command run in a; ..\b=read in a`},
		{`Set-Location -Path a; gc b`, `Set-Location=command run; a=cd/read; gc=command run in a; b=read in a`},
		{`'x' > a; y 2>&1 2> b`, `unnamed=command run lost; x=path lost; a=write written lost; y=command run lost; b=write written lost | reads`},
		{`gc a,b`, `gc=command run; a=read; b=read`},
		{`gc Temp:\a`, `gc=command run; C:\t\a=read`},
		{`@"⏎gc $HOME⏎"@ | iex`, `unnamed=command run captured lost; "gc C:\\Users\\me"=path captured lost; gc=command run captured lost; C:\Users\me=read captured lost; iex=command run captured lost | reads`},
		{`gc <# x #> a # b⏎gc c`, `gc=command run; a=read; gc=command run; c=read`},
		{"gc a`⏎b", `gc=command run; a=read; b=read`},
		{`gc “a b”`, `gc=command run lost; "a b"=read lost; a=command run lost; b=path lost | reads`},
		{`cmd /c "type a"`, `cmd=command run lost; /c=path lost; "type a"=path lost; type=command run lost; a=read lost; type=command run lost; a=read lost | reads`},
		{`powershell -enc ZwBjACAAYQA=`, `powershell=command run lost; -enc=path? lost; ZwBjACAAYQA==path lost; -enc=word/read? lost; gc=command run lost; a=read lost | reads`},
		{`pwsh -File a.ps1`, `pwsh=command run lost; -File=path? lost; a.ps1=path lost; -File=word/read? lost; a.ps1=command run lost | reads`},
		{`(gc a) -replace '\\', '/'`, `gc=command run captured; a=read captured; -replace=word/read?; \\=word/read?; /=word/read?`},
		{`if ($x -eq 1) { gc a }`, `if=command run captured lost; unnamed=command run captured lost; ""=path captured lost; -eq=path? captured lost; 1=path captured lost; gc=command run captured lost; a=read captured lost | reads`},
		{`gc "a`, `gc=command run; a=read`},
		{`$`, `$=command run lost | reads`},
		{`@'`, `unnamed=command run lost; ""=path lost | reads`},
		{``, ``},
	})
}

// TestWindowsBounds: commands in each other are counted, and so are the texts that a single word may become.
func TestWindowsBounds(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		strings.Repeat("cmd /c ", 20) + "type a":                                            "more than 8 shell strings in each other",
		"set A=1& set A=2& set A=3& echo " + strings.Repeat("%A%", 6):                       "more words than can be judged",
		strings.Repeat("set A=%A%b&", 40):                                                   "",
		manyValues("set A=%d&", 22) + manyValues("set B=%d&", 22) + "set C=%A% %B%":         "",
		manyValues("set A=%d&", 24) + manyValues("set B=%d&", 24) + "set C=%A% %B%":         "more words than can be judged",
		manyValues("$a='%d';", 24) + manyValues("$b='%d';", 24) + "gc ($a + $b)":            "more words than can be judged",
		manyValues("$a='%d';", 24) + manyValues("$b='%d';", 24) + "gc ($a, $b -join '')":    "more words than can be judged",
		manyValues("$a='%d';", 24) + manyValues("$b='%d';", 24) + "gc ('{0}{1}' -f $a, $b)": "more words than can be judged",
	} {
		faults := map[string]bool{} // of the dialects
		for _, r := range ReadWindows(text, depth, budget.New(0), windowsVariable) {
			faults[r.Fault] = true
		}
		if !faults[want] || want == "" && len(faults) > 1 {
			t.Errorf("%.40s: %q, want %q", text, slices.Collect(maps.Keys(faults)), want)
		}
	}
}

// manyValues gives a variable as many values as n.
func manyValues(assignment string, n int) (text string) {
	for i := range n {
		text += fmt.Sprintf(assignment, i)
	}
	return text
}

// TestMatchesOnWindows: letter case does not count, nor does what a short name may be.
func TestMatchesOnWindows(t *testing.T) {
	t.Parallel()
	for pattern, want := range map[string]string{
		"*": "hub.json .env", "*.*": "hub.json .env a", "*.JSON": "hub.json", "*.jso": "hub.json", "h?b.json": "hub.json hb.json", "h[a-z]b*": "hub.json",
		"HUB~1.*": "hub.json", "*.txt": "", "b*": "", "*.": "a", "????????.txt": "secret.txt", "[": "[",
	} {
		for _, name := range []string{"hub.json", "hb.json", ".env", "a", "secret.txt", "["} {
			if got := MatchesOnWindows(pattern, name); strings.Contains(" "+want+" ", " "+name+" ") && !got {
				t.Errorf("%s does not match %s", pattern, name)
			}
		}
		for _, name := range strings.Fields("z.md") {
			if got := MatchesOnWindows(pattern, name); got && pattern != "*" && pattern != "*." && pattern != "*.*" && pattern != "HUB~1.*" {
				t.Errorf("%s matches %s", pattern, name)
			}
		}
	}
}
