package sandbox

import (
	"net"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// What is reserved, and beside each what is not: so that no case holds because all is.
func TestReserved(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("paths of Unix")
	}
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	home := filepath.Join(base, "home", "me")
	for _, dir := range []string{"vault", ".aws", ".config/gcloud", ".config/tool", "held/in", "other/own"} {
		if err := os.MkdirAll(filepath.Join(home, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	socket, err := net.Listen("unix", filepath.Join(base, "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = socket.Close() }()
	link := filepath.Join(base, "link") // the home folder by another name
	if err := os.Symlink(home, link); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", filepath.Join(base, "tmp"))
	at := func(path string) string { return filepath.Join(home, path) }
	for _, known := range []string{home, link} {
		r := Reserved{Home: known, Withheld: []string{at("held/in")}, Others: []string{at("other/own")}}
		for _, c := range []struct {
			path     string
			reserved bool
		}{
			{"/", true}, {"/usr", true}, {"/usr/local", true}, {"/etc", true}, {"/etc/java-17-openjdk", false}, {"/var", true}, {"/srv", true}, {"/srv/notes", false}, {"/data", false},
			{"/dev", true}, {"/dev/shm", true}, {"/run/user/1000/x", true}, {"/proc/self/mem", true}, {"/var/run/docker.sock", true},
			{"/tmp", true}, {"/var/tmp", true}, {filepath.Join(base, "tmp"), true}, {filepath.Join(base, "tmp", "mine"), false},
			{home, true}, {filepath.Dir(home), true}, {base, true}, {at("vault"), false}, {at("vault/x.md"), false},
			{at(".aws"), true}, {at(".aws/config"), true}, {at(".config"), true}, {at(".config/gcloud"), true}, {at(".config/tool"), false},
			{at(".cursor/mcp.json"), true}, {at("vault/id_ed25519"), true}, {at("vault/.env"), true},
			{at("held"), true}, {at("held/in"), true}, {at("held/in/x"), true}, {at("held/beside"), false},
			{at("other"), true}, {at("other/own/x"), true}, {at("other/beside"), false},
			{filepath.Join(base, "s"), true},
		} {
			if why := r.Why(c.path); (why != "") != c.reserved {
				t.Errorf("home %s: %s: %q", known, c.path, why)
			}
		}
	}
	if why := (Reserved{}).Why("/data"); why != "" {
		t.Errorf("nothing is known: %s", why)
	}
}
