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

// longestName is that of a socket: PID-RANDOM.sock, or of one that is named by a digest.
const longestName = len("4294967295-00000000.sock")

// State is where the hub keeps what it writes for itself: mcphub in the
// XDG state folder, on Windows below LOCALAPPDATA. "" where the user has none.
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

// Candidates are what Folders chooses from. All are absolute, or "" where there is
// none.
type Candidates struct {
	Runtime string // $XDG_RUNTIME_DIR
	State   string // the hub's own folder of state, below that of the user
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
	if uid := os.Geteuid(); uid >= 0 { // there are none on Windows, where the state folder is short
		add(c.Temp, "mcphub-"+strconv.Itoa(uid))
	}
	return all
}

// Claim makes a folder that nobody else can look into, or makes sure that it
// is one.
func Claim(dir string) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	err := Check(dir)
	if _, ok := errors.AsType[*wideError](err); ok { // ours, but open to others: as a careless hand leaves it
		if err := os.Chmod(dir, 0o700); err != nil {
			return err
		}
		return Check(dir)
	}
	return err
}

// Check tells why a folder is not this user's alone.
func Check(dir string) error {
	fi, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if !fi.IsDir() {
		return fmt.Errorf("%s is not a folder; take it away", dir)
	}
	if err := ownership.Check(fi); err != nil {
		return fmt.Errorf("%s %w; it is not used", dir, err)
	}
	if ownership.OthersUse(fi) {
		return &wideError{dir, fi.Mode().Perm()}
	}
	return nil
}

// A wideError is a folder of ours that others may look into.
type wideError struct {
	dir  string
	mode os.FileMode
}

func (e *wideError) Error() string {
	return fmt.Sprintf("%s is open to other users (mode %v); chmod 700 %s", e.dir, e.mode, e.dir)
}
