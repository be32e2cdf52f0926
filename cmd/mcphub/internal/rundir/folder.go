package rundir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"

	"mcphub/internal/ownership"
)

// longestName is the longest name of a socket: PID-RANDOM.sock, or of one that is named by a digest.
const longestName = len("4294967295-00000000.sock")

// State returns where the hub keeps what it writes for itself: mcphub in the
// XDG state folder, on Windows below LOCALAPPDATA. "" if the user has none.
func State(env func(string) string) string {
	if runtime.GOOS == "windows" {
		if base := env("LOCALAPPDATA"); filepath.IsAbs(base) {
			return filepath.Join(base, "mcphub")
		}
		return ""
	}
	if base := env("XDG_STATE_HOME"); filepath.IsAbs(base) {
		return filepath.Join(base, "mcphub")
	}
	if home := env("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, ".local", "state", "mcphub")
	}
	return ""
}

// Sockets lists where sockets of this user's hubs may lie, the best first.
func Sockets(env func(string) string) []string {
	p := Candidates{State: State(env), Temp: os.TempDir()}
	if runtime.GOOS != "windows" {
		p.Runtime = env("XDG_RUNTIME_DIR")
	}
	return p.Folders()
}

// Candidates are what Folders chooses from. All are absolute, or "" if there is
// none.
type Candidates struct {
	Runtime string // $XDG_RUNTIME_DIR
	State   string // the hub's own folder of state, below the user's
	Temp    string // where temporary files go
}

// Folders lists where sockets may lie, the best first.
func (c Candidates) Folders() []string {
	var all []string
	add := func(base string, below ...string) {
		dir := filepath.Join(append([]string{base}, below...)...)
		if filepath.IsAbs(base) && len(dir)+1+longestName <= maxPath {
			all = append(all, dir)
		}
	}
	add(c.Runtime, "mcphub")
	add(c.State, "run")
	if uid := os.Geteuid(); uid >= 0 { // Windows has no user ids, and the path of its state folder is short
		add(c.Temp, ownName())
	}
	return all
}

// ownName returns the name of this user's folder among temporary files.
func ownName() string { return "mcphub-" + strconv.Itoa(os.Geteuid()) }

// Claim makes a folder that no one else can look into, or makes sure that it
// is one.
func Claim(dir string) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	info, err := os.Lstat(dir)
	if err == nil && info.IsDir() && ownership.Check(info) == nil && ownership.OthersUse(info) { // as a careless hand leaves it
		if err := os.Chmod(dir, 0o700); err != nil {
			return err
		}
	}
	return ownership.CheckFolder(dir)
}

// First returns what use gives for the first folder that it can use.
func First[T any](dirs []string, use func(dir string) (T, error)) (T, error) {
	var failed []error
	for _, dir := range dirs {
		got, err := use(dir)
		if err == nil {
			return got, nil
		}
		failed = append(failed, err)
	}
	var none T
	return none, fmt.Errorf("no folder can hold the socket: %w", errors.Join(failed...))
}
