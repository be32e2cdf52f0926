package seatbelt_test

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"mcphub/children/sandbox/seatbelt"
	"mcphub/e2e/seatbelttest"
	"mcphub/e2e/seeds"
)

// A call is a seatbelttest.Call, for tables.
type call struct{ Do, Path, To string }

// TestOrdersOfRules: in the model a rule about one operation outweighs a later one about all of its kind, and the last rule of one
// operation wins. The control is the order in which the last rule always wins.
func TestOrdersOfRules(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		rules          string
		specific, last bool
	}{
		"a deny of one operation survives":        {`(deny file-write-unlink (subpath "/a")) (allow file-write* (subpath "/a"))`, false, true},
		"an allow of one operation survives":      {`(allow file-write-unlink (subpath "/a")) (deny file-write* (subpath "/a"))`, true, false},
		"the last of the same operation":          {`(deny file-write-unlink (subpath "/a")) (allow file-write-unlink (literal "/a/b"))`, true, true},
		"the last of the same star":               {`(allow file-write* (literal "/a/b")) (deny file-write* (subpath "/a"))`, false, false},
		"one that does not match does not count":  {`(deny file-write-unlink (subpath "/c")) (allow file-write* (subpath "/a"))`, true, true},
		"a star of all files is the least exact":  {`(deny file-write* (subpath "/a")) (allow file*)`, false, true},
		"the default":                             {`(allow file-read* (subpath "/a"))`, false, false},
		"a filter of filters":                     {`(allow file-write* (require-all (subpath "/a") (require-not (literal "/a/b"))))`, false, false},
		"any of several filters":                  {`(allow file-write* (literal "/c") (literal "/a/b"))`, true, true},
		"a subpath is no prefix of letters":       {`(allow file-write* (subpath "/a/bb") (subpath "/a/"))`, true, true},
		"several operations in one rule":          {`(allow file-read* file-write-unlink (subpath "/a"))`, true, true},
		"an expression is not anchored by itself": {`(allow file-write* (regex "b$"))`, true, true},
	} {
		p, err := seatbelttest.Parse("(version 1)\n(deny default)\n" + tc.rules)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		r := seatbelttest.Request{Operation: "file-write-unlink", Path: "/a/b"}
		if got := p.Allows(r, seatbelttest.SpecificWins); got != tc.specific {
			t.Errorf("%s: %t, where the exact rule wins", name, got)
		}
		if got := p.Allows(r, seatbelttest.LastWins); got != tc.last {
			t.Errorf("%s: %t, where the last rule wins", name, got)
		}
	}
}

// TestWhatCannotBeRead: the model refuses what is not in the language, so a slip of the pen in a profile is found.
func TestWhatCannotBeRead(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		``, `(deny default)`, `(version 1) (allow file-raed*)`, `(version 1) (allow file-read* (sub-path "/"))`, `(version 1) (allow file-read*`, `(version 1))`,
		`(version 1) (allow file-read* (literal "/a\q"))`, `(version 1) (allow file-read* (literal "` + strings.Repeat("x", 1024) + `"))`, `(version 1) (permit file-read*)`,
		`(version 1) (allow file-read* (require-not (literal "/a") (literal "/b")))`, `(version 1) (allow signal (target others))`, `(version 1) (allow network-outbound (remote udp "*:1"))`,
	} {
		if _, err := seatbelttest.Parse(text); err == nil {
			t.Errorf("%.80q was read", text)
		}
	}
}

// disk returns the disk of a user with keys, state of the hub, and a project with links in it.
func disk() *seatbelttest.Disk {
	d := seatbelttest.NewDisk()
	d.Add("REGULAR-FILE", "/Users/me/.ssh/id_ed25519", "/Users/me/.gitconfig", "/Users/me/.config/mcphub/hub.json", "/Users/me/Library/Keychains/login.keychain-db", "/Users/me/outside/secret.txt",
		"/Users/me/project/main.go", "/Users/me/project/src/a.go", "/Users/me/project/conf/hub.json", "/Users/me/project/conf/other", "/Users/me/project-two/x", "/private/tmp/mine/x", "/private/tmp/other/x",
		"/Users/me/notes.db", "/Users/me/tools/tool", "/Users/me/größe/x")
	d.Add("SOCKET", "/private/tmp/agent.sock", "/Users/me/project/own.sock")
	d.Add("CHARACTER-DEVICE", "/dev/null", "/dev/ttys001", "/dev/ptmx", "/dev/disk0")
	d.Link("/Users/me/project/link", "../outside")
	d.Link("/Users/me/project/root", "/")
	d.Link("/Users/me/project/secret", "/Users/me/.ssh/id_ed25519")
	d.Link("/Users/me/project/dangling", "/Users/me/outside/new")
	return d
}

// held is what a server with one root is held to, as the hub makes it.
var held = policy{
	Areas: []area{runs("/usr"), runs("/bin"), runs("/System/Library"), file("/private/etc/hosts"), {Path: "/dev/null", Read: true, Write: true, Control: true},
		all("/Users/me/project"), all("/private/tmp/mine"), data("/Users/me/notes.db"), file("/Users/me/.gitconfig"), runs("/Users/me/tools")},
	Closed:  []name{{Path: "/Users/me/project/conf/hub.json"}, {Path: "/Users/me/.config/mcphub"}, {Path: "/Users/me/project", Missing: "new/Kept.json"}},
	Network: true,
}

// A fataler is a test, or a draw of one.
type fataler interface {
	Helper()
	Fatal(args ...any)
}

// machines returns the machine of a policy in both orders of rules and both spellings of firmlinks.
func machines(t fataler, p policy, d *seatbelttest.Disk) (all []*seatbelttest.Machine) {
	t.Helper()
	text, err := p.Text()
	if err != nil {
		t.Fatal(err)
	}
	profile, err := seatbelttest.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	for _, order := range []seatbelttest.Order{seatbelttest.SpecificWins, seatbelttest.LastWins} {
		for _, data := range []bool{false, true} {
			all = append(all, &seatbelttest.Machine{Disk: d, Profile: profile, Order: order, Data: data})
		}
	}
	return all
}

// outsides are spellings of paths that are closed to held.
var outsides = []string{
	"/Users/me/.ssh/id_ed25519", "/users/ME/.SSH/ID_ED25519", "/System/Volumes/Data/Users/me/.ssh/id_ed25519", "/system/volumes/data/users/me/.ssh/id_ed25519",
	"/Volumes/Macintosh HD/Users/me/.ssh/id_ed25519", "/Users/me/project/../.ssh/id_ed25519", "/Users/me/project/link/secret.txt", "/Users/me/project/link/../.ssh/id_ed25519",
	"/Users/me/project/root/Users/me/.ssh/id_ed25519", "/Users/me/project/root/Users/me/project/root/Users/me/outside/secret.txt", "/Users/me/project/secret",
	"/Users/me/project-two/x", "/Users/me/Library/Keychains/login.keychain-db", "/etc/master.passwd", "/private/etc/master.passwd", "/tmp/other/x", "/private/tmp/other/x",
	"/Users/me/project/conf/hub.json", "/Users/me/project/CONF/Hub.JSON", "/System/Volumes/Data/Users/me/project/conf/hub.json", "/Users/me/.config/mcphub/hub.json",
	"/Users/me/gro\u0308ße/x", "/Users/me/GRÖSSE/x", "/dev/ttys001", "/dev/disk0",
}

// changing are calls that open or change what is at a path.
var changing = []string{"read", "write", "truncate", "chmod", "chown", "utimes", "chflags", "setxattr", "getxattr", "remove", "map", "ioctl"}

// attacks are calls on what is outside, and ways that are no files.
func attacks() (all []call) {
	for _, at := range outsides {
		lies := at != "/Users/me/project/secret" // else it is a link in the root, which may be moved there
		for _, do := range changing {
			if lies || do != "remove" {
				all = append(all, call{do, at, ""})
			}
		}
		for _, do := range []string{"link", "rename", "clone", "exchange", "swap"} {
			if lies || do != "rename" && do != "swap" {
				all = append(all, call{do, at, "/Users/me/project/new"}, call{do, at, "/Users/me/project/main.go"})
			}
		}
		for _, do := range []string{"rename", "clone", "link", "exchange", "swap"} {
			if !lies && do != "exchange" {
				continue
			}
			all = append(all, call{do, "/Users/me/project/main.go", at})
		}
	}
	for _, dir := range []string{"/Users/me", "/Users/me/outside", "/tmp", "/etc", "/Users/me/project/link", "/Users/me/project/root/Users", "/System/Volumes/Data/Users/me", "/Users/me/.config/mcphub", "/Library", "/dev"} {
		for _, do := range []string{"create", "mkdir", "mkfifo", "mknod", "bind socket", "write"} {
			all = append(all, call{do, dir + "/planted", ""})
		}
		all = append(all, call{"symlink", "/etc", dir + "/planted"}, call{"rename", "/Users/me/project/src", dir + "/planted"})
	}
	for _, at := range []string{"/Users/me/project/conf", "/users/me/PROJECT/Conf", "/System/Volumes/Data/Users/me/project/conf", "/Users/me/project"} { // what is closed lies below
		all = append(all, call{"rename", at, "/Users/me/project/moved"}, call{"rename", at, "/private/tmp/mine/moved"}, call{"remove", at, ""}, call{"swap", at, "/Users/me/project/src"}, call{"rename", "/Users/me/project/src", at})
	}
	for _, at := range []string{"new/Kept.json", "NEW/kept.json", "new/\u212aept.JSON", "new/KEPT.json/below", "new", "New"} { // nothing is there yet
		all = append(all, call{"create", "/Users/me/project/" + at, ""}, call{"rename", "/Users/me/project/src", "/Users/me/project/" + at}, call{"symlink", "/etc", "/Users/me/project/" + at})
	}
	return append(all,
		call{"write", "/Users/me/project/dangling", ""}, call{"write", "/Users/me/.gitconfig", ""}, call{"remove", "/Users/me/.gitconfig", ""}, call{"remove", "/Users/me/notes.db", ""},
		call{"rename", "/Users/me/project/src", "/Users/me/notes.db"}, call{"write", "/Users/me/tools/tool", ""}, call{"list", "/Users/me", ""}, call{"list", "/Users", ""}, call{"stat", "/Users/me/.ssh/id_ed25519", ""},
		call{"chmod u+s", "/Users/me/project/main.go", ""}, call{"run", "/Users/me/outside/secret.txt", ""}, call{"mknod", "/Users/me/project/device", ""},
		call{"connect socket", "/private/tmp/agent.sock", ""}, call{"connect socket", "/tmp/agent.sock", ""}, call{"connect socket", "/Users/me/project/own.sock", ""}, call{"bind socket", "/Users/me/project/new.sock", ""},
		call{"look up", "com.apple.SecurityServer", ""}, call{"look up", "com.apple.securityd.xpc", ""}, call{"look up", "com.apple.pasteboard.1", ""}, call{"look up", "com.apple.coreservices.launchservicesd", ""},
		call{"look up", "com.apple.coreservices.appleevents", ""}, call{"look up", "com.apple.lsd.open", ""}, call{"look up", "com.apple.windowserver.active", ""}, call{"look up", "com.apple.tccd", ""},
		call{"ask", "appleevent-send", ""}, call{"ask", "lsopen", ""}, call{"ask", "job-creation", ""}, call{"ask", "authorization-right-obtain", ""}, call{"ask", "iokit-open", ""}, call{"ask", "mach-register", ""},
		call{"ask", "signal", "others"}, call{"ask", "process-info-pidinfo", "others"}, call{"ask", "mach-priv-task-port", "others"}, call{"ask", "mach-task-name", "others"}, call{"ask", "mach-host-special-port-set", ""},
		call{"ask", "sysctl-write", ""}, call{"ask", "file-mount", ""}, call{"ask", "pseudo-tty", ""}, call{"ask", "system-fsctl", ""}, call{"ask", "user-preference-write", ""}, call{"ask", "nvram-set", ""},
		call{"sysctl", "kern.procargs2", ""}, call{"sysctl", "kern.proc.all", ""}, call{"shared memory", "/others", ""}, call{"ask", "ipc-sysv-shm", ""},
	)
}

// free returns a profile that allows everything.
func free(t fataler) *seatbelttest.Profile {
	t.Helper()
	p, err := seatbelttest.Parse("(version 1)\n(allow default)")
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestNothingOutsideIsOpened: no call opens or changes what is outside, in any order of rules and either spelling of firmlinks. The control is a process
// without a profile.
func TestNothingOutsideIsOpened(t *testing.T) {
	t.Parallel()
	open := seatbelttest.Machine{Disk: disk(), Profile: free(t)}
	for _, m := range machines(t, held, disk()) {
		for _, c := range attacks() {
			if m.Allows(seatbelttest.Call(c)) {
				t.Errorf("order %d, data %t: %q passes", m.Order, m.Data, c)
			}
			if !open.Allows(seatbelttest.Call(c)) {
				t.Errorf("control: %q does not pass without a profile", c)
			}
		}
	}
	if n := len(attacks()); n < 600 {
		t.Errorf("only %d attacks", n)
	}
}

// TestHonestCallsPass: what a server does in its roots, and what every program does, passes.
func TestHonestCallsPass(t *testing.T) {
	t.Parallel()
	calls := []call{
		{"read", "/Users/me/.gitconfig", ""}, {"write", "/Users/me/notes.db", ""}, {"read", "/etc/hosts", ""}, {"read", "/private/etc/hosts", ""}, {"run", "/usr/bin/git", ""}, {"run", "/bin/sh", ""}, {"run", "/Users/me/tools/tool", ""},
		{"map", "/usr/lib", ""}, {"list", "/", ""}, {"stat", "/Users", ""}, {"stat", "/Users/me", ""}, {"stat", "/private/tmp", ""}, {"stat", "/tmp", ""}, {"write", "/dev/null", ""}, {"ioctl", "/dev/null", ""},
		{"connect", "443", ""}, {"send by UDP", "", ""}, {"connect socket", "/var/run/mDNSResponder", ""}, {"look up", "com.apple.trustd.agent", ""}, {"look up", "com.apple.system.opendirectoryd.libinfo", ""},
		{"ask", "signal", ""}, {"ask", "process-fork", ""}, {"ask", "process-info-pidinfo", ""}, {"sysctl", "hw.ncpu", ""}, {"sysctl", "kern.osversion", ""}, {"shared memory", "/psm_1a", ""},
		{"list", "/Users/me/project", ""}, {"chmod", "/Users/me/project", ""}, {"utimes", "/Users/me/project/conf", ""}, {"create", "/Users/me/project/conf/third", ""}, {"remove", "/Users/me/project/conf/other", ""},
		{"rename", "/Users/me/project/src", "/Users/me/project/source"}, {"rename", "/Users/me/project/main.go", "/private/tmp/mine/x"}, {"rename", "/Users/me/project/src/a.go", "/Users/me/project/main.go"},
		{"link", "/Users/me/project/main.go", "/Users/me/project/hard"}, {"clone", "/Users/me/tools/tool", "/Users/me/project/tool"}, {"symlink", "/etc", "/Users/me/project/etc"}, {"swap", "/Users/me/project/main.go", "/Users/me/project/src/a.go"},
		{"exchange", "/Users/me/project/main.go", "/Users/me/project/src/a.go"}, {"stat", "/Users/me/project/secret", ""}, {"read", "/tmp/mine/x", ""}, {"create", "/Users/me/project/news", ""},
	}
	calls[len(calls)-3] = call{"read", "/Users/me/project/root/Users/me/project/main.go", ""} // through a link and back
	for _, at := range []string{"/Users/me/project/main.go", "/users/me/PROJECT/Main.go", "/System/Volumes/Data/Users/me/project/main.go", "/Volumes/Macintosh HD/Users/me/project/main.go", "/Users/me/project/src/../main.go", "/tmp/mine/x"} {
		for _, do := range []string{"read", "write", "truncate", "chmod", "chown", "utimes", "chflags", "setxattr", "getxattr", "remove", "map", "stat"} {
			calls = append(calls, call{do, at, ""})
		}
	}
	for _, do := range []string{"create", "mkdir", "mkfifo", "write"} {
		calls = append(calls, call{do, "/Users/me/project/new file", ""}, call{do, "/tmp/mine/new", ""}, call{do, "/Users/me/project/src/größe", ""})
	}
	for _, m := range machines(t, held, disk()) {
		for _, c := range calls {
			if !m.Allows(seatbelttest.Call(c)) {
				t.Errorf("order %d, data %t: %q is refused", m.Order, m.Data, c)
			}
		}
	}
}

// TestWhatEachPartHolds: each part of a policy opens what it says, and without it that is closed.
func TestWhatEachPartHolds(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		with, without policy
		does          call
	}{
		"ports":                       {policy{Ports: []uint16{443}}, policy{Ports: []uint16{80}}, call{"connect", "443", ""}},
		"the network":                 {policy{Network: true}, policy{Ports: []uint16{80}}, call{"send by UDP", "", ""}},
		"names of hosts":              {policy{Network: true}, policy{}, call{"connect socket", "/var/run/mDNSResponder", ""}},
		"one socket":                  {policy{Sockets: []string{"/tmp/agent.sock"}}, policy{Sockets: []string{"/tmp/agent"}}, call{"connect socket", "/tmp/agent.sock", ""}},
		"all sockets":                 {policy{AllSockets: true}, policy{Network: true}, call{"connect socket", "/tmp/agent.sock", ""}},
		"terminals":                   {policy{Terminals: true}, policy{}, call{"write", "/dev/ttys001", ""}},
		"new terminals":               {policy{Terminals: true}, policy{}, call{"ask", "pseudo-tty", ""}},
		"all files":                   {policy{Unbounded: true}, policy{}, call{"write", "/Users/me/.ssh/id_ed25519", ""}},
		"what is closed":              {policy{Areas: []area{all("/")}}, policy{Areas: []area{all("/")}, Closed: []name{{Path: "/Users/me/.ssh"}}}, call{"read", "/Users/me/.ssh/id_ed25519", ""}},
		"what holds it":               {policy{Areas: []area{all("/")}}, policy{Areas: []area{all("/")}, Closed: []name{{Path: "/Users/me/.ssh"}}}, call{"rename", "/Users/me", "/Users/you"}},
		"what may come":               {policy{Areas: []area{all("/")}}, policy{Areas: []area{all("/")}, Closed: []name{{Path: "/Users/me", Missing: "new"}}}, call{"create", "/Users/me/NEW", ""}},
		"the system":                  {policy{Areas: []area{read("/")}}, policy{Areas: []area{read("/System")}}, call{"read", "/System/Volumes/Data/Users/me/.ssh/id_ed25519", ""}},
		"what is closed itself":       {policy{Areas: []area{all("/Users/me/project")}}, policy{Areas: []area{all("/Users/me/project")}, Closed: []name{{Path: "/Users/me/project"}}}, call{"read", "/Users/me/project/main.go", ""}},
		"an area in what is closed":   {policy{Areas: []area{all("/Users/me"), all("/Users/me/project")}, Closed: []name{{Path: "/Users/me/project"}, {Path: "/Users/me/outside"}}, Network: true}, policy{}, call{"write", "/Users/me/project-two/x", ""}},
		"what lies in what is closed": {policy{Areas: []area{all("/Users/me"), all("/Users/me/project/src")}, Closed: []name{{Path: "/Users/me/project"}}}, policy{Areas: []area{all("/Users/me")}, Closed: []name{{Path: "/Users/me/project"}}}, call{"write", "/Users/me/project/src/a.go", ""}},
	} {
		for _, m := range machines(t, tc.with, disk()) {
			if !m.Allows(seatbelttest.Call(tc.does)) {
				t.Errorf("%s: %q is refused (order %d, data %t)", name, tc.does, m.Order, m.Data)
			}
		}
		for _, m := range machines(t, tc.without, disk()) {
			if m.Allows(seatbelttest.Call(tc.does)) {
				t.Errorf("without %s: %q passes (order %d, data %t)", name, tc.does, m.Order, m.Data)
			}
		}
	}
	for _, m := range machines(t, policy{Unbounded: true}, disk()) {
		if m.Allows(seatbelttest.Call(call{"chmod u+s", "/Users/me/project/main.go", ""})) {
			t.Error("files that are not held get the rights of their owner")
		}
	}
}

// TestPoliciesAtRandom: whatever the policy, the profile opens what the policy says and no more, in both orders of rules and both
// spellings of firmlinks.
func TestPoliciesAtRandom(t *testing.T) {
	t.Parallel()
	d := seatbelttest.NewDisk()
	names := []string{"a", "B", "(c", `d"\`, "größe"}
	var paths, files []string
	for _, top := range []string{"/Users/me", "/private/tmp", "/opt"} {
		for _, one := range names {
			d.Add("DIRECTORY", path.Join(top, one))
			paths = append(paths, path.Join(top, one), top)
			for _, two := range names {
				at := path.Join(top, one, two)
				d.Add("REGULAR-FILE", at)
				files = append(files, at)
			}
		}
	}
	opened, closed := 0, 0
	seeds.Check(t, func(t *rapid.T) {
		var p policy
		for range rapid.IntRange(0, 4).Draw(t, "areas") {
			if at := rapid.SampledFrom(slices.Concat(paths, files)).Draw(t, "area"); d.Kind(at) == "DIRECTORY" {
				p.Areas = append(p.Areas, area{Path: at, Dir: true, Read: true, Write: rapid.Bool().Draw(t, "write")})
			} else {
				p.Areas = append(p.Areas, area{Path: at, Read: true, Write: rapid.Bool().Draw(t, "write")})
			}
		}
		for range rapid.IntRange(0, 3).Draw(t, "closed") {
			p.Closed = append(p.Closed, name{Path: rapid.SampledFrom(slices.Concat(paths, files)).Draw(t, "path")})
		}
		at := rapid.SampledFrom(files).Draw(t, "file")
		spelled := rapid.SampledFrom([]string{at, strings.ToUpper(at), "/System/Volumes/Data" + at, strings.Replace(at, "/private/tmp", "/tmp", 1)}).Draw(t, "spelled")
		var read, write, move bool
		for _, a := range p.Areas {
			if !below(a, at) {
				continue
			}
			if !slices.ContainsFunc(p.Closed, func(c seatbelt.Name) bool {
				return below(a, c.Path) && (c.Path == at || strings.HasPrefix(at, c.Path+"/"))
			}) {
				read, write, move = true, write || a.Write, move || a.Write && a.Dir && a.Path != at
			}
		}
		for _, m := range machines(t, p, d) {
			for do, want := range map[string]bool{"read": read, "write": write, "remove": move, "chmod u+s": false} {
				if got := m.Allows(seatbelttest.Call(call{do, spelled, ""})); got != want {
					t.Fatalf("%s %s: %t, want %t (order %d, data %t) by %+v", do, spelled, got, want, m.Order, m.Data, p)
				}
			}
			dir := path.Dir(at)
			if !slices.ContainsFunc(p.Areas, func(a area) bool {
				return a.Dir && slices.ContainsFunc(p.Closed, func(c seatbelt.Name) bool { return strings.HasPrefix(a.Path, c.Path+"/") })
			}) && m.Allows(seatbelttest.Call(call{"rename", dir, dir + " moved"})) && slices.ContainsFunc(p.Closed, func(c seatbelt.Name) bool { return c.Path == dir || strings.HasPrefix(c.Path, dir+"/") }) {
				t.Fatalf("%s is moved, and what is closed lies there: %+v", dir, p)
			}
		}
		opened, closed = opened+count(read), closed+count(!read)
	})
	if opened == 0 || closed == 0 {
		t.Errorf("%d opened, %d closed: this shows nothing", opened, closed)
	}
}

func below(a area, at string) bool { return a.Path == at || a.Dir && strings.HasPrefix(at, a.Path+"/") }

func count(is bool) int {
	if is {
		return 1
	}
	return 0
}

// TestModelOfTheDisk: names of the model lead where a Mac leads them.
func TestModelOfTheDisk(t *testing.T) {
	t.Parallel()
	d := disk()
	for at, want := range map[string]string{
		"/tmp/mine/../other/x": "/private/tmp/other/x", "/System/Volumes/Data/Users/me": "/Users/me", "/Users/me/project/link/secret.txt": "/Users/me/outside/secret.txt",
		"/USERS/me/GRO\u0308SSE/X": "/Users/me/größe/x", "/Users/me/project/root/tmp": "/private/tmp", "/Users/me/project/dangling": "/Users/me/outside/new", "/": "/", "/no/such": "/no/such",
	} {
		if got, _ := d.Real(at, true); got != want {
			t.Errorf("%s leads to %s", at, got)
		}
	}
	if got, links := d.Real("/tmp/x", false); got != "/private/tmp/x" || fmt.Sprint(links) != "[/tmp]" {
		t.Error(got, links)
	}
	if got, links := d.Real("/Users/me/project/link", false); got != "/Users/me/project/link" || links != nil {
		t.Error(got, links)
	}
}
