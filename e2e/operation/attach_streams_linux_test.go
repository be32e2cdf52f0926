package operation

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"mcphub/e2e/world"
)

// streams are the standard streams of a client's `mcphub serve`, and the client's side of them.
type streams struct {
	in, out, err *os.File // nil: closed
	shared       []*os.File
	write        *os.File // to in; nil: there is no one
	read         *os.File // from out; nil: no one can
	script       bool     // in holds all that the client says
}

func pipeOf(t testing.TB) (r, w *os.File) {
	t.Helper()
	var fds [2]int
	world.Must(t, unix.Pipe2(fds[:], unix.O_CLOEXEC)) // os.Pipe makes them non-blocking
	return fileOf(t, fds[0]), fileOf(t, fds[1])
}

func socketsOf(t testing.TB) (here, there *os.File) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	world.Must(t, err)
	return fileOf(t, fds[0]), fileOf(t, fds[1])
}

func fileOf(t testing.TB, fd int) *os.File {
	t.Helper()
	f := os.NewFile(uintptr(fd), "stream")
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// flagsOf returns the flags of a descriptor, without making it block as Fd does.
func flagsOf(t testing.TB, f *os.File) (flags int) {
	t.Helper()
	raw, err := f.SyscallConn()
	world.Must(t, err)
	world.Must(t, raw.Control(func(fd uintptr) { flags, err = unix.FcntlInt(fd, unix.F_GETFL, 0) }))
	world.Must(t, err)
	return flags
}

// TestStreamsOfAnAttachedClient: what a client shares with its `mcphub serve` blocks, or does not, as it did before: while the
// session is served, and when it has ended. A session that attaches is one over any kind of stream.
func TestStreamsOfAnAttachedClient(t *testing.T) {
	open := func(t *testing.T, path string, flag int) *os.File {
		f, err := os.OpenFile(path, flag|os.O_CREATE, 0o600)
		world.Must(t, err)
		t.Cleanup(func() { _ = f.Close() })
		return f
	}
	for _, c := range []struct {
		name  string
		alone bool // it does not attach
		make  func(t *testing.T, a *attached) streams
	}{
		{name: "pipes", make: func(t *testing.T, _ *attached) streams {
			inR, inW := pipeOf(t)
			outR, outW := pipeOf(t)
			errR, errW := pipeOf(t)
			go func() { _, _ = errR.Read(make([]byte, 1<<16)) }()
			return streams{in: inR, out: outW, err: errW, write: inW, read: outR}
		}},
		{name: "socketpairs", make: func(t *testing.T, _ *attached) streams { // as Node starts a process
			in, inThere := socketsOf(t)
			out, outThere := socketsOf(t)
			err, _ := socketsOf(t)
			return streams{in: in, out: out, err: err, write: inThere, read: outThere, shared: []*os.File{inThere, outThere}}
		}},
		{name: "one socket", make: func(t *testing.T, _ *attached) streams {
			s, there := socketsOf(t)
			return streams{in: s, out: s, err: s, write: there, read: there, shared: []*os.File{there}}
		}},
		{name: "a socket that does not block", make: func(t *testing.T, a *attached) streams {
			s, there := socketsOf(t)
			world.Must(t, unix.SetNonblock(int(s.Fd()), true))
			return streams{in: s, out: s, err: open(t, a.Path("stderr"), os.O_WRONLY), write: there, read: there, shared: []*os.File{there}}
		}},
		{name: "a file as input", make: func(t *testing.T, a *attached) streams {
			outR, outW := pipeOf(t)
			return streams{in: open(t, a.Write("script", ""), os.O_RDONLY), out: outW, err: open(t, a.Path("stderr"), os.O_WRONLY), read: outR, script: true}
		}},
		{name: "files", make: func(t *testing.T, a *attached) streams {
			return streams{in: open(t, a.Write("script", ""), os.O_RDONLY), out: open(t, a.Path("stdout"), os.O_RDWR), err: open(t, a.Path("stderr"), os.O_WRONLY|os.O_APPEND), script: true}
		}},
		{name: "/dev/null as input", make: func(t *testing.T, a *attached) streams {
			outR, outW := pipeOf(t)
			return streams{in: open(t, os.DevNull, os.O_RDWR), out: outW, err: open(t, os.DevNull, os.O_RDWR), read: outR}
		}},
		{name: "/dev/null as output", make: func(t *testing.T, a *attached) streams {
			inR, inW := pipeOf(t)
			null := open(t, os.DevNull, os.O_RDWR)
			return streams{in: inR, out: null, err: null, write: inW}
		}},
		{name: "a terminal", alone: true, make: func(t *testing.T, a *attached) streams {
			_, slave := world.PseudoTerminal(t)
			t.Cleanup(func() { _ = slave.Close() })
			outR, outW := pipeOf(t)
			inR, inW := pipeOf(t)
			return streams{in: inR, out: outW, err: slave, write: inW, read: outR}
		}},
	} {
		t.Run(strings.ReplaceAll(c.name, "/", ""), func(t *testing.T) {
			t.Parallel()
			a := sharing(t, obj{})
			a.config = a.Config(obj{"rec": a.Recorder("rec")}, obj{"attach": obj{"mode": "auto", "idle": "400ms"}})
			keeper := a.ready(a.Other) // the hub is there before and afterwards
			s := c.make(t, a)
			if s.script {
				world.Must(t, os.WriteFile(s.in.Name(), []byte(world.FirstLines+echo(2)), 0o600))
			}
			s.shared = append(s.shared, s.in, s.out, s.err)
			var before []int
			for _, f := range s.shared {
				f.Fd() // has it block where os made it otherwise
				before = append(before, flagsOf(t, f))
			}
			same := func(when string) {
				t.Helper()
				for i, f := range s.shared {
					if now := flagsOf(t, f); now != before[i] {
						t.Errorf("%s stream %d has the flags %#x, it had %#x", when, i, now, before[i])
					}
				}
			}
			cmd := exec.Command(world.Hub(t), "serve", "--config", a.config)
			cmd.Dir, cmd.Env = a.Project, a.env
			cmd.Stdin, cmd.Stdout, cmd.Stderr = s.in, s.out, s.err
			world.Must(t, cmd.Start())
			ended := make(chan error, 1)
			go func() { ended <- cmd.Wait() }()
			if s.write != nil {
				_, err := s.write.WriteString(world.FirstLines)
				world.Must(t, err)
			}
			var answers *bufio.Scanner
			if s.read != nil {
				answers = bufio.NewScanner(s.read)
				answers.Buffer(nil, 8<<20)
			}
			if s.write != nil {
				attached := func() bool { return len(a.sessions()) == 2 }
				if c.alone {
					attached = func() bool { return len(a.status().Hubs) == 2 }
				}
				if !world.Within(world.WaitLimit, attached) {
					t.Fatalf("it is not served as it should be: %+v", a.status())
				}
				for id := 2; id < 40; id++ {
					_, err := s.write.WriteString(echo(id))
					world.Must(t, err)
					if s.read != nil {
						await(t, answers, id)
					}
					if id%13 == 0 && !c.alone {
						same("while it is served")
					}
				}
				if s.write == s.read {
					world.Must(t, unix.Shutdown(int(s.write.Fd()), unix.SHUT_WR))
				} else {
					world.Must(t, s.write.Close())
					s.shared = []*os.File{s.in, s.out, s.err}
					before = before[len(before)-3:]
				}
			} else if s.script && s.read != nil {
				await(t, answers, 2)
			}
			if err := <-ended; err != nil {
				t.Errorf("it ended so: %v", err)
			}
			if said, _ := os.ReadFile(a.Path("stderr")); strings.Contains(string(said), "a hub of its own") {
				t.Errorf("%s", said)
			}
			same("afterwards")
			if s.script && s.read == nil {
				said, err := os.ReadFile(s.out.Name())
				world.Must(t, err)
				if !strings.Contains(string(said), `"id":2,`) {
					t.Errorf("the answer is not there: %s", said)
				}
			}
			a.started(keeper, "rec")
		})
	}
}

// sessions returns the sessions of all shared hubs.
func (a *attached) sessions() (folders []string) {
	for _, h := range a.status().Hubs {
		if h.Shared {
			for _, s := range h.Sessions {
				folders = append(folders, s.Folder)
			}
		}
	}
	return folders
}

// echo returns a call of a recorder, as a line; some of its answer are long.
func echo(id int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"rec__echo","arguments":{"text":%q}}}`+"\n", id, strings.Repeat("x", 1+id%5*20_000))
}

// await reads up to an answer.
func await(t testing.TB, answers *bufio.Scanner, id int) {
	t.Helper()
	want := regexp.MustCompile(fmt.Sprintf(`"id": ?%d\b`, id))
	for answers.Scan() {
		if want.Match(answers.Bytes()) {
			if !strings.Contains(answers.Text(), "xx") && id%5 != 0 {
				t.Fatalf("answer %d: %.300s", id, answers.Text())
			}
			return
		}
	}
	t.Fatalf("answer %d did not come: %v", id, answers.Err())
}

// TestAClosedStream: a client that has closed one of the three is served by the shared hub as far as that goes, and ends well.
func TestAClosedStream(t *testing.T) {
	for name, redirection := range map[string]string{"stdin": "<&-", "stdout": ">&-", "stderr": "2>&-"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := sharing(t, obj{})
			a.config = a.Config(obj{"rec": a.Recorder("rec")}, obj{"attach": obj{"mode": "auto", "idle": "400ms"}})
			keeper := a.ready(a.Other)
			cmd := exec.Command("sh", "-c", `exec "$@" `+redirection, "sh", world.Hub(t), "serve", "--config", a.config)
			cmd.Dir, cmd.Env = a.Project, a.env
			cmd.Stdin = strings.NewReader(world.FirstLines + echo(2))
			var said, errors strings.Builder
			cmd.Stdout, cmd.Stderr = &said, &errors
			if err := cmd.Run(); err != nil {
				t.Errorf("it ended so: %v", err)
			}
			if strings.Contains(said.String(), `"id":2,`) != (name == "stderr") || strings.Contains(errors.String(), "a hub of its own") {
				t.Errorf("it said %q and %q", said.String(), errors.String())
			}
			a.started(keeper, "rec")
			if !world.Within(world.WaitLimit, func() bool { return len(a.sessions()) == 1 }) {
				t.Errorf("%d sessions are left", len(a.sessions()))
			}
		})
	}
}
