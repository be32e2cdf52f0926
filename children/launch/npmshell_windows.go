package launch

import (
	"cmp"
	"errors"
	"strings"

	"mcphub/children/program"
)

// PlanNpm computes what the shell that the hub gives to npx starts: text is what npm asks for, environ what the shell was started with.
// line is the command line of cmd.exe for a script of a package. It is "" for a server, whose arguments no cmd.exe reads.
func PlanNpm(text string, environ []string) (l Launch, line string, err error) {
	env := program.NewEnvironment("windows")
	for _, kv := range environ {
		if name, value, _ := strings.Cut(kv, "="); name != "" { // cmd.exe keeps directories of drives under names that begin with =
			env.Set(name, value)
		}
	}
	if event, _ := env.Get("npm_lifecycle_event"); event != "npx" {
		shell, _ := env.Get("ComSpec")
		return Launch{Command: cmp.Or(shell, `C:\Windows\System32\cmd.exe`), Env: env.List()}, `cmd.exe /d /s /c "` + text + `"`, nil
	}
	words, ok := npmWords(text)
	if !ok {
		return l, "", errors.New("npm asks for more than a program with arguments, as npm 9 and later write them; update Node, and name the program in place of a text for a shell (npx -c)")
	}
	l.Args = words[1:]
	l.Dir, _ = env.Get(WorkdirVariable)
	for _, name := range []string{WorkdirVariable, "npm_config_script_shell", "npm_config_prefix", "npm_config_local_prefix", "INIT_CWD"} {
		env.Unset(name)
	}
	l.Env = env.List()
	h := NewMachine(l.Env, "", l.Dir)
	prog := program.Program{Command: words[0]}
	if l.Command, err = findProgram(prog, env, l.Dir, h); err == nil {
		l.Command, l.Args = withoutCmd(prog, l, env, h)
		err = checkBatch(l, nil, h)
	}
	return l, "", err
}
