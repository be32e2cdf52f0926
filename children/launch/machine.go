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

	"mcphub/children/confinement"
	"mcphub/children/program"
	"mcphub/children/sandbox"
	"mcphub/internal/atomicfile"
)

// A Machine is what a Launch is computed from besides Program and roots.
type Machine struct {
	confinement.Host

	dir     string                  // where programs start that nothing else is said of
	scratch string                  // an empty directory of ours, for launchers; "" if there is none
	shell   string                  // npmShell as a file; "" if there is none
	own     string                  // an empty directory of the child's own, for one that many share; "" if it has none
	shelter func() (shelter, error) // makes scratch and shell when first asked
	temp    string                  // a confined child's own temporary folder; "" if it has none
	cache   string                  // likewise, for what it keeps from run to run
	fresh   string                  // a folder that the program is to fill; "": none

	installed *program.Installed // runs instead of the launcher; nil if that runs
	fetched   string             // the package that it is, as the entry names it
}

// NewMachine returns this machine. environ nil, home "" and dir "" mean the
// environment, the user's home folder and the working directory of this process.
func NewMachine(environ []string, home, dir string) Machine {
	h := Machine{Host: confinement.New(confinement.Options{Environ: environ, Home: home}), dir: dir}
	if h.dir == "" {
		h.dir, _ = os.Getwd()
	}
	host := h.Host
	h.shelter = sync.OnceValues(func() (shelter, error) { return makeScratch(host) })
	return h
}

// WithClientEnv returns the machine as it is in the surroundings of a client: its environment,
// and its working directory. What the hub keeps for itself stays where it is. nil and "" are the
// hub's.
func (m Machine) WithClientEnv(environ []string, dir string) Machine {
	m.Host, m.dir = m.Host.WithClientEnv(environ), cmp.Or(dir, m.dir)
	return m
}

// WithLookupCache returns the machine as it is at this moment: see [confinement.Host.WithLookupCache].
func (m Machine) WithLookupCache() Machine {
	m.Host = m.Host.WithLookupCache()
	return m
}

// WithLooks works like WithLookupCache with a cache that the plans of servers that start together use too.
func (m Machine) WithLooks(looks *sandbox.LstatCache) Machine {
	m.Host = m.Host.WithLooks(looks)
	return m
}

// Variables returns the variables of an environment that anything is made of here: that
// children may get, where their entries inherit or name more of them, and that report
// where something is. Each is there once, in their order by name.
func Variables(environ, more []string) []string {
	return program.Inherited(environ, slices.Concat(more, []string{"CONTAINER_HOST", "GNUPGHOME", "npm_config_cache", "NPM_CONFIG_CACHE"}), runtime.GOOS).List()
}

// WithBoundary returns the machine with the boundary of whom the child serves.
func (m Machine) WithBoundary(b sandbox.Boundary) Machine {
	m.Host = m.Host.WithBoundary(b)
	return m
}

// WithPrivate returns the machine with folders of the child's own, for what it keeps
// for a run and for longer.
func (m Machine) WithPrivate(temp, cache string) Machine {
	m.temp, m.cache = temp, cache
	return m
}

// Temp returns the confined child's own temporary folder; "" if it has none.
func (m Machine) Temp() string { return m.temp }

// WithOwn returns the machine with an empty directory of the child's own, for one
// that many share and that is served no roots; "": it has none.
func (m Machine) WithOwn(dir string) Machine {
	m.own = dir
	return m
}

// WithShelter returns the machine as this program is planned on: with the
// directory in which launchers start that are not trusted with the working
// directory, and the shell that leads them there, if it needs them. If they
// cannot be made, that child fails with the reason; nothing else does.
func (m Machine) WithShelter(prog program.Program, log zerolog.Logger) Machine {
	if p, err := prog.Precautions(prog.Args, "x", "x"); err != nil || !p.Neutral {
		return m
	}
	p, err := m.shelter()
	if err != nil {
		log.Warn().Err(err).Msg("no private directory for launchers")
		return m
	}
	m.scratch, m.shell = p.dir, p.shell
	return m
}

// shelter is what launchers start in and with.
type shelter struct{ dir, shell string }

// makeScratch makes an empty directory below the cache folder. On Unix it makes the shell
// script beside it; on Windows this program is the shell.
func makeScratch(host confinement.Host) (shelter, error) {
	base := host.CacheFolder()
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
		exe, err := os.Executable()
		return shelter{dir, exe}, err
	}
	shell := filepath.Join(base, "npm-shell")
	if old, err := atomicfile.Read(shell); err == nil && string(old) == npmShell && host.IsProgram(shell) {
		return shelter{dir, shell}, nil
	}
	if err := atomicfile.Write(shell, []byte(npmShell), 0o700); err != nil {
		return shelter{}, err
	}
	return shelter{dir, shell}, nil
}
