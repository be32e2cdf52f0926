package consent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"mcphub/e2e/bounds"
	"mcphub/e2e/ide"
	"mcphub/e2e/needs"
	"mcphub/e2e/seeds"
	"mcphub/e2e/world"
)

// shared is a world whose clients share a hub, for as long as one of them is there and a moment longer.
type shared struct {
	*world.World
	config, run string // run is the folder of its sockets
	tried       atomic.Int64
}

// attachAuto returns the key of hub.json that has clients share a hub.
func attachAuto() obj { return obj{"mode": "auto", "idle": "400ms"} }

func sharing(t *testing.T, children obj, more ...obj) *shared {
	t.Helper()
	if nice, err := unix.Getpriority(unix.PRIO_PROCESS, 0); err == nil && nice < 20 && os.Geteuid() != 0 { // 20 is usual: see getpriority(2)
		needs.Missing(t, "only root can give a nice value back, which a shared hub has not")
	}
	w := world.New(t)
	s := &shared{World: w, run: filepath.Join(w.Runtime, "mcphub")}
	s.config = w.Config(children, append([]obj{{"attach": attachAuto()}}, more...)...)
	t.Cleanup(func() { // the hub is no one's, and ends by itself
		mark := "HOME=" + w.Home
		if !world.Within(world.WaitLimit, func() bool { return len(world.Marked(t, mark)) == 0 }) {
			t.Errorf("left over: %v", world.Marked(t, mark))
			for _, p := range world.Marked(t, mark) {
				_ = syscall.Kill(p.PID, syscall.SIGKILL)
			}
		}
	})
	return s
}

// client starts `mcphub serve` by this command with a fake editor, and shakes hands.
func (s *shared) client(by ...string) *ide.Client {
	s.T.Helper()
	line := slices.Concat(by, []string{world.Hub(s.T), "serve", "--config", s.config})
	c, err := ide.Start(ide.Options{Command: line[0], Args: line[1:], Dir: s.Project, Env: s.Env(), Roots: ide.Folders(s.Project)})
	world.Must(s.T, err)
	s.T.Cleanup(func() { c.Close(world.StopBound) })
	_, err = c.Initialize(s.wait())
	if err != nil {
		s.T.Fatalf("%v\n%s", err, c.Stderr())
	}
	return c
}

func (s *shared) wait() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), world.WaitLimit)
	s.T.Cleanup(cancel)
	return ctx
}

// file returns the one file with this end in the folder of sockets.
func (s *shared) file(end string) string {
	s.T.Helper()
	var all []string
	if !world.Within(world.WaitLimit, func() bool {
		all, _ = filepath.Glob(filepath.Join(s.run, "*"+end)) // the pattern is right
		return len(all) == 1
	}) {
		s.T.Fatalf("%s holds %d of %s: %v", s.run, len(all), end, all)
	}
	return all[0]
}

// attached returns how many sessions have ever attached to a hub of this world.
func (s *shared) attached() int {
	s.T.Helper()
	log := s.Path("home", "state", "mcphub", "shared.log")
	if info, err := os.Lstat(log); err != nil || !info.Mode().IsRegular() {
		return 0
	}
	b, err := os.ReadFile(log)
	world.Must(s.T, err)
	return strings.Count(string(b), "a session has attached")
}

// has calls the shell of a server.
func (s *shared) has(c *ide.Client, server, command string) string {
	s.T.Helper()
	name := server + "__shell"
	world.Within(world.WaitLimit, func() bool {
		m, err := c.Call(s.wait(), "tools/list", `{}`)
		world.Must(s.T, err)
		return strings.Contains(string(m.Result), name)
	})
	id, err := c.StartTool(name, world.Raw(s.T, obj{"command": command}))
	world.Must(s.T, err)
	r, err := c.ToolAnswer(s.wait(), id)
	world.Must(s.T, err)
	return r.Text
}

// attacks writes a script that tries all that an attached client, or its user, may do: each under its name. Its argument is how
// `env` begins: -i empties the environment but for what tells this hub from others, - leaves what there is.
func (s *shared) attacks() string {
	s.T.Helper()
	secret, err := os.ReadFile(s.file(".secret"))
	world.Must(s.T, err)
	with := "env $how"
	for _, pair := range s.Env("OPENER_NEEDLE=00") {
		with += " '" + pair + "'"
	}
	const script = `
case "$1" in -i) how=-i;; *) how=;; esac
echo "== serve"; cat %[1]s | %[2]s timeout 600 %[3]s serve --config %[4]s 2>&1
echo "== start"; %[2]s timeout 600 %[3]s serve --start-shared --config %[4]s 2>&1; echo "ended with $?"
echo "== shared"; %[2]s timeout 600 %[3]s serve --shared --config %[4]s 2>&1
echo "== door"; %[2]s %[5]s do door %[6]s %[7]s 2>&1
for request in "GET /status" "POST /reload" "GET /approvals" "POST /approvals/code" "POST /approvals/answer"
do echo "== $request"; %[2]s %[5]s do connect %[8]s $request 2>&1; done
echo "== status"; %[2]s %[3]s status 2>&1
echo "== secret"; cat %[9]s 2>&1
echo "== end"
`
	return s.Write("project/attacks.sh", fmt.Sprintf(script, s.Write("project/first", world.FirstLines), with, world.Hub(s.T), s.config,
		world.Bin.Opener, s.file(".attach"), secret, s.file(".sock"), s.file(".secret")))
}

// parts returns what the script has said, by name.
func parts(t testing.TB, said string) map[string]string {
	t.Helper()
	if !strings.Contains(said, "== end") {
		t.Fatalf("the attacks did not come to an end: %s", said)
	}
	out := map[string]string{}
	for part := range strings.SplitSeq(said, "== ") {
		name, text, _ := strings.Cut(part, "\n")
		out[name] = text
	}
	return out
}

// shells returns the entries of two servers: one that is held by the kernel, but may use unix sockets, and one that nothing holds.
// The former may read the programs and hub.json, so that it is not for want of these that it does not attach.
func shells(t *testing.T, config string) obj {
	return obj{
		"held": shellServer(obj{"sandbox": obj{"sockets": "on", "read": []string{world.Bin.Opener, world.Hub(t), config}}}),
		"free": shellServer(obj{"sandbox": "off"}),
	}
}

// sharingShells is sharing with these.
func sharingShells(t *testing.T) *shared {
	s := sharing(t, obj{})
	s.Config(shells(t, s.config), obj{"attach": attachAuto()})
	return s
}

// tries returns how often each process that may not attach tries what can be tried by hand, each time by another
// process. MCPHUB_LONG_CASES says how often, at most 1,000 times.
func tries(t *testing.T) int { return world.LongCases(t, 8, 1000) }

// rounds returns how often the program itself is tried, which does the same and takes a hundred times as long.
func rounds(t *testing.T) int { return world.LongCases(t, 1, 10) }

// atATime is how many tries are one call of a server.
const atATime = 100

// known writes where the hub is, and its secret, for who tries by hand, and gives the file.
func (s *shared) known() (file string) {
	s.T.Helper()
	secret, err := os.ReadFile(s.file(".secret"))
	world.Must(s.T, err)
	hub := obj{"Door": s.file(".attach"), "Admin": s.file(".sock"), "SecretFile": s.file(".secret"), "Secret": string(secret)}
	next, file := s.Write("project/known.next", world.Raw(s.T, hub)), s.Path("project", "known")
	world.Must(s.T, os.Rename(next, file))
	return file
}

// again returns a command line that tries all that can be tried by hand so many times. how: as of attacks.
func (s *shared) again(n int, how string) string {
	line := "env"
	if how != "-" {
		line += " -i"
	}
	for _, pair := range s.Env("OPENER_NEEDLE=00") {
		line += " '" + pair + "'"
	}
	first := seeds.Rand(s.T, int(s.tried.Add(1))).IntN(3000) // microseconds: see the opener
	return fmt.Sprintf("%s %s do again %d %d all %s", line, world.Bin.Opener, n, first, s.Path("project", "known"))
}

// barred wants none of n tries to have worked, but that the secret was read, where reads says so. Each has met the hub and was
// refused by it.
func (s *shared) barred(who, said string, n int, reads bool) {
	s.T.Helper()
	for text, times := range s.counted(who, said, n) {
		if !strings.HasPrefix(text, `done: the hub says "no `) || strings.Count(text, " # Forbidden") != 5 {
			s.T.Errorf("%s, %d times: %s", who, times, text)
		}
		if strings.Contains(text, "the secret is read") != reads {
			s.T.Errorf("%s reads the secret: %t, want %t", who, !reads, reads)
		}
	}
}

// counted returns what came of n tries, and how often.
func (s *shared) counted(who, said string, n int) (texts map[string]int) {
	s.T.Helper()
	_, list, _ := strings.Cut(said, "done: ")
	if err := json.NewDecoder(strings.NewReader(list)).Decode(&texts); err != nil {
		s.T.Fatalf("%s: %v: %s", who, err, said)
	}
	all := 0
	for _, times := range texts {
		all += times
	}
	if all != n {
		s.T.Errorf("%s: %d of %d tries came to an end", who, all, n)
	}
	return texts
}

// none wants none of the attacks to have worked, whether or not the secret could be read. What the kernel holds cannot even read
// hub.json.
func (s *shared) none(who, said string, held bool, attached int) {
	s.T.Helper()
	got := parts(s.T, said)
	if !strings.Contains(got["door"], `the hub says "no `) {
		s.T.Errorf("%s, the door by hand: %s", who, got["door"])
	}
	if strings.Contains(got["start"], "ended with 0") {
		s.T.Errorf("%s starts a shared hub: %s", who, got["start"])
	}
	if !held && !strings.Contains(got["shared"], "servers start may not") || strings.Contains(got["shared"], "ready\n") {
		s.T.Errorf("%s is a shared hub: %s", who, got["shared"])
	}
	if answered := strings.Contains(got["serve"], `"serverInfo"`); answered && !strings.Contains(got["serve"], "although hub.json says attach") || !answered && !held {
		s.T.Errorf("%s, mcphub serve: %s", who, got["serve"])
	}
	for name, text := range got {
		if strings.Contains(name, " /") && !strings.Contains(text, "403 Forbidden") {
			s.T.Errorf("%s, %s: %s", who, name, text)
		}
	}
	if strings.Contains(got["status"], s.Project) {
		s.T.Errorf("%s reads the status: %s", who, got["status"])
	}
	if now := s.attached(); now != attached {
		s.T.Errorf("%s: %d sessions have attached, want %d", who, now, attached)
	}
}

// all wants the attacks to work for whom no hub has started: then they are some.
func (s *shared) all() {
	s.T.Helper()
	before := s.attached()
	cmd := exec.Command("sh", s.attacks(), "-i")
	cmd.Dir = s.Project
	said, err := cmd.CombinedOutput()
	world.Must(s.T, err)
	got := parts(s.T, string(said))
	for name, want := range map[string]string{"serve": `"serverInfo"`, "start": "ended with 0", "shared": "another hub listens", "door": "attached: ", "GET /status": "200 OK", "POST /reload": "200 OK", "status": s.Project} {
		if !strings.Contains(got[name], want) || strings.Contains(got[name], "although") {
			s.T.Errorf("the control, %s: %s", name, got[name])
		}
	}
	if secret, err := os.ReadFile(s.file(".secret")); err != nil || string(secret) != got["secret"] {
		s.T.Errorf("the control, the secret: %q %v", got["secret"], err)
	}
	s.known()
	const times = 8
	cmd = exec.Command("sh", "-c", s.again(times, "-i"))
	cmd.Dir = s.Project
	said, err = cmd.CombinedOutput()
	world.Must(s.T, err)
	for text, n := range s.counted("the control", string(said), times) {
		if !strings.HasPrefix(text, "done: attached: {") || !strings.Contains(text, "GET /status: HTTP/#.# # OK") || !strings.Contains(text, "POST /reload: HTTP/#.# # OK") || !strings.Contains(text, "the secret is read") {
			s.T.Errorf("the control, %d times: %s", n, text)
		}
	}
	if now := s.attached(); now != before+2+times {
		s.T.Errorf("the control: %d sessions have attached, want %d", now, before+2+times)
	}
}

// What a server of a shared hub starts does not attach to it, by whatever way, starts none, and administers none; with the mark of
// a server in its environment and without, and when all between it and the hub have ended. What the kernel holds cannot read the
// secret; what nothing holds can, and that is of no use to it. The same commands of this test work.
func TestNoServerAttaches(t *testing.T) {
	t.Parallel()
	world.RequireLandlock(t)
	needs.Line(t, "setsid; unshare")
	s := sharingShells(t)
	c := s.client()
	script := s.attacks()
	s.all()
	attached := s.attached()
	for range rounds(t) {
		for _, server := range []string{"held", "free"} {
			for _, how := range []string{"-", "-i"} {
				said := s.has(c, server, "sh "+script+" "+how)
				s.none(server+" "+how, said, server == "held", attached)
				if closed := strings.Contains(parts(t, said)["secret"], "Permission denied"); closed != (server == "held") {
					t.Errorf("%s reads the secret: %v", server, !closed)
				}
				s.leaves(c, server, how)()
				s.none("a grandchild of "+server+" "+how, s.leftSaid(), server == "held", attached)
			}
		}
	}
	for _, server := range []string{"held", "free"} {
		for _, how := range []string{"-", "-i"} {
			for left := tries(t); left > 0; left -= atATime {
				n := min(left, atATime)
				s.barred(server+" "+how, s.has(c, server, s.again(n, how)), n, server == "free")
			}
		}
	}
	for _, by := range elsewhere { // what is held by the kernel makes no namespaces
		if n := (tries(t) + 7) / 8; strings.HasPrefix(by, "unshare") && works(t, by) {
			s.barred("free, by "+by, s.has(c, "free", by+" "+s.again(n, "-i")), n, true)
		}
	}
	if now := s.attached(); now != attached {
		t.Errorf("%d sessions have attached, want %d", now, attached)
	}
}

// raised is how the attacks are made without the environment, and without the mark of a server where that may be taken away.
const raised = "raised"

// leaves has a server leave someone behind who makes the attacks once begin is called: in a session of his own, and below none that
// the server has started and that still runs. He makes other attacks first, whose output is in the file tried.
func (s *shared) leaves(c *ide.Client, server, how string, first ...string) (begin func()) {
	s.T.Helper()
	fifo := s.Path("project", "begin")
	for _, name := range []string{"begin", "said", "done"} {
		_ = os.Remove(s.Path("project", name)) // of the last one, if there was one
	}
	world.Must(s.T, unix.Mkfifo(fifo, 0o600))
	env := "env "
	if how != "-" {
		env = "env -i PATH=" + os.Getenv("PATH") + " "
	}
	raises, as := "", how
	if how == raised {
		raises, as = "by=\"prlimit --locks=unlimited\"; $by true || by=; ", "-i"
	}
	s.Write("project/first.sh", strings.Join(first, "\n"))
	s.has(c, server, env+"setsid sh -c '(read x < begin; "+raises+"$by sh first.sh > tried 2>&1; $by sh attacks.sh "+as+" > said 2>&1; mv said done) </dev/null >/dev/null 2>&1 &'")
	return func() {
		s.T.Helper()
		f, err := os.OpenFile(fifo, os.O_WRONLY|unix.O_NONBLOCK, 0)
		if err != nil { // it does not wait, or not yet
			opened := world.Within(world.WaitLimit, func() bool {
				f, err = os.OpenFile(fifo, os.O_WRONLY|unix.O_NONBLOCK, 0)
				return err == nil
			})
			if !opened {
				s.T.Fatal("nobody is left who attacks: ", err)
			}
		}
		_, err = f.WriteString("begin\n")
		world.Must(s.T, err)
		world.Must(s.T, f.Close())
	}
}

// leftSaid returns what the one who was left behind has to say in the end.
func (s *shared) leftSaid() string {
	s.T.Helper()
	var said []byte
	if !world.Within(world.WaitLimit, func() bool {
		var err error
		said, err = os.ReadFile(s.Path("project", "done"))
		return err == nil
	}) {
		s.T.Fatal("whoever was left behind does not come to an end")
	}
	return string(said)
}

// killed ends the hub, and its guardian before that can do anything about it.
func (s *shared) killed() {
	s.T.Helper()
	name, _, _ := strings.Cut(filepath.Base(s.file(".sock")), "-")
	hub, err := strconv.Atoi(name)
	world.Must(s.T, err)
	stat, err := os.ReadFile(filepath.Join("/proc", name, "stat"))
	world.Must(s.T, err)
	guardian, err := strconv.Atoi(strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))[1])
	world.Must(s.T, err)
	if guardian <= 1 {
		s.T.Fatalf("the hub %d has no guardian", hub)
	}
	world.Must(s.T, syscall.Kill(guardian, syscall.SIGSTOP))
	world.Must(s.T, syscall.Kill(hub, syscall.SIGKILL))
	world.Must(s.T, syscall.Kill(guardian, syscall.SIGKILL))
	for _, end := range []string{".sock", ".ends"} { // what is left of it. Otherwise no shared hub would be started after the second
		all, err := filepath.Glob(filepath.Join(s.run, "*"+end))
		world.Must(s.T, err)
		for _, path := range all {
			_ = os.Remove(path)
		}
	}
}

// forgetEnds removes the record of ends, which there is unless the hub ended in order, as one does whose guardian is killed first.
func (s *shared) forgetEnds() {
	all, err := filepath.Glob(filepath.Join(s.run, "*.ends"))
	world.Must(s.T, err)
	for _, path := range all {
		world.Must(s.T, os.Remove(path))
	}
}

// A grandchild whose hub was killed, with the hub's guardian, does not attach to the next hub and administers it as little, also if
// nothing holds it and it has emptied its environment. The control is one of root, which alone can take away the mark by which it is
// told then, a hard limit: it attaches.
func TestNoServerOfAHubThatWasKilledAttaches(t *testing.T) {
	t.Parallel()
	world.RequireLandlock(t)
	needs.Line(t, "setsid; prlimit")
	s := sharingShells(t)
	n := tries(t) / rounds(t)
	for range rounds(t) {
		for _, server := range []string{"held", "free"} {
			for _, how := range []string{"-", "-i", raised} {
				c := s.client()
				begin := s.leaves(c, server, how, s.again(n, how))
				begin() // it tries from now on, and finds the next hub when that is there
				s.killed()
				c.Close(world.StopBound) // or its adapter goes on at the next hub
				s.forgetEnds()
				next := s.client()
				if strings.Contains(next.Stderr(), "although") {
					t.Fatal(next.Stderr())
				}
				s.attacks() // the next hub has another secret
				attached := s.attached()
				s.known()
				who, said := "left by "+server+" "+how, s.leftSaid()
				tried, err := os.ReadFile(s.Path("project", "tried"))
				world.Must(t, err)
				if server == "free" && how == raised && mayRaise(t) {
					for text, times := range s.counted(who, string(tried), n) {
						if !strings.HasPrefix(text, "done: attached: {") || !strings.Contains(text, "POST /reload: HTTP/#.# # OK") {
							t.Errorf("%s, %d times, without the mark: %s", who, times, text)
						}
					}
					if door := parts(t, said)["door"]; !strings.Contains(door, "attached: ") {
						t.Errorf("%s does not attach even without the mark, so this shows nothing: %s", who, door)
					}
				} else {
					s.barred(who, string(tried), n, server == "free")
					s.none(who, said, server == "held", attached)
				}
				world.Must(t, os.Remove(s.Path("project", "known")))
				next.Close(world.StopBound)
				s.gone()
			}
		}
	}
}

// mayRaise reports whether what this test starts may raise its hard limits.
func mayRaise(t *testing.T) bool {
	t.Helper()
	may := exec.Command("prlimit", "--locks=0", "prlimit", "--locks=unlimited", "true").Run() == nil
	if !may {
		t.Log("not tried here: nobody may raise a limit on this machine (CAP_SYS_RESOURCE), so nothing shows that it is the mark that keeps a server out")
	}
	return may
}

// gone waits until the hub has ended because no one is attached.
func (s *shared) gone() {
	s.T.Helper()
	if !world.Within(world.WaitLimit, func() bool {
		left, _ := filepath.Glob(filepath.Join(s.run, "*.sock"))
		return len(left) == 0 && len(world.Marked(s.T, "HOME="+s.Home)) == 0
	}) {
		s.T.Fatalf("left over: %v", world.Marked(s.T, "HOME="+s.Home))
	}
}

// lends passes descriptors, one to each who connects to the socket that it gives.
func (s *shared) lends(name string, fds func() int) (path string) {
	s.T.Helper()
	path = s.Path("project", name)
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	world.Must(s.T, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.AcceptUnix()
			if err != nil {
				return
			}
			if fd := fds(); fd >= 0 {
				_, _, err = c.WriteMsgUnix([]byte("x"), unix.UnixRights(fd), nil)
				if err != nil {
					s.T.Errorf("nothing is passed: %v", err)
				}
				_ = unix.Close(fd)
			}
			_ = c.Close()
		}
	}()
	s.T.Cleanup(func() { _ = l.Close(); <-done })
	return path
}

// atDoor connects to the door, as a process that may attach; begun: it is let in.
func (s *shared) atDoor(secret string, begun bool) (fd int) {
	fail := func(err error) int {
		s.T.Errorf("the accomplice: %v", err)
		return -1
	}
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fail(err)
	}
	if err := unix.Connect(fd, &unix.SockaddrUnix{Name: s.file(".attach")}); err != nil {
		return fail(err)
	}
	if !begun {
		return fd
	}
	if _, err := unix.Write(fd, []byte("mcphub attach 1 "+secret+"\n")); err != nil {
		return fail(err)
	}
	b := make([]byte, 64)
	if n, err := unix.Read(fd, b); err != nil || string(b[:n]) != "ready\n" {
		return fail(fmt.Errorf("the hub says %q %w", b[:max(n, 0)], err))
	}
	return fd
}

// connectionOf returns the descriptor by which an adapter is attached.
func (s *shared) connectionOf(pid int) int {
	p, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		s.T.Error(err)
		return -1
	}
	defer func() { _ = unix.Close(p) }()
	for n := 3; n < 64; n++ {
		fd, err := unix.PidfdGetfd(p, n, 0)
		if err != nil {
			continue
		}
		if peer, err := unix.Getpeername(fd); err == nil {
			if at, ok := peer.(*unix.SockaddrUnix); ok && at.Name == s.file(".attach") {
				return fd
			}
		}
		_ = unix.Close(fd)
	}
	s.T.Errorf("process %d has no connection", pid)
	return -1
}

// A server that is passed a connection by one that may attach goes on with it in vain, whether the accomplice has shown the secret
// or leaves that to it. One that is passed the connection of an adapter that is attached ends that session, as who has its streams
// might anyway, and gets none of it.
func TestAConnectionIsOfNoUseToAServer(t *testing.T) {
	t.Parallel()
	world.RequireLandlock(t)
	s := sharingShells(t)
	c := s.client()
	b, err := os.ReadFile(s.file(".secret"))
	world.Must(t, err)
	secret := string(b)
	fresh := s.lends("fresh", func() int { return s.atDoor(secret, false) })
	begun := s.lends("begun", func() int { return s.atDoor(secret, true) })
	opener := "env OPENER_NEEDLE=00 " + world.Bin.Opener + " do"
	attached := s.attached()
	for _, server := range []string{"held", "free"} {
		for path, how := range map[string]string{fresh: "fresh", begun: "begun"} {
			for _, env := range []string{"", "env -i "} {
				for left := tries(t); left > 0; left -= atATime {
					n := min(left, atATime)
					said := s.has(c, server, fmt.Sprintf("%s%s again %d 0 lent %s %s %s 2>&1", env, opener, n, path, secret, how))
					for text, times := range s.counted(server+" "+env+how, said, n) {
						if !strings.Contains(text, `the hub says "no process # speaks on the connection of process #`) {
							t.Errorf("%s%s, %s, %d times: %s", env, server, how, times, text)
						}
					}
				}
			}
		}
		for range (tries(t) + 1) / 2 {
			other := s.client()
			attached++
			pid := other.PID()
			path := s.lends(fmt.Sprint("held", attached), func() int { return s.connectionOf(pid) })
			said := s.has(c, server, opener+" held "+path+" 2>&1")
			if !strings.Contains(said, `said "end `) && !strings.Contains(said, `said ""`) { // the adapter reads it too
				t.Errorf("%s, a session's connection: %s", server, said)
			}
			other.Close(world.StopBound) // its adapter goes on at the hub
			attached = s.attached()
		}
	}
	if now := s.attached(); now != attached {
		t.Errorf("%d sessions have attached, want %d", now, attached)
	}
	s.all()
}

// The one who is in another namespace than the hub, has other rights, or has given some up, does not attach, with the true secret,
// and mcphub serve gives it a hub of its own and says why.
func TestNobodyAttachesFromElsewhere(t *testing.T) {
	t.Parallel()
	needs.Line(t, "setpriv; unshare")
	s := sharingShells(t)
	c := s.client()
	script := s.attacks()
	s.all()
	for i, by := range elsewhere {
		if !works(t, by) {
			continue
		}
		line, programs := strings.Fields(by), rounds(t)
		if i%4 > 0 && !world.Long {
			programs = 0 // internal/caller tries each, and so is each tried by hand below
		}
		for range programs {
			attached := s.attached()
			cmd := exec.Command(line[0], append(line[1:], "sh", script, "-i")...)
			cmd.Dir = s.Project
			said, err := cmd.CombinedOutput()
			world.Must(t, err)
			got := parts(t, string(said))
			if !strings.Contains(got["door"], `the hub says "no `) {
				t.Errorf("%s, the door by hand: %s", by, got["door"])
			}
			if !strings.Contains(got["serve"], "although hub.json says attach") {
				t.Errorf("%s, mcphub serve: %s", by, got["serve"])
			}
			if now := s.attached(); now != attached {
				t.Errorf("%s: %d sessions have attached, want %d", by, now, attached)
			}
		}
		n, attached := (tries(t)+7)/8, s.attached()
		cmd := exec.Command(line[0], append(line[1:], "sh", "-c", s.again(n, "-i"))...)
		cmd.Dir = s.Project
		said, err := cmd.CombinedOutput()
		world.Must(t, err)
		for text, times := range s.counted(by, string(said), n) {
			if !strings.HasPrefix(text, `done: the hub says "no `) {
				t.Errorf("%s, %d times: %s", by, times, text)
			}
		}
		if now := s.attached(); now != attached {
			t.Errorf("%s, by hand: %d sessions have attached, want %d", by, now, attached)
		}
	}
	s.has(c, "free", "true") // the session is as it was
}

// elsewhere are commands whose children are in another namespace than a hub, or have other rights.
var elsewhere = []string{
	"unshare --uts", "unshare --ipc", "unshare --net", "unshare --mount", "unshare --cgroup", "unshare --time --fork", "unshare --pid --fork",
	"unshare --pid --fork --mount-proc", "unshare --user", "unshare --user --map-root-user",
	"setpriv --no-new-privs", "setpriv --bounding-set -sys_nice", "setpriv --clear-groups", "setpriv --groups 1,7",
}

// works reports whether one of those does what it is to do on this machine.
func works(t *testing.T, by string) bool {
	t.Helper()
	line := strings.Fields(by)
	said, err := exec.Command(line[0], append(line[1:], "true")...).CombinedOutput()
	if err != nil || strings.HasSuffix(by, "--clear-groups") && noGroups() || strings.Contains(by, "bounding") && os.Geteuid() != 0 {
		t.Logf("not tried here: %s: %s", by, said)
		return false
	}
	return true
}

// noGroups reports whether this process has no further groups, so that it can give none up.
func noGroups() bool {
	groups, err := os.Getgroups()
	return err == nil && len(groups) == 0
}

// A server whose root holds the folder of sockets may read and write there under sandbox "auto". It reads the secret and does not
// attach for that; and clients hand their streams to none that listens in the hub's place.
func TestAServerInTheHubsPlaceIsHandedNothing(t *testing.T) {
	t.Parallel()
	world.RequireLandlock(t)
	needs.Program(t, "setsid")
	for _, server := range []string{"held", "free"} {
		s := sharingShells(t)
		line := []string{world.Hub(t), "serve", "--config", s.config}
		c, err := ide.Start(ide.Options{Command: line[0], Args: line[1:], Dir: s.Project, Env: s.Env(), Roots: ide.Folders(s.Project, filepath.Dir(s.run))})
		world.Must(t, err)
		t.Cleanup(func() { c.Close(world.StopBound) })
		_, err = c.Initialize(s.wait())
		world.Must(t, err)
		script, attached := s.attacks(), s.attached()
		said := s.has(c, server, "cd project; sh "+script+" -i")
		if secret, err := os.ReadFile(s.file(".secret")); err != nil || !strings.Contains(said, string(secret)) {
			t.Errorf("the secret is closed to %s, so this shows nothing: %s", server, said)
		}
		s.none(server, said, server == "held", attached)
		socket := s.file(".attach")
		s.has(c, server, "cd "+s.Project+"; OPENER_NEEDLE=00 setsid "+world.Bin.Opener+" do false "+socket+" >handed 2>&1 </dev/null &")
		if !world.Within(world.WaitLimit, func() bool { _, err := os.Stat(s.Path("project", "listening")); return err == nil }) {
			t.Fatal("it does not listen")
		}
		other := s.client()
		if !world.Within(world.WaitLimit, func() bool { return strings.Contains(other.Stderr(), "although hub.json says attach") }) {
			t.Errorf("%s", other.Stderr())
		}
		c.Close(world.StopBound)
		handed, err := os.ReadFile(s.Path("project", "handed"))
		world.Must(t, err)
		if strings.Contains(string(handed), "handed") {
			t.Errorf("%s %s", server, handed)
		}
	}
}

// What the client of a session of a shared hub starts approves no call of its own session, and none of another. A person at a
// terminal does.
func TestNoClientOfASharedHubApproves(t *testing.T) {
	t.Parallel()
	needs.Program(t, "setsid")
	s := sharing(t, obj{"files": obj{"builtin": "files"}}, obj{
		"policy":   obj{"rules": []obj{{"name": "ask", "then": "escalate", "if": obj{"paths": obj{"roles": []string{"read"}, "outside": true}}}}},
		"approval": obj{"local": "tty", "timeout": "1m"},
	})
	far := s.Write("far/f.txt", "far text")
	// Each client is a shell, which starts mcphub approve at a terminal of its own when it is told to.
	const shell = `(read x < "$0.begin"; exec setsid -c "$1" approve <> "$(cat "$0.terminal")" >&0 2>&0) >/dev/null 2>&1 & "$@"; exit $?`
	begin := func(name string) {
		t.Helper()
		world.Must(t, unix.Mkfifo(s.Path("home", name+".begin"), 0o600))
	}
	clients := map[string]*ide.Client{}
	for _, name := range []string{"asks", "other"} {
		begin(name)
		clients[name] = s.client("sh", "-c", shell, s.Path("home", name))
	}
	if n := s.attached(); n != 2 {
		t.Fatalf("%d clients share a hub: %s", n, clients["asks"].Stderr())
	}
	asks := clients["asks"]
	id, err := asks.StartTool("files__read_text_file", world.PathArgs(t, far))
	world.Must(t, err)
	if !world.Within(world.WaitLimit, func() bool { return strings.Contains(asks.Stderr(), "run mcphub approve") }) {
		t.Fatalf("no question waits:\n%s", asks.Stderr())
	}
	for name := range clients {
		said := s.atTerminal(name)
		if !strings.Contains(said, "what the hub's client starts may not approve") || strings.Contains(said, "Type ") {
			t.Errorf("what the client %q starts: %s", name, said)
		}
	}
	person := s.Approver(s.Env())
	code := person.Sees(1, codeShown)
	person.Types(code)
	person.Sees(1, `It is allowed`)
	if r, err := asks.ToolAnswer(s.wait(), id); err != nil || r.IsError || r.Text != "far text" {
		t.Errorf("%+v %v", r, err)
	}
}

// atTerminal has the shell of that name begin at a terminal, and gives what that shows in the end.
func (s *shared) atTerminal(name string) (said string) {
	s.T.Helper()
	master, slave := world.PseudoTerminal(s.T)
	s.Write("home/"+name+".terminal", slave.Name())
	world.Must(s.T, os.WriteFile(s.Path("home", name+".begin"), []byte("begin\n"), 0o600))
	for b := make([]byte, 4096); !strings.Contains(said, "may not approve") && !strings.Contains(said, "Type "); {
		n, err := master.Read(b)
		world.Must(s.T, err)
		said += string(b[:n])
	}
	world.Must(s.T, slave.Close())
	return said
}

// inRun is a world whose hub has been at its place once, and the paths of what it leaves there.
type inRun struct {
	*shared
	socket, secret, lock, ends string
}

func sharedOnce(t *testing.T) inRun {
	t.Helper()
	s := sharingShells(t)
	c := s.client()
	r := inRun{shared: s, socket: s.file(".attach"), secret: s.file(".secret"), lock: s.file(".lock")}
	r.ends = strings.TrimSuffix(r.lock, ".lock") + ".ends"
	c.Close(world.StopBound)
	s.gone()
	return r
}

// A thing is put instead of what a hub has there.
type thing struct {
	put    func(t *testing.T, r inRun)
	runs   bool   // while a hub runs
	root   bool   // only root can put it there
	unseen bool   // it cannot be counted who attaches
	long   bool   // it is for the long run: cmd/mcphub/internal/attach and admin try it each time
	want   string // what is said; "": nothing, since a hub is shared all the same
}

const stranger = 54321 // a user who is no one here

// Whatever lies in the folder of sockets that is not a hub's: it is said within two seconds why no hub is shared, or one is; and the
// client is served.
func TestThingsInTheFolderOfSockets(t *testing.T) {
	t.Parallel()
	world.RequireLandlock(t)
	must := world.Must
	instead := func(put func(path string) error, of func(r inRun) string) func(*testing.T, inRun) {
		return func(t *testing.T, r inRun) {
			t.Helper()
			world.Must(t, os.RemoveAll(of(r)))
			world.Must(t, put(of(r)))
		}
	}
	socket, secret := func(r inRun) string { return r.socket }, func(r inRun) string { return r.secret }
	lock, ends, run := func(r inRun) string { return r.lock }, func(r inRun) string { return r.ends }, func(r inRun) string { return r.run }
	log := func(r inRun) string { return r.Path("home", "state", "mcphub", "shared.log") }
	file := func(path string) error { return os.WriteFile(path, []byte("x"), 0o600) }
	link := func(path string) error { return os.Symlink("/dev/null", path) }
	folder := func(path string) error { return os.Mkdir(path, 0o700) }
	pipe := func(path string) error { return unix.Mkfifo(path, 0o600) }
	for name, c := range map[string]thing{
		"nothing":                 {put: func(*testing.T, inRun) {}},
		"nothing else":            {put: func(*testing.T, inRun) {}, runs: true},
		"a stale socket":          {put: instead(func(path string) error { stale(t, path, false); return nil }, socket)},
		"a socket that hangs":     {long: true, put: instead(func(path string) error { stale(t, path, true); return nil }, socket), want: "is not trusted"},
		"another user's socket":   {put: instead(func(path string) error { othersSocket(t, path); return nil }, socket), root: true, want: "is user 54321's socket"},
		"a file for the socket":   {long: true, put: instead(file, socket)},
		"a folder for the socket": {long: true, put: func(t *testing.T, r inRun) { instead(folder, socket)(t, r); must(t, file(r.socket+"/x")) }, want: "not empty"},
		"an open folder":          {long: true, put: func(t *testing.T, r inRun) { must(t, os.Chmod(r.run, 0o777)) }},
		"an open folder of a hub": {long: true, put: func(t *testing.T, r inRun) { must(t, os.Chmod(r.run, 0o777)) }, runs: true},
		"another user's folder":   {long: true, put: func(t *testing.T, r inRun) { must(t, os.Chown(r.run, stranger, stranger)) }, root: true}, // the next one is taken
		"a link for the folder": {put: func(t *testing.T, r inRun) {
			instead(func(path string) error { return os.Symlink(r.Other, path) }, run)(t, r)
		}},
		"a link for the secret":     {long: true, put: instead(link, secret), runs: true, want: "too many levels"},
		"a pipe for the secret":     {put: instead(pipe, secret), runs: true, want: "is not what this program has written there"},
		"no secret":                 {long: true, put: func(t *testing.T, r inRun) { must(t, os.Remove(r.secret)) }, runs: true, want: "is gone; end process"},
		"another secret":            {put: func(t *testing.T, r inRun) { must(t, file(r.secret)) }, runs: true, want: "does not know the secret"},
		"another user's secret":     {long: true, put: func(t *testing.T, r inRun) { must(t, os.Chown(r.secret, stranger, stranger)) }, runs: true, root: true, want: "secret belongs to"},
		"a left link for a secret":  {long: true, put: instead(link, secret)}, // it is replaced
		"a folder for the secret":   {long: true, put: func(t *testing.T, r inRun) { instead(folder, secret)(t, r); must(t, file(r.secret+"/x")) }, want: "not empty"},
		"a link for the lock":       {put: instead(link, lock), want: "too many levels"},
		"a folder for the lock":     {long: true, put: instead(folder, lock), want: "is a directory"},
		"a pipe for the lock":       {long: true, put: instead(pipe, lock)},
		"a link for the ends":       {long: true, put: instead(link, ends)},
		"a pipe for the ends":       {long: true, put: instead(pipe, ends)},
		"ends that a server writes": {put: func(t *testing.T, r inRun) { must(t, os.WriteFile(r.ends, []byte(fourEnds()), 0o600)) }, want: "ended 4 times"},
		"a link for the log":        {long: true, put: instead(link, log), want: "too many levels"},
		"a folder for the log":      {put: instead(folder, log), want: "is a directory"},
		"a pipe for the log":        {long: true, put: instead(pipe, log), want: "illegal seek"},
		"no room for the secret":    {put: func(t *testing.T, r inRun) { fullDisk(t, r.run) }, root: true, want: "no space left"},
		"no room for the log":       {long: true, put: func(t *testing.T, r inRun) { fullDisk(t, filepath.Dir(log(r))) }, root: true, unseen: true}, // it goes without
	} {
		if c.long && !world.Long {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c.root && os.Geteuid() != 0 {
				if world.IsForOthers() {
					t.Skip("root has tried it")
				}
				needs.Missing(t, "only root can put it there")
			}
			r := sharedOnce(t)
			if c.runs {
				r.client()
			}
			before := r.attached()
			c.put(t, r)
			began := time.Now()
			client := r.client()
			told := time.Since(began)
			if now := r.attached(); c.want == "" && !c.unseen && now != before+1 {
				t.Errorf("%d sessions have attached, want %d", now, before+1)
			}
			if told > bounds.Of(2500*time.Millisecond) {
				t.Errorf("it is told after %s", told)
			}
			if got := r.has(client, "free", "echo served"); !strings.Contains(got, "served") {
				t.Errorf("it is not served: %s", got)
			}
			client.Close(world.StopBound)
			said := client.Stderr() // all of it, since the process has ended
			if alone := strings.Contains(said, "although hub.json says attach"); alone != (c.want != "") || !strings.Contains(said, c.want) {
				t.Errorf("it says %s, want %q", said, c.want)
			}
		})
	}
}

// stale is a socket that no one listens at; hangs: that this test does, and never answers.
func stale(t *testing.T, path string, hangs bool) {
	t.Helper()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	world.Must(t, err)
	l.SetUnlinkOnClose(false)
	if !hangs {
		world.Must(t, l.Close())
		return
	}
	t.Cleanup(func() { _ = l.Close() })
}

// othersSocket is a socket that another user listens at.
func othersSocket(t *testing.T, path string) {
	t.Helper()
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	world.Must(t, err)
	world.Must(t, unix.Bind(fd, &unix.SockaddrUnix{Name: path}))
	listens := make(chan error)
	go func() {
		runtime.LockOSThread() // the thread ends with this, and only it is another user
		const keep = ^uintptr(0)
		if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, keep, stranger, keep); errno != 0 {
			listens <- errno
			return
		}
		listens <- unix.Listen(fd, 8)
	}()
	world.Must(t, <-listens)
	t.Cleanup(func() { _ = unix.Close(fd) })
}

func fourEnds() string {
	now := time.Now().Unix()
	return fmt.Sprintf("1 %[1]d\n2 %[1]d\n3 %[1]d\n4 %[1]d\n", now)
}

// fullDisk puts a full file system instead of a folder, with what is in it.
func fullDisk(t *testing.T, dir string) {
	t.Helper()
	kept := map[string][]byte{}
	all, err := os.ReadDir(dir)
	world.Must(t, err)
	for _, e := range all {
		if b, err := os.ReadFile(filepath.Join(dir, e.Name())); err == nil && e.Type().IsRegular() {
			kept[e.Name()] = b
		}
	}
	err = unix.Mount("tmpfs", dir, "tmpfs", 0, "size=128k,mode=700")
	if errors.Is(err, unix.EPERM) {
		needs.Missing(t, "no tmpfs can be mounted")
	}
	world.Must(t, err)
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	for name, b := range kept {
		world.Must(t, os.WriteFile(filepath.Join(dir, name), b, 0o600))
	}
	f, err := os.Create(filepath.Join(dir, "filler"))
	world.Must(t, err)
	for err == nil {
		_, err = f.Write(make([]byte, 4096))
	}
	if !errors.Is(err, unix.ENOSPC) {
		t.Fatal(err)
	}
	world.Must(t, f.Close())
}

// All of it holds for an ordinary user too.
func TestAttachingForAnOrdinaryUser(t *testing.T) {
	t.Parallel()
	world.AsOrdinaryUser(t, []string{
		"TestNoServerAttaches", "TestNoServerOfAHubThatWasKilledAttaches", "TestAConnectionIsOfNoUseToAServer", "TestNobodyAttachesFromElsewhere",
		"TestAServerInTheHubsPlaceIsHandedNothing", "TestNoClientOfASharedHubApproves", "TestThingsInTheFolderOfSockets",
	})
}
