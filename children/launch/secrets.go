package launch

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/joho/godotenv"

	"mcphub/children/program"
	"mcphub/internal/commandline"
	"mcphub/internal/reference"
	"mcphub/rootsmgr/guard"
)

// errInRoot is why an env file is not read.
var errInRoot = errors.New("envFile: it lies in a root, where whoever wrote the project could have put it, and its variables decide what the server runs; name a file outside, or allow it with \"local\": true")

// envFile returns the path of the program's env file with these roots. The one who
// wrote a project wrote the file in it, and variables decide what programs do, so one
// that lies in a root, or leads there or through there, is for local programs only.
func envFile(prog program.Program, roots []guard.Root, h Machine) (string, error) {
	if prog.EnvFile == "" {
		return "", nil
	}
	if program.NamesRoots(prog.EnvFile) && !prog.Local {
		return "", errInRoot
	}
	x := program.Expander{Roots: roots}
	file, err := x.Expand(prog.EnvFile, firstPath(roots))
	if err != nil {
		return "", fmt.Errorf("envFile: %w", err)
	}
	if h.IsForeign(file) {
		return "", fmt.Errorf("envFile: %q is on a host that no root names", file)
	}
	if !filepath.IsAbs(file) {
		return "", fmt.Errorf("envFile: %q is not an absolute path", file)
	}
	if prog.Local {
		return file, nil
	}
	projects := h.projectRoots(roots)
	for _, path := range h.Hops(file) {
		switch {
		case projects.holdsPath(path):
			return "", errInRoot
		case h.Planted(path):
			return "", fmt.Errorf("envFile: %q lies where a server may write, and the variables of the file decide what this one runs; name a file elsewhere, or allow it with \"local\": true", path)
		}
	}
	return file, nil
}

func isMissingRoot(err error) bool {
	var missing *program.MissingRootError
	return errors.As(err, &missing)
}

// maxVariables bounds an env file.
const maxVariables = 1000

// parseEnvFile reads the text of an env file. Its errors quote nothing: the text
// holds secrets.
func parseEnvFile(text string) (map[string]string, error) {
	vars, err := godotenv.Unmarshal(strings.TrimPrefix(text, "\ufeff"))
	if err != nil {
		return nil, errors.New("a line of it is no NAME=value, or a quote is not closed")
	}
	if len(vars) > maxVariables {
		return nil, fmt.Errorf("it has %d variables, more than %d", len(vars), maxVariables)
	}
	for name, value := range vars {
		if name == "" || strings.ContainsAny(name, "= \t\x00") || strings.ContainsRune(value, 0) {
			return nil, errors.New("a line of it is no NAME=value, or holds a NUL character")
		}
	}
	return vars, nil
}

// withEnvFile adds the variables of the env file. Variables of the entry, and the
// ones that the hub sets, count for more; what is passed on of the hub's environment
// counts for less.
func (m Machine) withEnvFile(prog program.Program, l Launch, text string, roots []guard.Root) (Launch, error) {
	vars, err := parseEnvFile(text)
	if err != nil {
		return l, err
	}
	env := program.NewEnvironment(m.System())
	for _, kv := range l.Env {
		name, value, _ := strings.Cut(kv, "=")
		env.Set(name, value)
	}
	own := map[string]bool{}
	for name := range prog.Env {
		own[env.Key(name)] = true
	}
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		key := env.Key(name)
		if own[key] || strings.HasPrefix(key, "MCP_ROOTS_") || strings.HasPrefix(key, "MCPHUB_") {
			continue
		}
		if !prog.Local && (prog.Cwd == "" || program.NamesRoots(prog.Cwd)) && key != "PATH" && commandline.LoadsFromWorkingDir(key, vars[name]) {
			return l, fmt.Errorf("its variable %s would make programs come from the working directory, which may be a project somebody else wrote; write absolute paths, set \"cwd\", or allow it with \"local\": true", name)
		}
		env.Set(name, vars[name])
	}
	if _, err := trimSearch(prog, env, roots, m); err != nil {
		return l, err
	}
	l.Env = env.List()
	return l, nil
}

// WithSecrets returns the Launch as it is started: with the variables of the env file,
// and with a value instead of each mark. It is for the process alone; l stays what is
// compared and shown. The error reports which key of the entry it is about, and no
// value.
func (m Machine) WithSecrets(prog program.Program, l Launch, roots []guard.Root, value func(reference.Ref) (string, error)) (Launch, error) {
	if l.EnvFile != "" {
		text, err := value(reference.Ref{Kind: reference.EnvFile, Name: l.EnvFile})
		if err == nil {
			l, err = m.withEnvFile(prog, l, text, roots)
		}
		if err != nil {
			return Launch{}, fmt.Errorf("envFile %s: %w", l.EnvFile, err)
		}
	}
	args := slices.Clone(l.Args)
	for i, a := range args {
		var err error
		if args[i], err = reference.Replace(a, noNUL(value)); err != nil {
			return Launch{}, fmt.Errorf("args: argument %d: %w", i+1, err)
		}
	}
	env := slices.Clone(l.Env)
	for i, kv := range env {
		var err error
		if env[i], err = reference.Replace(kv, noNUL(value)); err != nil {
			name, _, _ := strings.Cut(kv, "=")
			return Launch{}, fmt.Errorf("env %s: %w", name, err)
		}
	}
	l.Args, l.Env = args, env
	return l, nil
}

// noNUL refuses a value that no argument and no variable can hold.
func noNUL(value func(reference.Ref) (string, error)) func(reference.Ref) (string, error) {
	return func(r reference.Ref) (string, error) {
		v, err := value(r)
		if err == nil && strings.ContainsRune(v, 0) {
			err = fmt.Errorf("%s holds a NUL character, which no program can be given", r)
		}
		return v, err
	}
}
