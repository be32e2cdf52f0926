package ownership

import (
	"bufio"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// etc is where this system states which users there are.
const etc = "/etc"

// isAlone reports whether no one but this process's user and root has what a file gives its group. It
// is false if that cannot be told: for a group of which this process is none, an access list, and
// users who are listed elsewhere than in files.
func isAlone(path string, gid int) bool {
	if _, err := unix.Getxattr(path, "system.posix_acl_access", nil); !errors.Is(err, unix.ENODATA) && !errors.Is(err, unix.ENOTSUP) {
		return false
	}
	ours, err := os.Getgroups()
	if err != nil || gid != os.Getegid() && !slices.Contains(ours, gid) {
		return false
	}
	return holdsNobodyElse(etc, gid, os.Geteuid())
}

// holdsNobodyElse reports whether a group has no member but a user and root, by the files of a
// folder like /etc. A file that is not there lists no one.
func holdsNobodyElse(dir string, gid, uid int) bool {
	only := true
	us := map[string]bool{}
	local := eachLine(filepath.Join(dir, "nsswitch.conf"), func(line string) {
		name, sources, _ := strings.Cut(line, ":")
		if name = strings.TrimSpace(name); name == "passwd" || name == "group" {
			for _, source := range strings.Fields(sources) {
				only = only && (source == "files" || source == "systemd")
			}
		}
	})
	users := eachLine(filepath.Join(dir, "passwd"), func(line string) {
		of := strings.Split(line, ":")
		if len(of) < 4 {
			return
		}
		if of[2] == "0" || of[2] == strconv.Itoa(uid) {
			us[of[0]] = true
		} else {
			only = only && of[3] != strconv.Itoa(gid)
		}
	})
	groups := eachLine(filepath.Join(dir, "group"), func(line string) {
		of := strings.Split(line, ":")
		if len(of) < 4 || of[2] != strconv.Itoa(gid) {
			return
		}
		for _, member := range strings.Split(of[3], ",") {
			only = only && (member == "" || us[member])
		}
	})
	return only && local && users && groups
}

// eachLine gives the lines of a file, without comments; false: they could not be read. What is not
// there has none.
func eachLine(path string, do func(line string)) bool {
	f, err := os.Open(path)
	if err != nil {
		return errors.Is(err, os.ErrNotExist)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		line, _, _ := strings.Cut(lines.Text(), "#")
		do(line)
	}
	return lines.Err() == nil
}
