package ownership

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"mcphub/e2e/needs"
)

// This program is also the process of another user: it checks the file that it is given, or reads it.
const asVariable = "MCPHUB_TEST_OWNERSHIP"

func TestMain(m *testing.M) {
	switch path := os.Args[len(os.Args)-1]; os.Getenv(asVariable) {
	case "check":
		info, err := os.Stat(path)
		if err == nil {
			err = CheckPrivate(path, info)
		}
		fmt.Println(err)
		os.Exit(0)
	case "read":
		_, err := os.ReadFile(path)
		fmt.Println(err)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// as returns what this program says as another user.
func as(t *testing.T, program, how, path string, uid, gid uint32, groups ...uint32) string {
	t.Helper()
	c := exec.CommandContext(t.Context(), program, path)
	c.Dir, c.Env = "/", []string{asVariable + "=" + how, "GORACE=atexit_sleep_ms=0"} // by itself the race detector sleeps for a second
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: gid, Groups: groups}}
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return strings.TrimSpace(string(out))
}

// accessList gives user 1000 the right to read, as setfacl -m u:1000:r does.
func accessList() []byte {
	b := binary.LittleEndian.AppendUint32(nil, 2)
	for _, e := range [][3]uint32{{1, 4, ^uint32(0)}, {2, 4, 1000}, {4, 4, ^uint32(0)}, {16, 4, ^uint32(0)}, {32, 0, ^uint32(0)}} {
		b = binary.LittleEndian.AppendUint16(b, uint16(e[0]))
		b = binary.LittleEndian.AppendUint16(b, uint16(e[1]))
		b = binary.LittleEndian.AppendUint32(b, e[2])
	}
	return b
}

// A secret as Kubernetes mounts it is taken, by a link and with a group. What another user can read is not: each of
// these is read by one, and what is taken by none.
func TestPrivateWhereNobodyElseReads(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		needs.Missing(t, "only root makes files of other users")
	}
	const hub, group, stranger = 65534, 4242, 1000
	top, err := os.MkdirTemp("/var/tmp", "mcphub-ownership") // no folder above is closed to others
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(top) })
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.Chmod(top, 0o755))
	self, err := os.ReadFile("/proc/self/exe")
	must(err)
	program := filepath.Join(top, "program")
	must(os.WriteFile(program, self, 0o755))
	must(os.Chmod(program, 0o755))
	type owned struct {
		mode     os.FileMode
		uid, gid int
	}
	place := func(path string, o owned) {
		must(os.Chown(path, o.uid, o.gid))
		must(os.Chmod(path, o.mode))
	}
	open := owned{0o1777, 0, group}
	for name, tc := range map[string]struct {
		dir, file owned
		list      bool // it has an access list
		linked    bool // it has another name, in a folder that is open
		taken     bool
		unread    bool // though it is not taken, no stranger of the test reads it
	}{
		"a Secret of Kubernetes":            {dir: open, file: owned{0o440, 0, group}, taken: true},
		"of this user, for its group":       {dir: open, file: owned{0o640, hub, group}, taken: true},
		"of this user alone":                {dir: open, file: owned{0o600, hub, group}, taken: true},
		"in a folder of this user":          {dir: owned{0o700, hub, group}, file: owned{0o644, hub, hub}, taken: true},
		"in a folder of the group":          {dir: owned{0o750, 0, group}, file: owned{0o444, 0, 0}, taken: true},
		"for everybody":                     {dir: open, file: owned{0o444, 0, group}},
		"in a folder that everybody enters": {dir: owned{0o711, hub, group}, file: owned{0o644, hub, hub}},
		"in a folder of another user":       {dir: owned{0o710, stranger, group}, file: owned{0o444, 0, 0}},
		"of another user":                   {dir: open, file: owned{0o440, stranger, group}},
		"for a group of another user":       {dir: open, file: owned{0o440, 0, 1}},
		"for a group that this user is not": {dir: open, file: owned{0o644, 0, 4243}},
		"with an access list":               {dir: open, file: owned{0o440, 0, group}, list: true},
		"with a name in an open folder":     {dir: owned{0o700, hub, group}, file: owned{0o644, hub, hub}, linked: true},
		"its group may write":               {dir: open, file: owned{0o660, 0, group}, unread: true},
		"others may write, in a closed one": {dir: owned{0o700, hub, group}, file: owned{0o666, hub, hub}, unread: true},
	} {
		t.Run(name, func(t *testing.T) {
			vol, err := os.MkdirTemp(top, "")
			must(err)
			data := filepath.Join(vol, "..2026_11_26")
			must(os.Mkdir(data, 0o755))
			path := filepath.Join(vol, "token")
			must(os.WriteFile(filepath.Join(data, "token"), []byte("s3cret\n"), 0o600))
			must(os.Symlink("..2026_11_26", filepath.Join(vol, "..data")))
			must(os.Symlink("..data/token", path))
			place(filepath.Join(data, "token"), tc.file)
			place(data, owned{0o755 | os.ModeSetgid, 0, group})
			place(vol, tc.dir)
			elsewhere := path
			if tc.linked {
				elsewhere = vol + "-other"
				must(os.Link(filepath.Join(data, "token"), elsewhere))
			}
			if tc.list {
				switch err := unix.Setxattr(filepath.Join(data, "token"), "system.posix_acl_access", accessList(), 0); {
				case errors.Is(err, unix.ENOTSUP):
					needs.Missing(t, "this file system has no access lists")
				case err != nil:
					t.Fatal(err)
				}
			}
			said := as(t, program, "check", path, hub, hub, group, 1)
			if taken := said == "<nil>"; taken != tc.taken {
				t.Errorf("this user: %s", said)
			}
			if !tc.taken && !strings.Contains(said, "chmod 600") && !strings.Contains(said, "defaultMode: 0440") {
				t.Errorf("it says not what to do: %s", said)
			}
			if can := as(t, program, "read", path, hub, hub, group, 1); can != "<nil>" {
				t.Errorf("this user cannot read it: %s", can)
			}
			read := false
			for _, who := range [][2]uint32{{stranger, stranger}, {1, 1}} {
				read = read || as(t, program, "read", elsewhere, who[0], who[1]) == "<nil>"
			}
			if want := !tc.taken && !tc.unread; read != want {
				t.Errorf("another user reads it: %t", read)
			}
		})
	}
}

func TestHoldsNobodyElse(t *testing.T) {
	t.Parallel()
	const passwd, groups = "root:x:0:0::/root:/bin/sh\nhub:x:500:500::/:/bin/false\nbob:x:501:501::/:\nbad\n", "root:x:0:\nhub:x:500:\n# bob\nteam:x:42:hub,bob\nown:x:43:hub,root\nghost:x:44:gone\n"
	for name, tc := range map[string]struct {
		files map[string]string
		gid   int
		want  bool
	}{
		"its own":              {gid: 500, want: true},
		"its own and root's":   {gid: 43, want: true},
		"that nobody knows":    {gid: 4242, want: true},
		"another's":            {gid: 501},
		"of two":               {gid: 42},
		"of somebody unknown":  {gid: 44},
		"an image without any": {files: map[string]string{"passwd": "", "group": "", "nsswitch.conf": ""}, gid: 42, want: true},
		"users of a domain":    {files: map[string]string{"nsswitch.conf": "passwd: files sss\n"}, gid: 500},
		"groups of a domain":   {files: map[string]string{"nsswitch.conf": "group:files [NOTFOUND=return] ldap\n"}, gid: 500},
		"hosts of a domain":    {files: map[string]string{"nsswitch.conf": "# passwd: sss\nhosts: files dns\n"}, gid: 500, want: true},
		"a line without end":   {files: map[string]string{"group": strings.Repeat("x", 1<<17)}, gid: 500},
	} {
		dir := t.TempDir()
		files := map[string]string{"passwd": passwd, "group": groups, "nsswitch.conf": "passwd: files systemd\ngroup: files\n"}
		for name, text := range tc.files {
			files[name] = text
		}
		for name, text := range files {
			if text == "" {
				continue // it is not there
			}
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if got := holdsNobodyElse(dir, tc.gid, 500); got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
