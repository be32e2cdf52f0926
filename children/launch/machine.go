package launch

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"

	"github.com/rs/zerolog"

	"mcphub/children/program"
	"mcphub/children/sandbox"
	"mcphub/internal/atomicfile"
)

// A Machine is what a Launch is computed from besides Program and roots.
type Machine struct {
	environ []string // that programs inherit from
	hub     []string // the hub's own environment, where that is another; nil: it is environ
	home    string
	dir     string // where programs start that nothing else is said of
	goos    string
	scratch string                  // an empty directory of ours, for launchers; "" where there is none
	shell   string                  // npmShell as a file; "" where there is none
	own     string                  // an empty directory of the child's own, for one that many share; "" where it has none
	shelter func() (shelter, error) // makes scratch and shell when first asked
	temp    string                  // a confined child's own temporary folder; "" where it has none
	cache   string                  // likewise, for what it keeps from run to run
	kernel  func() sandbox.Kernel   // what it can hold
	fresh   string                  // a folder that the program is to fill; "": none

	installed *program.Installed // runs in place of the launcher; nil where that runs
	fetched   string             // the package that it is, as the entry names it
	root      bool               // the hub is

	needs    *needs           // of every program
	memory   *memory          // of where names have led; nil: nothing is remembered
	installs []string         // see installs
	others   *others          // what the entries beside it have run
	shares   shares           // of what all programs of the user share, what the child is known to need
	boundary sandbox.Boundary // what whom the child serves opens to it
	isDir    func(path string) bool
	isProg   func(path string) bool   // an executable regular file
	real     func(path string) string // without links; path itself where it leads nowhere
	looks    *sandbox.Looks           // of one plan; nil: each path is looked at when it is asked for
}

// NewMachine is this machine. environ nil, home "" and dir "" mean the environment,
// the user's home folder and the working directory of this process.
func NewMachine(environ []string, home, dir string) Machine {
	h := Machine{environ: environ, home: home, dir: dir, goos: runtime.GOOS, isDir: isDir, isProg: isProgram, real: RealPath, kernel: sandbox.System, root: os.Geteuid() == 0}
	if h.environ == nil {
		h.environ = os.Environ()
	}
	if h.home == "" {
		h.home, _ = os.UserHomeDir()
	}
	if h.dir == "" {
		h.dir, _ = os.Getwd()
	}
	h.needs, h.memory, h.installs, h.others = &needs{}, newMemory(h.stateFolder()), installs(h.home), &others{}
	plain := h
	h.shelter = sync.OnceValues(func() (shelter, error) { return scratch(plain) })
	return h
}

// In is the machine as it is in the surroundings of a client: its environment, and its
// working directory. What the hub keeps for itself stays where it is. nil and "" are the hub's.
func (h Machine) In(environ []string, dir string) Machine {
	if environ != nil {
		h.hub, h.environ = h.ofHub(), environ
	}
	h.dir = cmp.Or(dir, h.dir)
	return h
}

// ofHub is the hub's own environment.
func (h Machine) ofHub() []string {
	if h.hub != nil {
		return h.hub
	}
	return h.environ
}

// Variables are those of an environment that anything is made of here: that children may
// get, where their entries inherit or name more of them, and that tell where something is.
// Each is there once, in their order by name.
func Variables(environ, more []string) []string {
	return program.Inherited(environ, slices.Concat(more, []string{"CONTAINER_HOST", "GNUPGHOME", "npm_config_cache", "NPM_CONFIG_CACHE"}), runtime.GOOS).List()
}

// atOnce is the machine as it is at this moment: each path is looked at once. What asks later asks the machine that this
// was made of.
func (h Machine) atOnce() Machine {
	looks, asked := sandbox.NewLooks(), h.real
	h.looks, h.isDir, h.real = looks, remembered(h.isDir), remembered(func(path string) string {
		if h.needs != nil { // it is a real one
			if real, ok := looks.Real(path); ok {
				return real
			}
		}
		return asked(path)
	})
	return h
}

// remembered is a function that is asked once about each path.
func remembered[V any](of func(path string) V) func(path string) V {
	seen := map[string]V{}
	return func(path string) V {
		v, ok := seen[path]
		if !ok {
			v = of(path)
			seen[path] = v
		}
		return v
	}
}

// System is the operating system, as runtime.GOOS names it.
func (h Machine) System() string { return h.goos }

// Home is the user's home folder; "" where there is none.
func (h Machine) Home() string { return h.home }

// IsDir reports whether path is a directory that can be looked into.
func (h Machine) IsDir(path string) bool { return h.isDir(path) }

// WithOwn is the machine with an empty directory of the child's own, for one that
// many share and that is served no roots; "": it has none.
func (h Machine) WithOwn(dir string) Machine {
	h.own = dir
	return h
}

func isDir(path string) bool {
	fi, err := os.Stat(path)
	return err == nil && fi.IsDir()
}

// RealPath is a path without links; path itself where it leads nowhere.
func RealPath(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}

// For returns the machine as this program is planned on: with
// the directory in which launchers start that are not trusted with the working
// directory, and the shell that leads them there, where it needs them.
// Where they cannot be made, that child fails with the reason; nothing else does.
func (h Machine) For(prog program.Program, log zerolog.Logger) Machine {
	if p, err := prog.Precautions(prog.Args, "x", "x"); err != nil || !p.Neutral {
		return h
	}
	p, err := h.shelter()
	if err != nil {
		log.Warn().Err(err).Msg("no private directory for launchers")
		return h
	}
	h.scratch, h.shell = p.dir, p.shell
	return h
}

// shelter is what launchers start in and with.
type shelter struct{ dir, shell string }

// npmShell is the script shell given to npx on Unix. npm runs the program it
// found with it, from npm's own working directory; only then is the child's
// working directory entered. Install scripts of packages run where they are.
const npmShell = `#!/bin/sh
if [ "$npm_lifecycle_event" = npx ] && [ -n "$MCPHUB_WORKDIR" ]; then
	cd -- "$MCPHUB_WORKDIR" || exit 1
	unset MCPHUB_WORKDIR npm_config_script_shell npm_config_prefix npm_config_local_prefix INIT_CWD
fi
exec /bin/sh "$@"
`

// scratch makes an empty directory below the cache folder, and the shell
// script beside it.
func scratch(h Machine) (shelter, error) {
	base := h.CacheFolder()
	if base == "" {
		return shelter{}, errors.New("no cache folder: neither XDG_CACHE_HOME nor HOME is set")
	}
	dir := filepath.Join(base, "launch")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return shelter{}, err
	}
	if fi, err := os.Lstat(dir); err != nil || !fi.IsDir() {
		return shelter{}, fmt.Errorf("%s is not a directory", dir)
	}
	if names, err := os.ReadDir(dir); err != nil || len(names) > 0 {
		return shelter{}, fmt.Errorf("%s must be empty: launchers start there; remove what is in it", dir)
	}
	if runtime.GOOS == "windows" {
		return shelter{dir, ""}, nil
	}
	shell := filepath.Join(base, "npm-shell")
	if old, err := os.ReadFile(shell); err == nil && string(old) == npmShell && isProgram(shell) {
		return shelter{dir, shell}, nil
	}
	if err := atomicfile.Write(shell, []byte(npmShell), 0o700); err != nil {
		return shelter{}, err
	}
	return shelter{dir, shell}, nil
}

// CacheFolder is the hub's own folder below the user's cache folder; "" where there
// is none.
func (h Machine) CacheFolder() string {
	base := cacheDir(program.Inherited(h.ofHub(), nil, h.goos), h)
	if base == "" {
		return ""
	}
	return filepath.Join(base, "mcphub")
}

func cacheDir(env *program.Environment, h Machine) string {
	if v, ok := env.Get("XDG_CACHE_HOME"); ok && filepath.IsAbs(v) {
		return v
	}
	if v, ok := env.Get("LOCALAPPDATA"); ok && h.goos == "windows" && filepath.IsAbs(v) {
		return v
	}
	if h.home == "" || !filepath.IsAbs(h.home) {
		return ""
	}
	if h.goos == "darwin" {
		return filepath.Join(h.home, "Library", "Caches")
	}
	return filepath.Join(h.home, ".cache")
}
