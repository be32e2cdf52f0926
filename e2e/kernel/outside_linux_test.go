package kernel

import (
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"mcphub/e2e/ide"
	"mcphub/e2e/world"
	"mcphub/internal/needs"
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
	world.RequireLandlock(t)
	for _, tc := range []struct {
		name     string
		command  string
		sandbox  string // of the entry; "" it says nothing
		happened func(w *world.World) bool
		rare     bool // the control may fail on some machines
	}{
		{name: "overlay", command: overlayScript, rare: true, happened: func(w *world.World) bool { _, err := os.Lstat(w.Path("outside", "work")); return err != nil }},
		{name: "overlay", sandbox: "required", command: overlayScript, rare: true, happened: func(w *world.World) bool { _, err := os.Lstat(w.Path("outside", "work")); return err != nil }},
		{name: "a shell that runs as its owner", command: "cp /bin/bash sh && chmod u+s sh", happened: func(w *world.World) bool {
			fi, err := os.Stat(w.Path("project", "sh"))
			return err == nil && fi.Mode()&os.ModeSetuid != 0
		}},
		{name: "a shell that is made so", command: `perl -e 'umask 0; use Fcntl; sysopen(F, "sh", O_CREAT|O_RDWR, 04755) or die $!'`, happened: func(w *world.World) bool {
			fi, err := os.Stat(w.Path("project", "sh"))
			return err == nil && fi.Mode()&os.ModeSetuid != 0
		}},
		{name: "a key for everybody", sandbox: "required", command: "chmod 666 KEY", happened: func(w *world.World) bool { return mode(w, "home", ".ssh", "id_rsa") != 0o600 }},
		{name: "a key for everybody, by a descriptor", sandbox: "required", command: `perl -e 'open(F, "<", "GITCONFIG") or die $!; chmod(0666, \*F) == 1 or die $!'`,
			happened: func(w *world.World) bool { return mode(w, "home", ".gitconfig") != 0o600 }},
		{name: "hub.json for nobody", sandbox: "required", command: "chmod 000 HUB", happened: func(w *world.World) bool { return mode(w, "hub.json") != 0o600 }},
		{name: "an old key", sandbox: "required", command: `perl -e 'utime(7, 7, "KEY") == 1 or die $!'`, happened: func(w *world.World) bool {
			fi, err := os.Stat(w.Path("home", ".ssh", "id_rsa"))
			world.Must(w.T, err)
			return fi.ModTime().Unix() == 7
		}},
		{name: "flags of what is open to read", command: `perl -e 'open(F, "<", "GITCONFIG") or die $!; my $f = pack("q", 0); ioctl(F, 0x80086601, $f) or exit; $f = pack("q", unpack("q", $f) | 0x40); ioctl(F, 0x40086602, $f) or die $!; print "set"'`,
			rare: true, happened: func(w *world.World) bool { return flags(w, "home", ".gitconfig")&0x40 != 0 }},
	} {
		t.Run(tc.name+" "+tc.sandbox, func(t *testing.T) {
			t.Parallel()
			needs.Line(t, tc.command)
			for _, free := range []bool{true, false} {
				w := world.New(t)
				w.Write("outside/work", world.SecretText)
				w.Write("home/.gitconfig", "[user]\n")
				kid := obj{"command": world.Bin.Opener, "args": []string{}, "paths": obj{"mode": "off"}}
				if free {
					kid["sandbox"] = "off"
				} else if tc.sandbox != "" {
					kid["sandbox"] = obj{"mode": tc.sandbox, "read": []string{world.Bin.Opener}}
				}
				key := w.Write("home/.ssh/id_rsa", world.SecretText)
				hub := w.Config(obj{"kid": kid})
				s := w.Start(ide.Options{Command: world.Hub(t), Args: []string{"serve", "--config", hub}, Roots: ide.Folders(w.Project), Env: w.Env()})
				s.Handshake()
				s.AwaitTool("kid__shell")
				fill := strings.NewReplacer("OUTSIDE", w.Outside, "KEY", key, "HUB", hub, "GITCONFIG", w.Path("home", ".gitconfig"))
				said := s.MustCallArgs("kid__shell", obj{"command": "cd " + w.Project + "; " + fill.Replace(tc.command)}).Text
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
					own := s.MustCallArgs("kid__shell", obj{"command": "cd " + w.Project + " && touch -d @9 own && chmod 640 own && stat -c '%a %Y' own"}).Text
					if !strings.Contains(own, "640 9") {
						t.Errorf("it cannot change what is its own: %s", own)
					}
				}
				s.End(world.StopBound)
			}
		})
	}
}

func mode(w *world.World, elem ...string) os.FileMode {
	fi, err := os.Stat(w.Path(elem...))
	world.Must(w.T, err)
	return fi.Mode().Perm()
}

func flags(w *world.World, elem ...string) int {
	f, err := os.Open(w.Path(elem...))
	world.Must(w.T, err)
	defer func() { _ = f.Close() }()
	flags, err := unix.IoctlGetInt(int(f.Fd()), unix.FS_IOC_GETFLAGS)
	if err != nil {
		return 0 // this file system has none
	}
	return flags
}
