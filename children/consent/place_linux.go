package consent

import (
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"mcphub/internal/ownership"
)

// shared is where programs keep what lasts, and no home folder lies.
const shared = "/var/tmp"

// sticky is on every file: what cleans /var/tmp of old files leaves those alone.
const sticky = fs.ModeSticky

// outside returns the folder of this user's stores below a shared one; "" if there can be
// none. What is this user's there counts, whatever is wrong with it: a confined server can
// change its mode, and must not have the hub look elsewhere by that.
func outside(shared string) string {
	dir, err := filepath.EvalSymlinks(shared)
	if err != nil {
		return ""
	}
	fi, err := os.Stat(dir)
	if err != nil || ownership.Check(fi) != nil && (fi.Sys().(*syscall.Stat_t).Uid != 0 || fi.Mode()&fs.ModeSticky == 0) {
		return "" // others may put theirs instead of what is there
	}
	base := filepath.Join(dir, "mcphub-"+strconv.Itoa(os.Geteuid()))
	switch fi, err := os.Lstat(base); {
	case err == nil && ownership.Check(fi) == nil:
	case missing(err) && unix.Access(dir, unix.W_OK|unix.X_OK) == nil:
	default:
		return ""
	}
	return base
}

// placeOf returns where the Store of a folder of state lies, and the folder that no one
// else is to open. If the home folder is served, so is the state in it. Then it lies
// beyond.
func placeOf(state, home string) (dir, closed string) { return placeIn(shared, state, home) }

func placeIn(shared, state, home string) (dir, closed string) {
	inside := filepath.Join(state, "consent")
	if home == "" || !strings.HasPrefix(filepath.Clean(state), filepath.Clean(home)+"/") {
		return inside, inside
	}
	base := outside(shared)
	if base == "" {
		return inside, inside
	}
	sum := sha256.Sum256([]byte(filepath.Clean(state)))
	return filepath.Join(base, hex.EncodeToString(sum[:8])), base
}
