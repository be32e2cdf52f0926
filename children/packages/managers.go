package packages

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mcphub/children/launch"
	"mcphub/children/program"
	"mcphub/children/sandbox"
	"mcphub/internal/commandline"
	"mcphub/internal/lazyregexp"
)

// A manager installs packages into a folder.
type manager struct {
	files map[string]string // that are in the folder before
	args  func(p *commandline.Package) []string
	env   map[string]string // COPY stands for the folder, CACHE for the manager's
}

var managers = map[string]manager{
	"npm": {
		files: map[string]string{"package.json": "{}\n"},
		args: func(p *commandline.Package) []string {
			return slices.Concat([]string{"install", "--save-exact", "--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error"}, p.Flags, []string{"--"}, p.Specs)
		},
	},
	"pnpm": {
		files: map[string]string{"package.json": "{}\n"},
		args: func(p *commandline.Package) []string {
			return slices.Concat([]string{"add", "--save-exact", "--reporter=append-only", "--store-dir=" + inCache("pnpm")}, p.Flags, p.Specs)
		},
		env: map[string]string{"PNPM_HOME": inCache("pnpm-home")},
	},
	"yarn": {
		files: map[string]string{"package.json": "{}\n", "yarn.lock": "", ".yarnrc.yml": "nodeLinker: node-modules\nenableTelemetry: false\n"},
		args: func(p *commandline.Package) []string {
			return slices.Concat([]string{"add", "--exact"}, p.Flags, p.Specs)
		},
		env: map[string]string{"YARN_CACHE_FOLDER": inCache("yarn"), "YARN_GLOBAL_FOLDER": inCache("yarn-global")},
	},
	"bun": {
		files: map[string]string{"package.json": "{}\n"},
		args: func(p *commandline.Package) []string {
			return slices.Concat([]string{"add", "--exact"}, p.Flags, p.Specs)
		},
		env: map[string]string{"BUN_INSTALL_CACHE_DIR": inCache("bun"), "BUN_INSTALL": inCache("bun-home")},
	},
	"uv": {
		args: func(p *commandline.Package) []string {
			words := slices.Concat([]string{"tool", "install"}, p.Flags)
			for _, extra := range p.Extras {
				words = append(words, "--with", extra)
			}
			return append(words, p.Specs...)
		},
		env: map[string]string{"UV_TOOL_DIR": "COPY/tools", "UV_TOOL_BIN_DIR": "COPY/bin", "UV_PYTHON_INSTALL_DIR": "COPY/python", "UV_CACHE_DIR": inCache("uv")},
	},
	"pipx": {
		args: func(p *commandline.Package) []string { return slices.Concat([]string{"install"}, p.Flags, p.Specs) },
		env:  map[string]string{"PIPX_HOME": "COPY", "PIPX_BIN_DIR": "COPY/bin", "PIPX_MAN_DIR": "COPY/man", "PIP_CACHE_DIR": inCache("pip")},
	},
}

func inCache(name string) string { return "CACHE/" + name }

// planInstall returns how a manager fills a folder for an entry.
func (m manager) planInstall(p *commandline.Package, prog program.Program, home, fresh, cache string) launch.Install {
	places := strings.NewReplacer("COPY", fresh, "CACHE", cache)
	in := launch.Install{Fresh: fresh, Cache: cache, Env: map[string]string{}}
	for name, value := range m.env {
		in.Env[name] = places.Replace(value)
	}
	// Settings in the home folder are not read, unless the entry opens them.
	in.Env["XDG_CACHE_HOME"], in.Env["npm_config_cache"] = cache, filepath.Join(cache, "npm")
	in.Env["XDG_DATA_HOME"], in.Env["XDG_STATE_HOME"], in.Env["XDG_RUNTIME_DIR"] = cache+"/data", cache+"/state", cache+"/run"
	if !slices.ContainsFunc(prog.Sandbox.Read, func(path string) bool { return sandbox.Contains(filepath.Join(home, ".config"), path) }) {
		in.Env["XDG_CONFIG_HOME"] = cache + "/config"
	}
	userconfig := slices.ContainsFunc(slices.Collect(maps.Keys(prog.Env)), func(n string) bool { return strings.EqualFold(n, "npm_config_userconfig") })
	if !p.IsPython() && !userconfig && !prog.Reads(filepath.Join(home, ".npmrc")) {
		in.Env["npm_config_userconfig"] = filepath.Join(cache, "npmrc") // which no one writes
	}
	for _, word := range m.args(p) {
		if head, value, ok := strings.Cut(word, "=CACHE/"); ok {
			word = head + "=" + filepath.Join(cache, value)
		}
		in.Args = append(in.Args, word)
	}
	return in
}

// found describes what an install has brought.
type found struct {
	Package string   `json:"package"`
	Version string   `json:"version,omitempty"`
	Command string   `json:"command"` // below the copy, or Runtime's first argument
	Runtime string   `json:"runtime,omitempty"`
	Beside  []string `json:"beside,omitempty"`
}

// findProgram looks for the program of a package in a copy.
func findProgram(dir string, p *commandline.Package, m launch.Machine) (f found, err error) {
	if p.IsPython() {
		f, err = findPython(dir, p)
	} else {
		f, err = findNode(dir, p, m)
	}
	if err != nil {
		return f, err
	}
	return f, f.checkInside(dir)
}

// checkInside refuses a program that does not lie in the copy: what an install has run may
// have put a link there.
func (f *found) checkInside(dir string) error {
	if !filepath.IsLocal(f.Command) {
		return fmt.Errorf("its program %q lies outside of its copy", f.Command)
	}
	real, err := filepath.EvalSymlinks(filepath.Join(dir, f.Command))
	if err != nil {
		return fmt.Errorf("it has no program %s", filepath.Base(f.Command))
	}
	if !sandbox.Contains(dir, real) {
		return fmt.Errorf("its program %s leads out of its copy, to %s", filepath.Base(f.Command), real)
	}
	if fi, err := os.Stat(real); err != nil || !fi.Mode().IsRegular() || f.Runtime == "" && fi.Mode()&0o111 == 0 {
		return fmt.Errorf("its program %s is not an executable file", filepath.Base(f.Command))
	}
	return nil
}

// maxJSON bounds what is read of a package's own description.
const maxJSON = 4 << 20

func readJSON(path string, into any) error {
	fi, err := os.Stat(path)
	if err == nil && (!fi.Mode().IsRegular() || fi.Size() > maxJSON) {
		err = errors.New("it is no file, or a very large one")
	}
	if err != nil {
		return err
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}

// nodePackage is what is read of a package.json.
type nodePackage struct {
	Version      string            `json:"version"`
	Dependencies map[string]string `json:"dependencies"`
	Bin          json.RawMessage   `json:"bin"`
}

// programName returns the name of the program that the package is named for.
func (n *nodePackage) programName(name string) (string, error) {
	_, own, scoped := strings.Cut(name, "/")
	if !scoped {
		own = name
	}
	bins := map[string]string{}
	var one string
	if json.Unmarshal(n.Bin, &one) == nil && one != "" {
		return own, nil
	}
	_ = json.Unmarshal(n.Bin, &bins) // what is no object has none
	names := slices.Sorted(maps.Keys(bins))
	targets := slices.Compact(slices.Sorted(maps.Values(bins)))
	switch {
	case len(names) == 0:
		return "", fmt.Errorf("the package %s has no program", name)
	case bins[own] != "":
		return own, nil
	case len(names) == 1 || len(targets) == 1:
		return names[0], nil
	}
	return "", fmt.Errorf("the package %s has the programs %s: name one, as in npx --package=%s %s", name, strings.Join(names, ", "), name, names[0])
}

var nodeName = lazyregexp.New(`^(?:@[A-Za-z0-9~._-]+/)?[A-Za-z0-9~._-]+$`)

func findNode(dir string, p *commandline.Package, m launch.Machine) (f found, err error) {
	var project, pkg nodePackage
	if err := readJSON(filepath.Join(dir, "package.json"), &project); err != nil {
		return f, fmt.Errorf("package.json: %w", err)
	}
	names := slices.Sorted(maps.Keys(project.Dependencies))
	names = slices.DeleteFunc(names, func(n string) bool { return !nodeName.MatchString(n) || strings.Contains(n, "..") })
	if len(names) == 0 {
		return f, fmt.Errorf("%s installed nothing", p.Manager)
	}
	f.Package = names[0]
	for _, name := range names {
		if strings.HasPrefix(p.Specs[0], name) {
			f.Package = name
		}
	}
	if err := readJSON(filepath.Join(dir, "node_modules", filepath.FromSlash(f.Package), "package.json"), &pkg); err != nil {
		return f, fmt.Errorf("the package.json of %s: %w", f.Package, err)
	}
	f.Version = pkg.Version
	program := p.Program
	if program == "" {
		if program, err = pkg.programName(f.Package); err != nil {
			return f, err
		}
	}
	f.Command = filepath.Join("node_modules", ".bin", filepath.Base(program))
	if p.Manager == "bun" && (p.Bun || !m.Has("node")) {
		f.Runtime = p.Command
	}
	return f, nil
}

var (
	pythonProgram = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9._-]*`)
	runsOfSigns   = lazyregexp.New(`[-_.]+`)
)

func findPython(dir string, p *commandline.Package) (f found, err error) {
	tops, _ := filepath.Glob(filepath.Join(dir, map[string]string{"uv": "tools", "pipx": "venvs"}[p.Manager], "*", "bin"))
	if len(tops) == 0 {
		return f, fmt.Errorf("%s installed nothing", p.Manager)
	}
	top := filepath.Dir(tops[0])
	f.Package = filepath.Base(top)
	word := p.Program
	if word == "" {
		word = p.Specs[0]
	}
	program := pythonProgram.FindString(word)
	f.Command = filepath.Join("bin", program)
	if _, err := os.Stat(filepath.Join(dir, f.Command)); err != nil { // one of a dependency
		f.Command, _ = filepath.Rel(dir, filepath.Join(top, "bin", program))
	}
	plain := func(name string) string { return strings.ToLower(runsOfSigns.ReplaceAllString(name, "-")) }
	infos, _ := filepath.Glob(filepath.Join(top, "lib", "python*", "site-packages", "*.dist-info"))
	for _, info := range infos {
		name, version, _ := strings.Cut(strings.TrimSuffix(filepath.Base(info), ".dist-info"), "-")
		if plain(name) == plain(f.Package) {
			f.Version = version
		}
	}
	if p.Manager == "pipx" {
		f.Beside = []string{p.Command} // its Python is the one in the copy
	}
	return f, nil
}
