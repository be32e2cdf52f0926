package consent

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// shared is where programs keep what lasts, and no home folder lies.
const shared = "/var/tmp"

// sticky is on every file: what cleans /var/tmp of old files leaves those alone.
const sticky = fs.ModeSticky

// outside is the folder of this user's stores below a shared one; "" where there can be
// none, and why.
func outside(shared string) (base, why string) {
	dir, err := filepath.EvalSymlinks(shared)
	if err != nil {
		return "", err.Error()
	}
	fi, err := os.Stat(dir)
	if err != nil {
		return "", err.Error()
	}
	if st, ok := fi.Sys().(*syscall.Stat_t); !ok || int(st.Uid) != os.Geteuid() && (st.Uid != 0 || fi.Mode()&fs.ModeSticky == 0) {
		return "", dir + " is not the system's, or others may put theirs in the place of a file there"
	}
	base = filepath.Join(dir, "mcphub-"+strconv.Itoa(os.Geteuid()))
	switch err := private(base); {
	case err == nil:
		return base, ""
	case !errors.Is(err, fs.ErrNotExist):
		return "", err.Error()
	}
	if err := unix.Access(dir, unix.W_OK|unix.X_OK); err != nil {
		return "", fmt.Sprintf("%s cannot be written: %v", dir, err)
	}
	return base, ""
}

// private says why a folder is not this user's alone.
func private(dir string) error {
	fi, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	st, ok := fi.Sys().(*syscall.Stat_t)
	switch {
	case !fi.IsDir():
		return fmt.Errorf("%s is no folder; take it away", dir)
	case !ok || int(st.Uid) != os.Geteuid():
		return fmt.Errorf("%s belongs to another user", dir)
	case fi.Mode().Perm()&0o077 != 0:
		return fmt.Errorf("%s is open to others (mode %04o); chmod 700 %s", dir, fi.Mode().Perm(), dir)
	}
	return nil
}

// placeOf is where the Store of a folder of state lies, and the folder that nobody else is
// to open. Where the home folder is served, so is the state in it. Then it lies beyond.
func placeOf(state, home string) (dir, closed string) { return placeIn(shared, state, home) }

func placeIn(shared, state, home string) (dir, closed string) {
	inside := filepath.Join(state, "consent")
	if home == "" || !strings.HasPrefix(filepath.Clean(state), filepath.Clean(home)+"/") {
		return inside, inside
	}
	base, why := outside(shared)
	if why != "" {
		return inside, inside
	}
	sum := sha256.Sum256([]byte(filepath.Clean(state)))
	return filepath.Join(base, hex.EncodeToString(sum[:8])), base
}
