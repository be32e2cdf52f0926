package e2e

import (
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"mcphub/e2e/ide"
)

// overlayScript makes a file system whose working folder is the one outside, in a user namespace of its own and attached
// nowhere: the kernel removes what is called work there. Landlock sees no mount.
const overlayScript = `perl -e '
mkdir "lower"; mkdir "upper"; my ($none, $text) = (0, 1);
syscall(272, 0x10020000) == 0 or die "unshare: $!";
my ($overlay, $key, $value, $nothing) = ("overlay");
my $fd = syscall(430, $overlay, 0); $fd >= 0 or die "fsopen: $!";
for (["lowerdir", "$ENV{PWD}/lower"], ["upperdir", "$ENV{PWD}/upper"], ["workdir", "OUTSIDE"]) {
  ($key, $value) = @$_; syscall(431, $fd, 1, $key, $value, 0) == 0 or die "fsconfig $key: $!";
}
syscall(431, $fd, 6, 0, 0, 0) == 0 or die "fsconfig: $!"; print "made\n"' 2>&1`

// TestWhatAServerChangesOutside: by system calls that open nothing, a server in the sandbox that nobody asked for removes
// nothing outside and leaves no program that runs with the rights of its owner. Under required it changes no mode, owner, time or
// attribute outside either. Without the sandbox each of these works.
func TestWhatAServerChangesOutside(t *testing.T) {
	requireLandlock(t)
	for _, tc := range []struct {
		name     string
		command  string
		sandbox  string // of the entry; "" it says nothing
		happened func(w *world) bool
		rare     bool // the control may fail on some machines
	}{
		{name: "overlay", command: overlayScript, rare: true, happened: func(w *world) bool { _, err := os.Lstat(w.path("outside", "work")); return err != nil }},
		{name: "overlay", sandbox: "required", command: overlayScript, rare: true, happened: func(w *world) bool { _, err := os.Lstat(w.path("outside", "work")); return err != nil }},
		{name: "a shell that runs as its owner", command: "cp /bin/bash sh && chmod u+s sh", happened: func(w *world) bool {
			fi, err := os.Stat(w.path("project", "sh"))
			return err == nil && fi.Mode()&os.ModeSetuid != 0
		}},
		{name: "a shell that is made so", command: `perl -e 'umask 0; use Fcntl; sysopen(F, "sh", O_CREAT|O_RDWR, 04755) or die $!'`, happened: func(w *world) bool {
			fi, err := os.Stat(w.path("project", "sh"))
			return err == nil && fi.Mode()&os.ModeSetuid != 0
		}},
		{name: "a key for everybody", sandbox: "required", command: "chmod 666 KEY", happened: func(w *world) bool { return w.mode("home", ".ssh", "id_rsa") != 0o600 }},
		{name: "a key for everybody, by a descriptor", sandbox: "required", command: `perl -e 'open(F, "<", "GITCONFIG") or die $!; chmod(0666, \*F) == 1 or die $!'`,
			happened: func(w *world) bool { return w.mode("home", ".gitconfig") != 0o600 }},
		{name: "hub.json for nobody", sandbox: "required", command: "chmod 000 HUB", happened: func(w *world) bool { return w.mode("hub.json") != 0o600 }},
		{name: "an old key", sandbox: "required", command: `perl -e 'utime(7, 7, "KEY") == 1 or die $!'`, happened: func(w *world) bool {
			fi, err := os.Stat(w.path("home", ".ssh", "id_rsa"))
			must(w.t, err)
			return fi.ModTime().Unix() == 7
		}},
		{name: "flags of what is open to read", command: `perl -e 'open(F, "<", "GITCONFIG") or die $!; my $f = pack("q", 0); ioctl(F, 0x80086601, $f) or exit; $f = pack("q", unpack("q", $f) | 0x40); ioctl(F, 0x40086602, $f) or die $!; print "set"'`,
			rare: true, happened: func(w *world) bool { return w.flags("home", ".gitconfig")&0x40 != 0 }},
	} {
		t.Run(tc.name+" "+tc.sandbox, func(t *testing.T) {
			t.Parallel()
			for _, free := range []bool{true, false} {
				w := newWorld(t)
				w.write("outside/work", secretText)
				w.write("home/.gitconfig", "[user]\n")
				kid := obj{"command": bin.opener, "args": []string{}, "paths": obj{"mode": "off"}}
				if free {
					kid["sandbox"] = "off"
				} else if tc.sandbox != "" {
					kid["sandbox"] = obj{"mode": tc.sandbox, "read": []string{bin.opener}}
				}
				key := w.write("home/.ssh/id_rsa", secretText)
				hub := w.config(obj{"kid": kid})
				s := w.start(ide.Options{Command: mcphub(t), Args: []string{"serve", "--config", hub}, Roots: ide.Folders(w.project), Env: w.env()})
				s.initialize()
				s.awaitTool("kid__shell")
				fill := strings.NewReplacer("OUTSIDE", w.outside, "KEY", key, "HUB", hub, "GITCONFIG", w.path("home", ".gitconfig"))
				said := s.callArgs("kid__shell", obj{"command": "cd " + w.project + "; " + fill.Replace(tc.command)}).Text
				switch happened := tc.happened(w); {
				case free && !happened && tc.rare:
					t.Logf("it does not work on this machine anyway: %s", said)
				case free && !happened:
					t.Errorf("it does not work without the sandbox, so this shows nothing: %s", said)
				case !free && happened:
					t.Errorf("it comes through: %s", said)
				case !free && !strings.Contains(said, "not permitted"):
					t.Errorf("it was not refused, it failed: %s", said)
				}
				if !free {
					own := s.callArgs("kid__shell", obj{"command": "cd " + w.project + " && touch -d @9 own && chmod 640 own && stat -c '%a %Y' own"}).Text
					if !strings.Contains(own, "640 9") {
						t.Errorf("it cannot change what is its own: %s", own)
					}
				}
				s.end(stopBound)
			}
		})
	}
}

func (w *world) mode(elem ...string) os.FileMode {
	fi, err := os.Stat(w.path(elem...))
	must(w.t, err)
	return fi.Mode().Perm()
}

func (w *world) flags(elem ...string) int {
	f, err := os.Open(w.path(elem...))
	must(w.t, err)
	defer func() { _ = f.Close() }()
	flags, err := unix.IoctlGetInt(int(f.Fd()), unix.FS_IOC_GETFLAGS)
	if err != nil {
		return 0 // this file system has none
	}
	return flags
}
