package program

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"mcphub/internal/inherit"
	"mcphub/rootsmgr/guard"
)

// Incidental reports whether a variable is one of a window or terminal: it makes no other
// program of what several sessions could share.
func Incidental(name string) bool {
	return name == "TERM" || name == "DISPLAY" || name == "WAYLAND_DISPLAY" || strings.HasPrefix(name, "XDG_SESSION_")
}

// maxRootsText bounds MCP_ROOTS_JSON and MCP_ROOTS_PATHS: one string over
// 128 KiB cannot be passed to a process, and both share the space with others.
const maxRootsText = 64 << 10

// An Environment is the variables of a child. On Windows names that differ only in case
// are the same variable.
type Environment struct {
	goos   string
	names  []string
	values map[string]string
}

// NewEnvironment returns an empty environment for an operating system, as runtime.GOOS
// names it.
func NewEnvironment(goos string) *Environment {
	return &Environment{goos: goos, values: map[string]string{}}
}

// Key returns the form of a name by which variables are compared.
func (env *Environment) Key(name string) string {
	if env.goos == "windows" {
		return strings.ToUpper(name)
	}
	return name
}

// Set gives a variable a value.
func (env *Environment) Set(name, value string) {
	k := env.Key(name)
	if _, ok := env.values[k]; !ok {
		env.names = append(env.names, name)
	}
	env.values[k] = value
}

// Get returns the value of a variable, and whether it is set.
func (env *Environment) Get(name string) (string, bool) {
	v, ok := env.values[env.Key(name)]
	return v, ok
}

// Unset removes a variable.
func (env *Environment) Unset(name string) {
	k := env.Key(name)
	delete(env.values, k)
	env.names = slices.DeleteFunc(env.names, func(n string) bool { return env.Key(n) == k })
}

// Names returns the names of the variables in the order in which they were set.
func (env *Environment) Names() []string { return env.names }

// List returns NAME=value, sorted by name.
func (env *Environment) List() []string {
	names := slices.Sorted(slices.Values(env.names))
	out := make([]string, 0, len(names))
	for _, n := range names {
		out = append(out, n+"="+env.values[env.Key(n)])
	}
	return out
}

// Inherited returns the variables of the hub's environment that a child gets: the ones
// that every child gets, and the ones that more names.
func Inherited(environ []string, more []string, goos string) *Environment {
	e := NewEnvironment(goos)
	for _, kv := range environ {
		name, value, ok := strings.Cut(kv, "=")
		if !ok || name == "" {
			continue
		}
		asked := slices.ContainsFunc(more, func(n string) bool { return e.Key(n) == e.Key(name) })
		if asked || inherit.Always(name, goos == "windows") {
			e.Set(name, value)
		}
	}
	return e
}

// SetRoots sets MCP_ROOTS_*. If the texts are too long for the
// environment, it returns what a file, named by MCP_ROOTS_FILE, must hold.
func (env *Environment) SetRoots(roots []guard.Root) (file []byte) {
	type root struct {
		URI  string `json:"uri"`
		Name string `json:"name"`
		Path string `json:"path"`
	}
	all := make([]root, 0, len(roots))
	for _, r := range roots {
		all = append(all, root{r.URI, r.Label(), r.Path})
	}
	text, err := json.Marshal(all)
	if err != nil { // strings alone cannot fail
		text = []byte("[]")
	}
	paths := strings.Join(RootPaths(roots), "\n")
	for _, n := range []string{"MCP_ROOTS_JSON", "MCP_ROOTS_PATHS", "MCP_ROOTS_FILE"} {
		env.Unset(n)
	}
	env.Set("MCP_ROOTS_COUNT", strconv.Itoa(len(roots)))
	if len(text) > maxRootsText || len(paths) > maxRootsText {
		return text
	}
	env.Set("MCP_ROOTS_JSON", string(text))
	env.Set("MCP_ROOTS_PATHS", paths)
	return nil
}

// VariableNames returns the names of variables that are written NAME=value.
func VariableNames(env []string) []string {
	out := make([]string, 0, len(env))
	for _, kv := range env {
		name, _, _ := strings.Cut(kv, "=")
		out = append(out, name)
	}
	return out
}
