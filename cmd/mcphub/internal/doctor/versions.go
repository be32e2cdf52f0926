package doctor

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"mcphub/children/launch"
	"mcphub/children/process"
	"mcphub/children/spec"
	"mcphub/internal/commandline"
	"mcphub/internal/lazyregexp"
)

// versionTime is how long an interpreter may take to tell its version.
const versionTime = 5 * time.Second

// findInterpreter finds what runs a server, and which version the package wants; nil
// if it is neither node nor python.
func (e *examination) findInterpreter(ctx context.Context, s spec.Spec, program string) *Interpreter {
	if s.URL != "" || !filepath.IsAbs(program) {
		return nil
	}
	command, args := commandline.Innermost(s.Command, s.Args)
	if len(args) < len(s.Args) { // behind timeout or env
		if program = command; !filepath.IsAbs(command) {
			program = programNear(program, filepath.Base(command))
		}
	}
	in := &Interpreter{Path: program}
	name, _, _ := commandline.LauncherOf(command)
	switch p, fetched := commandline.ReadPackage(command, args); {
	case fetched && p.Manager == "npm":
		in.Name, in.Path = "node", programNear(program, "node")
		in.Package, in.Wants = e.wantedByNpx(commandline.WithoutVersion(p.Specs[0]))
	case name == "node":
		in.Name = name
		in.Package, in.Wants = wantedByScript(args, "package.json")
	case name == "python":
		in.Name = name
		in.Package, in.Wants = wantedByScript(args, "pyproject.toml")
	default:
		return nil
	}
	if in.Path == "" {
		return in
	}
	ctx, cancel := context.WithTimeout(ctx, versionTime)
	defer cancel()
	said, err := process.RunForOutput(ctx, launch.Launch{Command: in.Path, Args: []string{"--version"}, Env: plainEnvironment(), Dir: e.found.Hub.Home}, maxOutput, e.Log)
	if err == nil {
		in.Version = number.FindString(said)
	}
	return in
}

// plainEnvironment returns what an interpreter needs to tell its version, and
// nothing that would have it load anything.
func plainEnvironment() []string { return setVariables("PATH", "HOME", "SYSTEMROOT") }

// setVariables returns the variables of the variables that are set.
func setVariables(names ...string) []string {
	var out []string
	for _, name := range names {
		if v, set := os.LookupEnv(name); set {
			out = append(out, name+"="+v)
		}
	}
	return out
}

// programNear returns a program in the folder of another, or in PATH.
func programNear(program, name string) string {
	for _, dir := range append([]string{filepath.Dir(program)}, filepath.SplitList(os.Getenv("PATH"))...) {
		p := filepath.Join(dir, name+filepath.Ext(filepath.Base(program)))
		if info, err := os.Stat(p); err == nil && info.Mode().IsRegular() && filepath.IsAbs(p) {
			return p
		}
	}
	return ""
}

// fileAbove returns a file of that name in a folder or in one around it.
func fileAbove(dir, name string) string {
	for range 12 {
		p := filepath.Join(dir, name)
		if info, err := os.Stat(p); err == nil && info.Mode().IsRegular() {
			return p
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			break
		}
		dir = parent
	}
	return ""
}

// wantedByScript reads what the package of a script says about its interpreter.
func wantedByScript(args []string, manifest string) (file, wants string) {
	for _, a := range args {
		if !filepath.IsAbs(a) {
			continue
		}
		if real, err := filepath.EvalSymlinks(a); err == nil {
			a = real // a program in node_modules/.bin is a link to its package
		}
		if file = fileAbove(filepath.Dir(a), manifest); file != "" {
			return file, wantedBy(file)
		}
	}
	return "", ""
}

// wantedByNpx looks for a package where npx keeps the ones that it has installed.
func (e *examination) wantedByNpx(name string) (file, wants string) {
	if name == "" || strings.ContainsAny(name, `*?[\:`) || strings.Contains(name, "..") {
		return "", ""
	}
	cache := cmp.Or(os.Getenv("npm_config_cache"), filepath.Join(e.found.Hub.Home, ".npm"))
	all, _ := filepath.Glob(filepath.Join(cache, "_npx", "*", "node_modules", filepath.FromSlash(name), "package.json"))
	if len(all) == 0 {
		return "", ""
	}
	newest := slices.MaxFunc(all, func(a, b string) int {
		one, err := os.Stat(a)
		two, err2 := os.Stat(b)
		if err != nil || err2 != nil {
			return 0
		}
		return one.ModTime().Compare(two.ModTime())
	})
	return newest, wantedBy(newest)
}

var requiresPython = lazyregexp.New(`(?m)^\s*requires-python\s*=\s*["']([^"']+)["']`)

// maxManifest bounds what is read of a package's file.
const maxManifest = 1 << 20

func wantedBy(file string) string {
	info, err := os.Stat(file)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxManifest {
		return ""
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	if filepath.Base(file) == "pyproject.toml" {
		if m := requiresPython.FindSubmatch(text); m != nil {
			return string(m[1])
		}
		return ""
	}
	var manifest struct {
		Engines struct {
			Node string `json:"node"`
		} `json:"engines"`
	}
	if json.Unmarshal(text, &manifest) != nil { // engines is a list in some old packages
		return ""
	}
	return manifest.Engines.Node
}

// checkInterpreter finds an interpreter that the package does not want.
func (e *examination) checkInterpreter(s spec.Spec, in *Interpreter) (Finding, bool) {
	if in == nil || in.Version == "" || in.Wants == "" {
		return Finding{}, false
	}
	if fits, known := satisfiesRange(in.Version, in.Wants); fits || !known {
		return Finding{}, false
	}
	return Finding{
		Group: Servers, Subject: s.Name, Severity: sevError, At: e.entryPlace(s.Name),
		Text: fmt.Sprintf("%s is %s %s, and %s wants %s", in.Path, in.Name, in.Version, in.Package, in.Wants),
		Cure: fmt.Sprintf(`install %s %s, and write its absolute path as "command"`, in.Name, in.Wants),
	}, true
}

var (
	number = lazyregexp.New(`\d+(?:\.\d+)*`)
	clause = lazyregexp.New(`(>=|<=|==|!=|~=|=|>|<|\^|~)?\s*v?(\d+(?:\.(?:\d+|[xX*]))*(?:\.[xX*])?|[xX*])(?:[-+][0-9A-Za-z.-]+)?`)
)

// satisfiesRange reports whether a version is in a range as npm or Python write it;
// known is false for what is written otherwise.
func satisfiesRange(version, wants string) (fits, known bool) {
	have := versionParts(version)
	for alternative := range strings.SplitSeq(wants, "||") {
		rest := strings.TrimSpace(strings.ReplaceAll(alternative, ",", " "))
		if strings.Contains(rest, " - ") {
			return false, false
		}
		all := clause.FindAllStringSubmatch(rest, -1)
		if left := strings.TrimSpace(clause.ReplaceAllString(rest, "")); left != "" {
			return false, false
		}
		ok := true
		for _, c := range all {
			ok = ok && holdsCondition(have, c[1], strings.ToLower(c[2]))
		}
		if ok {
			return true, true
		}
	}
	return false, true
}

// holdsCondition reports whether one condition holds. A version that is not written out
// stands for all that begin with it.
func holdsCondition(have []int, op, text string) bool {
	text = strings.TrimSuffix(strings.TrimSuffix(strings.NewReplacer("*", "x").Replace(text), ".x"), ".x")
	if text == "x" {
		return true
	}
	want := versionParts(text)
	c := slices.Compare(padVersion(have), padVersion(want))
	begins := func(n int) bool { return slices.Equal(padVersion(have)[:n], padVersion(want)[:n]) }
	switch op {
	case ">=":
		return c >= 0
	case "<=":
		return c <= 0 || begins(min(len(want), 3))
	case ">":
		return c > 0 && !begins(min(len(want), 3))
	case "<":
		return c < 0
	case "!=":
		return !begins(min(len(want), 3))
	case "^":
		return c >= 0 && begins(1)
	case "~":
		return c >= 0 && begins(min(len(want), 2))
	case "~=":
		return c >= 0 && begins(max(1, min(len(want)-1, 3)))
	}
	return begins(min(len(want), 3))
}

func versionParts(version string) []int {
	var out []int
	for p := range strings.SplitSeq(version, ".") {
		n, err := strconv.Atoi(p)
		if err != nil {
			break
		}
		out = append(out, n)
	}
	return out
}

// padVersion gives a version three parts.
func padVersion(v []int) []int {
	out := make([]int, 3)
	copy(out, v)
	return out
}

// maxOutput is how much a program that prints its version prints at most, in bytes.
const maxOutput = 4 << 10
