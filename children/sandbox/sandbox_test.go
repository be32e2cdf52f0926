package sandbox_test

import (
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"mcphub/children/sandbox"
)

func TestLacks(t *testing.T) {
	t.Parallel()
	holds, fails := func() error { return nil }, func() error { return errors.New("a way out") }
	on, ports, off := sandbox.Network{On: true}, sandbox.Network{Ports: []uint16{443}}, sandbox.Network{}
	for _, tc := range []struct {
		name     string
		kernel   sandbox.Kernel
		profile  sandbox.Profile
		lacks    string // a part of each, with | between
		required bool   // too little for it
	}{
		{"all is there", sandbox.Kernel{ABI: 7, Filters: true, Drops: true}, sandbox.Profile{Network: on}, "", false},
		{"off needs no ports", sandbox.Kernel{ABI: 3, Filters: true, Drops: true}, sandbox.Profile{Network: off}, "control of open devices|signals", false},
		{"no Landlock", sandbox.Kernel{Why: "none"}, sandbox.Profile{Network: on}, "no kernel enforcement here: none", true},
		{"before truncate", sandbox.Kernel{ABI: 2, Filters: true, Drops: true}, sandbox.Profile{Network: on}, "truncated|control|signals", true},
		{"before scopes", sandbox.Kernel{ABI: 5, Filters: true, Drops: true}, sandbox.Profile{Network: on}, "signals", false},
		{"before ports", sandbox.Kernel{ABI: 3, Filters: true, Drops: true}, sandbox.Profile{Network: ports}, "control|signals|TCP ports|UDP", true},
		{"ports", sandbox.Kernel{ABI: 7, Filters: true, Drops: true}, sandbox.Profile{Network: ports}, "UDP", false},
		{"no filters", sandbox.Kernel{ABI: 7, Drops: true}, sandbox.Profile{Network: on}, "share through the kernel|it can reach D-Bus, docker and ssh-agent, and through them everything", true},
		{"no filters, and a kernel that holds sockets in the file system", sandbox.Kernel{ABI: 9, Drops: true}, sandbox.Profile{Network: on}, "share through the kernel", true},
		{"newer than is known", sandbox.Kernel{ABI: 99, Filters: true, Drops: true}, sandbox.Profile{Network: on}, "", false},
		{"no filters, and sockets on", sandbox.Kernel{ABI: 7, Drops: true}, sandbox.Profile{Network: on, Sockets: true}, "mounts, setuid programs|unix sockets are on", true},
		{"nobody can be asked", sandbox.Kernel{ABI: 7, Filters: true, Drops: true, WhyNoNotify: "nobody listens"}, sandbox.Profile{Network: on}, "", false},
		{"attributes, and nobody can be asked", sandbox.Kernel{ABI: 7, Filters: true, Drops: true, WhyNoNotify: "nobody listens"}, sandbox.Profile{Network: on, Attributes: true}, "modes, owners, times and attributes of files outside are not held: nobody listens", true},
		{"Seatbelt that holds", sandbox.Kernel{Seatbelt: holds}, sandbox.Profile{Network: on}, "not proved", false},
		{"Seatbelt that does not hold", sandbox.Kernel{Seatbelt: fails}, sandbox.Profile{Network: on}, "no kernel enforcement here: Seatbelt is not used: a way out", true},
		{"Seatbelt and ports", sandbox.Kernel{Seatbelt: holds}, sandbox.Profile{Network: ports}, "not proved|which host", false},
		{"Seatbelt and sockets", sandbox.Kernel{Seatbelt: holds}, sandbox.Profile{Network: on, Sockets: true, Attributes: true}, "not proved|it can reach D-Bus", false},
		{"capabilities that stay", sandbox.Kernel{ABI: 7, Filters: true}, sandbox.Profile{Network: on}, "capabilities", true},
	} {
		lacks, required := tc.kernel.Lacks(&tc.profile, func() []string { return []string{"D-Bus", "docker", "ssh-agent"} })
		want := strings.Split(tc.lacks, "|")
		if tc.lacks == "" {
			want = nil
		}
		ok := len(lacks) == len(want) && required == tc.required
		for i := range min(len(lacks), len(want)) {
			ok = ok && strings.Contains(lacks[i], want[i])
		}
		if !ok {
			t.Errorf("%s: %q, too little %t", tc.name, lacks, required)
		}
	}
}

// TestReach: only what is there, and can be connected to, is named.
func TestReach(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("these are sockets of Unix")
	}
	dir, err := os.MkdirTemp("", "s") // the names of sockets are short
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	listen := func(name string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		return path
	}
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	others := sandbox.Reach(nil, "") // of the machine that the test runs on
	if got := sandbox.Reach([]string{"SSH_AUTH_SOCK=" + dir + "/file", "DOCKER_HOST=tcp://localhost", "XDG_RUNTIME_DIR=" + dir}, dir); !slices.Equal(got, others) {
		t.Errorf("where there is no socket %q are named, and %q otherwise", got, others)
	}
	env := []string{
		"DBUS_SESSION_BUS_ADDRESS=unix:path=" + listen("bus") + ",guid=1", "DOCKER_HOST=unix://" + listen("d"), "SSH_AUTH_SOCK=" + listen("agent"),
		"XDG_RUNTIME_DIR=" + dir,
	}
	listen(".gnupg/S.gpg-agent")
	listen("keyring/control")
	listen("wayland-0")
	listen("mcphub/1-2.sock")
	got := sandbox.Reach(env, dir)
	for _, name := range []string{"D-Bus", "docker", "ssh-agent", "gpg-agent", "the keyring", "Wayland", "the hub"} {
		if !slices.Contains(got, name) {
			t.Errorf("%s is not named: %q", name, got)
		}
	}
}

func TestLookWithoutLandlock(t *testing.T) {
	t.Parallel()
	if k := sandbox.Look(func() (int, error) { return 0, errors.New("no such thing") }); k.ABI != 0 || k.Why == "" {
		t.Errorf("%+v", k)
	}
	if runtime.GOOS != "linux" {
		if k := sandbox.CurrentKernel(); k.ABI != 0 || k.Why == "" {
			t.Errorf("%+v", k)
		}
	}
}

func TestBoundary(t *testing.T) {
	b := sandbox.Boundary{
		Areas:    []sandbox.Rule{{Path: "/w/root", Access: sandbox.Read | sandbox.Write}, {Path: "/w/docs", Access: sandbox.Read}},
		Withheld: []string{"/w/root/.keys", "/home/u/.ssh"},
	}
	if got := b.Conflicts(b.Areas); len(got) != 1 || got[0] != (sandbox.Conflict{Allowed: "/w/root", Withheld: "/w/root/.keys"}) {
		t.Errorf("conflicts: %v", got)
	}
	if !b.Withholds("/home/u/.ssh/config") || b.Withholds("/home/u/.sshx") {
		t.Error("what is at or below a withheld path is kept")
	}
	for _, tc := range []struct {
		path, real string
		leads      bool
	}{
		{"/etc/x", "/usr/x", true},
		{"/w/root/node_modules", "/w/root/node_modules", true},
		{"/w/root/node_modules", "/w/docs/x", true},
		{"/w/root/node_modules", "/home/u", false},
		{"/w/docs/x", "/home/u", true}, // no child can have put it there
	} {
		if b.MayFollow(append((*sandbox.LstatCache)(nil).Hops(tc.path), tc.real)) != tc.leads {
			t.Errorf("%s -> %s: %t", tc.path, tc.real, !tc.leads)
		}
	}
}

func TestProfiles(t *testing.T) {
	t.Parallel()
	const rw = sandbox.Read | sandbox.Write
	narrow := &sandbox.Profile{Rules: sandbox.Sorted([]sandbox.Rule{{Path: "/b", Access: sandbox.Read}, {Path: "/a", Access: sandbox.Read}, {Path: "/b", Access: sandbox.Write}})}
	if len(narrow.Rules) != 2 || narrow.Rules[1] != (sandbox.Rule{Path: "/b", Access: rw}) {
		t.Errorf("sorted: %v", narrow.Rules)
	}
	wide := &sandbox.Profile{Rules: []sandbox.Rule{{Path: "/", Access: sandbox.Read}, {Path: "/b", Access: sandbox.Write}}}
	if !wide.Covers(narrow) || narrow.Covers(wide) || !narrow.Covers(narrow) {
		t.Error("what allows more covers, and what allows less does not")
	}
	open := &sandbox.Profile{Unbounded: true, Network: sandbox.Network{On: true}, Sockets: true}
	if !open.Covers(wide) || wide.Covers(open) || wide.Covers(&sandbox.Profile{Rules: wide.Rules, Sockets: true}) {
		t.Error("what is not confined covers what is")
	}
	if narrow.AccessAt("/b/c") != rw || narrow.AccessAt("/bc") != 0 {
		t.Error("a rule is about what lies below its path")
	}
}

// TestLeadsThroughALink: a link where children write counts as theirs also where another
// one leads to it.
func TestLeadsThroughALink(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("a user may make no links there")
	}
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	root, keep := filepath.Join(top, "root"), filepath.Join(top, "keep")
	for _, dir := range []string{root, keep} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for from, to := range map[string]string{filepath.Join(root, "planted"): keep, filepath.Join(top, "users"): "root/planted", filepath.Join(top, "own"): "keep", filepath.Join(top, "loop"): "loop"} {
		if err := os.Symlink(to, from); err != nil {
			t.Fatal(err)
		}
	}
	b := sandbox.Boundary{Areas: []sandbox.Rule{{Path: root, Access: sandbox.Read | sandbox.Write}}}
	for path, want := range map[string]bool{"own": true, "own/x": true, "users": false, "users/x": false, "root/planted/x": false, "loop": true} {
		if got := b.MayFollow(append((*sandbox.LstatCache)(nil).Hops(filepath.Join(top, path)), filepath.Join(keep, filepath.Base(path)))); got != want {
			t.Errorf("%s: %t", path, got)
		}
	}
}

// TestPlaces: what takes the place of something is noticed, and looking costs no memory.
func TestPlaces(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a", "b"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	a, b, none := filepath.Join(dir, "a"), filepath.Join(dir, "b"), filepath.Join(dir, "none")
	plan := func() *sandbox.Profile {
		p := &sandbox.Profile{Rules: sandbox.Sorted([]sandbox.Rule{{Path: a, Access: sandbox.Read}, {Path: a + "/x", Access: sandbox.Read}, {Path: none, Access: sandbox.Read}})}
		p.Watch([]string{none, a, a + "/x", a})
		return p
	}
	p := plan()
	if len(p.Rules) != 1 || len(p.Places) != 2 || p.PathsReplaced() || !p.Equal(plan()) || !p.Opens(a+"/x", sandbox.Read) || p.Opens(none, sandbox.Read) {
		t.Errorf("%+v", p)
	}
	if n := testing.AllocsPerRun(100, func() { p.PathsReplaced() }); n > 0 && runtime.GOOS == "linux" {
		t.Errorf("a look takes memory %v times", n)
	}
	if err := os.Mkdir(none, 0o700); err != nil {
		t.Fatal(err)
	}
	if now := plan(); !p.PathsReplaced() || p.Equal(now) || !now.Covers(p) || p.Covers(now) || p.Opens(none, sandbox.Read) {
		t.Error("what was made there is not noticed, or takes something away")
	}
	if runtime.GOOS != "linux" {
		return // it is told only that something is there
	}
	p = plan()
	if err := errors.Join(os.Rename(a, filepath.Join(dir, "moved")), os.Rename(b, a)); err != nil {
		t.Fatal(err)
	}
	if now := plan(); !p.PathsReplaced() || p.Equal(now) || now.Covers(p) || p.Opens(a, sandbox.Read) || !now.Opens(a, sandbox.Read) {
		t.Error("what was replaced is not noticed, or still counts as open")
	}
}

// BenchmarkMoved is a look at one root and what is the user's of the base.
func BenchmarkMoved(b *testing.B) {
	p := &sandbox.Profile{}
	for _, path := range []string{b.TempDir(), "/etc/passwd", "/etc/group"} {
		p.Places = append(p.Places, sandbox.PlaceAt(path))
	}
	b.ReportAllocs()
	for b.Loop() {
		if p.PathsReplaced() {
			b.Fatal("it has moved")
		}
	}
}

var update = flag.Bool("update", false, "write docs/sandbox.md anew")

// TestBaseIsDocumented: the page has the lists that are enforced.
//
//	go test ./children/sandbox -run Documented -update
func TestBaseIsDocumented(t *testing.T) {
	t.Parallel()
	const page = "../../docs/sandbox.md"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	have := strings.ReplaceAll(string(text), "\r\n", "\n")
	want := withBase(t, withBase(t, have, "base", "linux"), "base of macOS", "darwin")
	switch {
	case have == want:
	case !*update:
		t.Errorf("%s is not what the code says: go test ./children/sandbox -run Documented -update", page)
	default:
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// withBase returns a page with the table of a system's base in its generated part.
func withBase(t *testing.T, page, part, system string) string {
	t.Helper()
	begin := "<!-- generated: " + part + " -->\n"
	before, rest, ok := strings.Cut(page, begin)
	_, after, more := strings.Cut(rest, "<!-- end -->")
	if !ok || !more {
		t.Fatal("the page has no generated part ", part)
	}
	var b strings.Builder
	b.WriteString("\n| for | allowed | paths |\n|---|---|---|\n")
	for _, need := range sandbox.BaseOf(system) {
		fmt.Fprintf(&b, "| %s | %s | `%s` |\n", need.For, need.Access, strings.Join(need.Paths, "`, `"))
	}
	return before + begin + b.String() + "\n<!-- end -->" + after
}
