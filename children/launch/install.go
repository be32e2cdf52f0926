package launch

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mcphub/children/program"
	"mcphub/children/sandbox"
	"mcphub/internal/commandline"
	"mcphub/rootsmgr/guard"
)

// Fetches returns what is to be installed before the program starts here, because
// the kernel confines it: of others the launcher does what it does.
func (m Machine) Fetches(prog program.Program) (commandline.Package, bool) {
	if !m.Confines(prog) {
		return commandline.Package{}, false
	}
	return prog.Package()
}

// WithInstalled returns the machine on which this copy runs instead of the launcher;
// nil: the launcher runs.
func (m Machine) WithInstalled(in *program.Installed) Machine {
	m.installed = in
	return m
}

// WithFresh returns the machine with a folder that the program is to fill.
func (m Machine) WithFresh(dir string) Machine {
	m.fresh = dir
	return m
}

// Has reports whether programs that start here find one of this name.
func (m Machine) Has(name string) bool {
	_, err := findProgram(program.Program{Command: name}, m.Inherited(nil), "", m)
	return err == nil
}

// An Install is what a manager needs to fill a folder.
type Install struct {
	Args   []string
	Env    map[string]string
	Temp   string
	Cache  string // what it keeps for the next time
	Fresh  string // the folder to fill, where it works
	Within sandbox.Boundary
}

// managerVariables begin the names of variables that are settings of a manager.
var managerVariables = []string{"NPM_CONFIG_", "PNPM_", "YARN_", "BUN_CONFIG_", "UV_", "PIP_", "PIPX_", "SSL_CERT_"}

// IsManagerVariable reports whether a variable is a setting of a package manager.
func IsManagerVariable(name string) bool {
	name = strings.ToUpper(name)
	return name == "NODE_EXTRA_CA_CERTS" || strings.HasSuffix(name, "_PROXY") ||
		slices.ContainsFunc(managerVariables, func(v string) bool { return strings.HasPrefix(name, v) })
}

// managerFiles are settings of managers in the home folder, by the names of the files.
var managerFiles = []string{".npmrc", "npmrc", "rc", "auth.ini", ".yarnrc.yml", ".bunfig.toml", "uv.toml", "pip.conf", ".netrc"}

// isManagerFile reports whether a path is a setting of a manager, or a certificate.
func isManagerFile(path string) bool {
	base := filepath.Base(path)
	return slices.Contains(managerFiles, base) || slices.Contains([]string{".pem", ".crt", ".cer"}, filepath.Ext(base))
}

// hidden are variables that no install needs.
var hidden = []string{"SSH_AUTH_SOCK", "DOCKER_HOST", "DISPLAY", "WAYLAND_DISPLAY", "MCP_ROOTS_COUNT", "MCP_ROOTS_PATHS", "MCP_ROOTS_JSON"}

// PlanInstall computes how the manager of a Package starts, for an entry that runs prog.
// It is confined as much as prog, but for the network: it writes to its own folders, and
// reads of what the entry adds only settings of managers. It is given no variable of the
// entry but those settings.
func PlanInstall(prog program.Program, p *commandline.Package, in Install, roots []guard.Root, h Machine) (Launch, error) {
	m := program.Program{Command: p.Command, Args: in.Args, Env: map[string]string{}, Cwd: in.Fresh, Rewrite: program.RewriteNever}
	m.Sandbox = sandbox.Settings{Mode: prog.Sandbox.Mode, Network: sandbox.Network{On: true}}
	for _, path := range prog.Sandbox.Read {
		if fi, err := os.Stat(path); err == nil && fi.Mode().IsRegular() && isManagerFile(path) {
			m.Sandbox.Read = append(m.Sandbox.Read, path)
		}
	}
	for _, set := range []map[string]string{prog.Env, p.Env} {
		for name, value := range set {
			if IsManagerVariable(name) && !program.NamesRoots(value) {
				m.Env[name] = value
			}
		}
	}
	maps.Copy(m.Env, in.Env)
	for _, name := range prog.Inherit {
		if IsManagerVariable(name) {
			m.Inherit = append(m.Inherit, name)
		}
	}
	h = h.WithBoundary(sandbox.Boundary{Withheld: in.Within.Withheld}).WithInstalled(nil).WithPrivate(in.Temp, in.Cache).WithFresh(in.Fresh)
	l, err := Plan(m, roots, h)
	l.RootsFile = nil
	l.Env = slices.DeleteFunc(l.Env, func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return slices.Contains(hidden, name)
	})
	return l, err
}
