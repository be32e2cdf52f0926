package attach

import (
	"path/filepath"
	"slices"
	"strings"
)

// A CommandLine is the command line of `mcphub serve`, as far as it reports which hub serves it and how.
type CommandLine struct {
	Config     string   // --config
	Set        []string // --set, in order
	Roots      string   // --roots
	RootsGiven bool
	LogLevel   string   // --log-level; "": the default
	Toolsets   []string // --toolset, in order; nil: none
}

// ParseCommandLine reads the arguments of this program, without its name. ok is false for all but
// a plain `serve` over standard input and output: another command, HTTP, help, a mistake.
func ParseCommandLine(args []string) (l CommandLine, ok bool) {
	if len(args) == 0 || args[0] != "serve" {
		return l, false
	}
	for args = args[1:]; len(args) > 0; args = args[1:] {
		name, value, joined := strings.Cut(args[0], "=")
		if len(name) > 2 && name[0] == '-' && name[1] != '-' { // -cFILE
			name, value, joined = name[:2], strings.TrimPrefix(args[0][2:], "="), true
		}
		switch name {
		case "-c", "--config", "--set", "--roots", "--log-level", "--toolset":
		default:
			return l, false
		}
		if !joined {
			if len(args) < 2 {
				return l, false
			}
			args = args[1:]
			value = args[0]
		}
		switch name {
		case "-c", "--config":
			l.Config = value
		case "--set":
			l.Set = append(l.Set, value)
		case "--roots":
			l.Roots, l.RootsGiven = value, true
		case "--log-level":
			l.LogLevel = value
		case "--toolset":
			l.Toolsets = append(l.Toolsets, value)
		}
	}
	return l, true
}

// Surroundings returns what the adapter of this line brings.
func (l CommandLine) Surroundings(dir string, environ []string) Surroundings {
	return Surroundings{Roots: l.Roots, RootsGiven: l.RootsGiven, LogLevel: l.LogLevel, Toolsets: l.Toolsets, Dir: dir, Environ: environ}
}

// Args returns the arguments that a hub is started with which serves this line and
// others of the same hub: what belongs to one session is left out, and config is
// absolute.
func (l CommandLine) Args(config string) []string {
	args := []string{"serve", SharedFlag}
	if config != "" {
		args = append(args, "--config", config)
	}
	for _, s := range l.Set {
		args = append(args, "--set", s)
	}
	return args
}

// Flags of serve that are not for people.
const (
	SharedFlag = "--shared"       // be the hub that others attach to
	StartFlag  = "--start-shared" // start that hub, if hub.json wants one and it does not run
)

// A hub has these variables of the environment, and no others but [prefix]: what it keeps, the
// keyring it asks, and how it reaches the network. Sessions in which they differ have hubs of their own.
var hubVariables = []string{
	"HOME", "USER", "LOGNAME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR",
	"DBUS_SESSION_BUS_ADDRESS", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR",
}

// prefix begins the variables that are keys of hub.json. A session has sessionVariables of its own.
const prefix = "MCPHUB_"

var sessionVariables = []string{"MCPHUB_CONFIG", "MCPHUB_ROOTS", "MCPHUB_PROJECT_ROOT", "MCPHUB_TOKEN", "MCPHUB_GUARDIAN", "MCPHUB_INSTANCE", "MCPHUB_WORKDIR", "MCPHUB_REGISTRY", AloneVariable}

// AloneVariable tells a hub why it serves by itself, although hub.json states that it is shared.
const AloneVariable = "MCPHUB_ALONE"

// HubEnviron returns what the hub has of an environment, sorted.
func HubEnviron(environ []string) []string {
	var out []string
	for _, pair := range environ {
		name, _, _ := strings.Cut(pair, "=")
		if slices.Contains(hubVariables, name) || strings.HasPrefix(name, prefix) && !slices.Contains(sessionVariables, name) {
			out = append(out, pair)
		}
	}
	slices.Sort(out)
	return out
}

// realConfig returns the path of hub.json by which hubs are told apart.
func realConfig(path string) string {
	if path == "" {
		return ""
	}
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}
