package commandline

import (
	"path"
	"slices"
	"strings"
)

// A Launcher is a command that finds its program by its arguments (npx, uvx,
// node, sh), or by a file of the directory that it works in (make).
type Launcher struct {
	sub    []string // subcommands that come first, one of them ("" if there may be none)
	values []string // its own flags that take the next word
	files  []string // likewise, and the word is a file, a folder or a module that it runs or obeys
	lists  []string // likewise, and the word is several, as in PATH
	specs  []string // likewise, and the word is a package, or a path if it looks like one
	ends   []string // its flags after which no program follows (python -m MODULE)
	runs   []string // its flags that the program follows (java -jar FILE)
	code   []string // its flags after which text to run follows (sh -c TEXT)
	script bool     // its program is a file, taken from the working directory when relative

	// wraps: its program is another command with its arguments; skip words of its
	// own come first (timeout 5 COMMAND).
	wraps bool
	skip  int

	// implied is what it reads of the working directory, whatever else its
	// arguments say: with the subcommands of only, if there are any, and unless
	// one of the flags in given names another directory or file.
	implied string
	only    []string
	given   []string
	tied    bool // it is of no use elsewhere

	// builds are the subcommands with which it compiles the program at each start.
	builds []string

	// What its programs cannot do without. Locks of Python lie in shared memory. Of a shell no one knows what it runs.
	Memory, Terminals bool

	fetch fetching // how the packages that it fetches are installed (packages.go)
}

var launchers = map[string]Launcher{
	"npx":     {fetch: npmFetch, implied: "node_modules", given: []string{"--prefix"}, values: []string{"-p", "--package", "-c", "--call", "--prefix", "-w", "--workspace", "--cache", "--registry", "--loglevel", "--userconfig", "--script-shell", "--shell"}, files: []string{"--prefix"}},
	"npm":     {fetch: npmFetch.onlyFor("exec", "x"), sub: []string{"exec", "x"}, values: []string{"-p", "--package", "-c", "--call", "--prefix", "--cache", "--registry", "--loglevel"}, files: []string{"--prefix"}, implied: "package.json"},
	"uvx":     {Memory: true, fetch: uvFetch, values: uvValues, files: uvFiles, specs: uvSpecs},
	"uv":      {Memory: true, fetch: uvFetch.onlyFor("tool"), sub: []string{"run", "tool"}, values: uvValues, files: uvFiles, specs: uvSpecs, implied: "pyproject.toml", given: []string{"--directory", "--project"}},
	"pipx":    {Memory: true, fetch: pipxFetch, sub: []string{"run"}, values: []string{"--spec", "--python", "-i", "--index-url", "--pip-args"}, implied: "a script of that name"},
	"bunx":    {fetch: bunFetch, values: []string{"-p", "--package"}, implied: "node_modules"},
	"bun":     {fetch: bunFetch.onlyFor("x"), sub: []string{"x", "run", ""}, values: []string{"-p", "--package"}, files: []string{"--cwd", "-r", "--preload", "--import", "-c", "--config", "--env-file"}, code: []string{"-e", "--eval"}, script: true, implied: "package.json and bunfig.toml"},
	"pnpx":    {fetch: pnpmFetch, values: []string{"--package", "--registry", "--allow-build"}, implied: "package.json"},
	"pnpm":    {fetch: pnpmFetch.onlyFor("dlx"), sub: []string{"dlx", "exec", "run"}, values: []string{"--package", "--registry", "--allow-build"}, files: []string{"-C", "--dir"}, implied: "package.json"},
	"yarn":    {fetch: yarnFetch, sub: []string{"dlx", "exec", "run"}, values: []string{"-p", "--package"}, files: []string{"--cwd"}, implied: "package.json and .yarnrc.yml"},
	"deno":    {sub: []string{"run"}, values: []string{"-L", "--log-level"}, files: []string{"-c", "--config", "--import-map", "--env-file"}, script: true, implied: "deno.json"},
	"poetry":  {Memory: true, sub: []string{"run"}, files: []string{"-C", "--directory", "-P", "--project"}, implied: "pyproject.toml"},
	"pdm":     {Memory: true, sub: []string{"run"}, files: []string{"-p", "--project"}, implied: "pyproject.toml"},
	"hatch":   {Memory: true, sub: []string{"run"}, values: []string{"-e", "--env", "-p", "--project"}, implied: "pyproject.toml"},
	"node":    {values: []string{"-C", "--conditions"}, files: append([]string{"--experimental-loader", "--env-file", "--env-file-if-exists", "--experimental-config-file", "--snapshot-blob", "--run"}, nodeModules...), code: nodeCode, script: true},
	"tsx":     {values: []string{"-C", "--conditions"}, files: append([]string{"--tsconfig", "--env-file"}, nodeModules...), code: nodeCode, script: true},
	"ts-node": {files: append([]string{"-P", "--project"}, nodeModules...), code: nodeCode, script: true},
	"python":  {Memory: true, values: []string{"-W", "-X", "--check-hash-based-pycs"}, ends: []string{"-m", "-c"}, script: true},
	"ruby":    {values: []string{"-r"}, files: []string{"-I", "-C"}, code: []string{"-e"}, script: true},
	"perl":    {files: []string{"-I"}, code: []string{"-e", "-E"}, script: true},
	"php":     {values: []string{"-d"}, files: []string{"-c", "-f", "-S", "-t"}, code: []string{"-r"}, script: true},
	"lua":     {values: []string{"-l"}, code: []string{"-e"}, script: true},
	"java": {
		files: []string{"-jar"}, lists: javaPaths, runs: []string{"-jar"},
		implied: "classes", given: append([]string{"-jar"}, javaPaths...), tied: true,
	},
	"dotnet": {builds: []string{"run"}, values: []string{"--fx-version", "--roll-forward"}, files: []string{"--project", "--depsfile", "--runtimeconfig"}, script: true},
	"go":     {builds: []string{"run"}, sub: []string{"run"}, implied: "go.mod", values: []string{"-asmflags", "-buildmode", "-gcflags", "-ldflags", "-mod", "-p", "-tags"}, files: []string{"-C", "-exec", "-modfile", "-overlay"}},
	"cargo":  {builds: []string{"run", "r"}, implied: "Cargo.toml", files: []string{"-C", "--manifest-path", "--config"}},

	"rscript": {code: []string{"-e"}, files: []string{"-f"}, script: true, implied: ".Rprofile and .Renviron", given: []string{"--vanilla"}},
	"r":       {code: []string{"-e"}, files: []string{"-f"}, implied: ".Rprofile and .Renviron", given: []string{"--vanilla"}},
	"clojure": {files: []string{"-i", "--init"}, code: []string{"-e", "--eval"}, implied: "deps.edn"},
	"bb":      {files: []string{"-f", "--file", "--config", "-cp", "--classpath"}, code: []string{"-e"}, script: true, implied: "bb.edn"},
	"pixi":    {Memory: true, sub: []string{"run"}, files: []string{"--manifest-path"}, implied: "pixi.toml", given: []string{"--manifest-path"}},

	"sh":   {Memory: true, Terminals: true, values: []string{"-o", "+o", "-O", "+O"}, files: []string{"--rcfile", "--init-file"}, code: []string{"-c"}, script: true},
	"pwsh": {Memory: true, Terminals: true, values: []string{"-ExecutionPolicy"}, files: []string{"-File", "-f", "-WorkingDirectory"}, code: []string{"-Command", "-c", "-EncodedCommand"}, script: true},

	"env":     {wraps: true, values: []string{"-u", "--unset"}, files: []string{"-C", "--chdir"}, code: []string{"-S", "--split-string"}},
	"nice":    {wraps: true, values: []string{"-n", "--adjustment"}},
	"ionice":  {wraps: true, values: []string{"-c", "--class", "-n", "--classdata"}},
	"timeout": {wraps: true, values: []string{"-k", "--kill-after", "-s", "--signal"}, skip: 1},
	"stdbuf":  {wraps: true, values: []string{"-i", "--input", "-o", "--output", "-e", "--error"}},
	"nohup":   {wraps: true},
	"setsid":  {wraps: true},
	"sudo":    {wraps: true, values: []string{"-u", "--user", "-g", "--group"}, files: []string{"-D", "--chdir"}},

	"git":            {implied: "the aliases, hooks and core.fsmonitor of its .git", files: gitPlaces, given: gitPlaces, tied: true},
	"make":           {implied: "its Makefile", files: makePlaces, given: makePlaces, tied: true},
	"just":           {implied: "its justfile", files: []string{"-f", "--justfile", "-d", "--working-directory"}, given: []string{"-f", "--justfile"}, tied: true},
	"task":           {implied: "its Taskfile", files: []string{"-t", "--taskfile", "-d", "--dir"}, given: []string{"-t", "--taskfile", "-d", "--dir"}, tied: true},
	"rake":           {implied: "its Rakefile", files: []string{"-f", "--rakefile"}, given: []string{"-f", "--rakefile"}, tied: true},
	"bundle":         {implied: "its Gemfile", tied: true},
	"mix":            {implied: "its mix.exs", tied: true},
	"lein":           {implied: "its project.clj", tied: true},
	"sbt":            {implied: "its build.sbt", tied: true},
	"composer":       {implied: "its composer.json", files: composerPlaces, given: composerPlaces, tied: true},
	"swift":          {builds: []string{"run"}, implied: "its Package.swift", only: []string{"run", "build", "test"}, files: []string{"--package-path"}, given: []string{"--package-path"}, tied: true},
	"dart":           {implied: "its pubspec.yaml", only: []string{"run"}, tied: true},
	"stack":          {builds: []string{"run"}, implied: "its stack.yaml", files: []string{"--stack-yaml"}, given: []string{"--stack-yaml"}, tied: true},
	"cabal":          {builds: []string{"run"}, implied: "its cabal.project", files: cabalPlaces, given: cabalPlaces, tied: true},
	"mvn":            {implied: "its pom.xml", files: []string{"-f", "--file"}, given: []string{"-f", "--file"}, tied: true},
	"gradle":         {implied: "its build.gradle", files: []string{"-p", "--project-dir"}, given: []string{"-p", "--project-dir"}, tied: true},
	"docker":         {implied: "its compose.yaml", only: []string{"compose"}, files: composePlaces, given: composePlaces, tied: true},
	"docker-compose": {implied: "its compose.yaml", files: composePlaces, given: composePlaces, tied: true},
}

var (
	uvValues       = []string{"--index", "--index-url", "--default-index", "--extra-index-url", "-i", "--cache-dir", "--extra", "--group", "--prerelease", "--resolution", "--index-strategy", "--keyring-provider", "--exclude-newer", "--link-mode", "--python-preference", "--python-platform", "--color"}
	uvFiles        = []string{"--with-editable", "--with-requirements", "--directory", "--project", "--env-file", "--config-file", "-c", "--constraints"}
	uvSpecs        = []string{"--from", "--with", "-w", "-p", "--python", "-f", "--find-links"}
	nodeModules    = []string{"-r", "--require", "--import", "--loader"} // a bare name is looked for in node_modules there
	nodeCode       = []string{"-e", "--eval", "-p", "--print", "-pe"}
	javaPaths      = []string{"-cp", "-classpath", "--class-path", "-p", "--module-path"}
	gitPlaces      = []string{"-C", "--git-dir"}
	makePlaces     = []string{"-f", "--file", "--makefile", "-C", "--directory"}
	composerPlaces = []string{"-d", "--working-dir"}
	cabalPlaces    = []string{"--project-dir", "--project-file"}
	composePlaces  = []string{"-f", "--file", "--project-directory"}
)

// LauncherOf returns what is known of a command, and the name by which it is known: a
// bash is a "sh".
func LauncherOf(command string) (string, Launcher, bool) {
	name := BaseName(command)
	switch {
	case strings.HasPrefix(name, "python"), name == "py", name == "pypy", name == "pypy3":
		name = "python"
	case name == "nodejs":
		name = "node"
	case name == "bash", name == "zsh", name == "dash", name == "ksh", name == "fish", name == "ash":
		name = "sh"
	case name == "powershell":
		name = "pwsh"
	case name == "clj":
		name = "clojure"
	case name == "gmake":
		name = "make"
	case name == "podman" || name == "nerdctl":
		name = "docker"
	}
	l, ok := launchers[name]
	return name, l, ok
}

// takesValue reports whether a flag takes the next word.
func (l *Launcher) takesValue(flag string) bool {
	return slices.Contains(l.values, flag) || slices.Contains(l.files, flag) || slices.Contains(l.lists, flag) || slices.Contains(l.specs, flag)
}

// Fetches reports whether the launcher fetches a package with these arguments. upTo is the
// number of arguments up to and including the subcommand that says so.
func (l *Launcher) Fetches(args []string) (upTo int, ok bool) {
	if l.fetch.manager == "" || len(l.fetch.sub) == 0 {
		return 0, l.fetch.manager != ""
	}
	sub, at := l.plainWord(args)
	return at + 1, slices.Contains(l.fetch.sub, sub)
}

// Compiles reports whether the program of a command line is compiled at each start, which may take minutes.
func Compiles(command string, args []string) bool {
	command, args = Innermost(command, args)
	_, l, _ := LauncherOf(command)
	sub, _ := l.plainWord(args)
	return slices.Contains(l.builds, sub)
}

// IsCode reports whether text to run follows a flag; letters may be put together
// (bash -lc TEXT).
func (l *Launcher) IsCode(flag string) bool {
	return slices.Contains(l.code, flag) ||
		slices.Contains(l.code, "-c") && len(flag) > 2 && flag[0] == '-' && flag[1] != '-' && strings.Contains(flag, "c") && strings.Trim(flag[1:], "abcefhiklmnprstuvx") == ""
}

// ProgramAt returns the index of the argument of a launcher that names the program or the
// script. It is -1 if the command is no launcher, and len(args) if no argument names one.
func ProgramAt(command string, args []string) int {
	at, _ := LauncherWords(command, args)
	return at
}

// LauncherWords returns what ProgramAt does, and the index of the first argument that is
// the program's own. The second also counts if a module or a text is run instead of a
// program.
func LauncherWords(command string, args []string) (program, end int) {
	at := Unwrap(command, args)
	if at > 0 {
		if inner, end := LauncherWords(args[at-1], args[at:]); inner >= 0 {
			return at + inner, at + end
		}
		return at - 1, at
	}
	_, l, ok := LauncherOf(command)
	if !ok {
		return -1, 0
	}
	none, most := len(args), func(i int) int { return min(i, len(args)) }
	needSub := len(l.sub) > 0
	for w := range l.readWords(args) {
		switch a := args[w.at]; {
		case a == "--":
			return w.at + 1, most(w.at + 2)
		case slices.Contains(l.ends, a), l.IsCode(a):
			return none, most(w.at + 2)
		case slices.Contains(l.runs, a):
			return most(w.at + 1), most(w.at + 2)
		case w.flag != "":
		case needSub && slices.Contains(l.sub, a):
			needSub = a == "tool" // uv tool run
			if needSub {
				l.sub = []string{"run"}
			}
		case needSub && !slices.Contains(l.sub, ""):
			return none, w.at + 1
		default:
			return w.at, w.at + 1
		}
	}
	return none, none
}

// Innermost returns the command within all that wrap it, with its arguments: of "timeout 5
// npx x" it is npx.
func Innermost(command string, args []string) (inner string, rest []string) {
	for at := Unwrap(command, args); at > 0; at = Unwrap(command, args) {
		command, args = args[at-1], args[at:]
	}
	return command, args
}

// Unwrap returns the index at which the arguments of the inner command begin, for "env A=b npx
// ...", or of "cmd /c npx ...", as configurations for Windows write it; 0 for none.
func Unwrap(command string, args []string) int {
	if BaseName(command) == "cmd" {
		if len(args) > 1 && strings.EqualFold(args[0], "/c") {
			return 2
		}
		return 0
	}
	name, l, _ := LauncherOf(command)
	if !l.wraps {
		return 0
	}
	for w := range l.readWords(args) {
		switch {
		case l.IsCode(args[w.at]):
			return 0
		case w.flag != "", name == "env" && strings.Contains(w.value, "="):
		case l.skip > 0:
			l.skip--
		default:
			return w.at + 1
		}
	}
	return 0
}

// ModuleOf returns the module that python runs by -m; "" for none.
func ModuleOf(args []string) string {
	at := slices.Index(args, "-m")
	if at < 0 || at+1 >= len(args) || ProgramAt("python", args[:at+1]) < at || slices.Contains(args[:at], "-c") {
		return ""
	}
	return args[at+1]
}

// BaseName returns the last part of a command or script, whichever separator
// it is written with, without the endings of programs and scripts, lower case.
func BaseName(command string) string {
	b := path.Base(strings.ReplaceAll(command, `\`, "/"))
	low := strings.ToLower(b)
	for _, ext := range []string{".exe", ".cmd", ".bat", ".ps1", ".js", ".mjs", ".cjs", ".ts", ".py", ".sh"} {
		if s, ok := strings.CutSuffix(low, ext); ok && s != "" {
			return s
		}
	}
	return low
}

// RunsScript reports whether python is given a script: then its first import
// directory is the script's own, and the script may need it.
func RunsScript(args []string) bool {
	at := ProgramAt("python", args)
	return at < len(args)
}
