package operation

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"mcphub/e2e/seeds"
	"mcphub/e2e/world"
)

// megabyte is how long a large frame is, in both directions.
const megabyte = 1 << 20

// A survivor is a client that looks at every line, while its hub is killed.
type survivor struct {
	name   string
	modern bool
	root   string
	cmd    *exec.Cmd
	in     *os.File
	out    *os.File
	said   strings.Builder // on stderr

	write sync.Mutex
	pulse chan struct{} // a call was answered
	ended chan struct{} // nothing more is read

	mu     sync.Mutex
	open   map[string]chan answer
	good   int // answers that are none of an end
	lost   int // answers that say that the call may have run
	asked  int
	faults []string
}

type answer struct {
	ID            any
	Method        string
	Result, Error json.RawMessage
}

// survive starts one.
func (a *attached) survive(name string, modern, sockets bool) *survivor {
	t := a.T
	in, toIn := pipeOf(t)
	fromOut, out := pipeOf(t)
	if sockets {
		in, toIn = socketsOf(t)
		fromOut, out = socketsOf(t)
	}
	s := &survivor{name: name, modern: modern, root: a.Project, cmd: exec.Command(world.Hub(t), "serve", "--config", a.config), in: toIn, out: fromOut,
		pulse: make(chan struct{}, 1), ended: make(chan struct{}), open: map[string]chan answer{}}
	s.cmd.Dir, s.cmd.Env, s.cmd.Stdin, s.cmd.Stdout, s.cmd.Stderr = a.Project, a.env, in, out, &s.said
	world.Must(t, s.cmd.Start())
	world.Must(t, errors.Join(in.Close(), out.Close()))
	go s.read()
	if !modern {
		r := s.ask(`"first"`, "initialize", `{"protocolVersion":"2025-06-18","capabilities":{"roots":{"listChanged":true}},"clientInfo":{"name":"survivor","version":"1"}}`)
		if !strings.Contains(string(r.Result), `"2025-06-18"`) {
			t.Fatalf("%s: %s %s", name, r.Result, r.Error)
		}
		s.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	}
	return s
}

func (s *survivor) fault(format string, with ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, s.name+": "+fmt.Sprintf(format, with...))
}

// read takes each line: it is a message, and answers one question that is open.
func (s *survivor) read() {
	defer close(s.ended)
	in := bufio.NewReaderSize(s.out, megabyte)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			if len(line) > 0 || !errors.Is(err, io.EOF) {
				s.fault("its output ends with %.200q %v", line, err)
			}
			return
		}
		var m answer
		if err := json.Unmarshal(line, &m); err != nil {
			s.fault("a line of %d bytes is broken: %v: %.100q ... %.100q", len(line), err, line, line[max(0, len(line)-100):])
			continue
		}
		id, _ := json.Marshal(m.ID)
		switch {
		case m.Method == "roots/list":
			go s.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"roots":[{"uri":"file://%s"}]}}`, id, s.root))
			s.mu.Lock()
			s.asked++
			s.mu.Unlock()
		case m.Method != "":
		default:
			s.mu.Lock()
			waits := s.open[string(id)]
			delete(s.open, string(id))
			s.mu.Unlock()
			if waits == nil {
				s.fault("%s is answered a second time: %.200s", id, line)
				continue
			}
			waits <- m
		}
	}
}

func (s *survivor) send(line string) {
	s.write.Lock()
	defer s.write.Unlock()
	_, _ = s.in.WriteString(line + "\n")
}

// ask makes a request and waits for its answer.
func (s *survivor) ask(id, method, params string) answer {
	waits := make(chan answer, 1)
	s.mu.Lock()
	s.open[id] = waits
	s.mu.Unlock()
	s.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, id, method, params))
	select {
	case m := <-waits:
		return m
	case <-s.ended:
		s.fault("%s is not answered", id)
		return answer{}
	}
}

// call makes one call after the other, until stop is closed.
func (s *survivor) call(n int, r *rand.Rand, stop <-chan struct{}) {
	meta := ""
	if s.modern {
		meta = `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"survivor","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`
	}
	for i := 0; ; i++ {
		select {
		case <-stop:
			return
		case <-s.ended:
			return
		default:
		}
		tool, arguments, size := "echo", "", r.IntN(2000)
		switch i % 4 {
		case n % 4:
			size = megabyte
		case (n + 1) % 4:
			tool, arguments, size = "big", fmt.Sprintf(`{"bytes":%d}`, megabyte), megabyte
		}
		if arguments == "" {
			arguments = `{"text":"` + strings.Repeat("x", size) + `"}`
		}
		id := fmt.Sprintf(`"%d-%d"`, n, i)
		m := s.ask(id, "tools/call", `{"name":"rec__`+tool+`","arguments":`+arguments+meta+`}`)
		s.mu.Lock()
		switch {
		case m.Error != nil && strings.Contains(string(m.Error), "it may have run"):
			s.lost++
		case m.Error == nil && m.Result != nil && len(m.Result) >= size && !strings.Contains(string(m.Result[:min(200, len(m.Result))]), `"isError":true`):
			s.good++
		default:
			s.faults = append(s.faults, fmt.Sprintf("%s: %s: %.300s %s", s.name, id, m.Result, m.Error))
		}
		s.mu.Unlock()
		select {
		case s.pulse <- struct{}{}:
		default:
		}
	}
}

func (s *survivor) counts() (good, lost int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.good, s.lost
}

// goesOn waits for so many good answers more.
func (s *survivor) goesOn(t testing.TB, more int) {
	t.Helper()
	before, _ := s.counts()
	if !world.Within(world.WaitLimit, func() bool { now, _ := s.counts(); return now >= before+more }) {
		t.Fatalf("%s goes on no more; stderr: %s", s.name, s.said.String())
	}
}

// TestClientsOutliveTheirHub kills the hub with -9 at random moments, while clients of both eras call it over pipes and over sockets,
// with frames of a megabyte in both directions. No client is started again. Each call is answered once, and no line is broken.
// MCPHUB_LONG_CASES says how many moments.
func TestClientsOutliveTheirHub(t *testing.T) {
	t.Parallel()
	a := sharing(t, obj{})
	a.config = a.Config(obj{"rec": a.Recorder("rec")}, obj{"attach": obj{"mode": "auto", "idle": "1s"}})
	moments := world.LongCases(t, 6, 1000)
	r := seeds.Rand(t)
	all := []*survivor{a.survive("a client over pipes", false, false), a.survive("a modern client over sockets", true, true), a.survive("a client over sockets", false, true), a.survive("a modern client over pipes", true, false)}
	stop := make(chan struct{})
	var calls sync.WaitGroup
	for i, s := range all {
		for n := range 2 {
			own := seeds.Rand(t, i, n)
			calls.Go(func() { s.call(n, own, stop) })
		}
	}
	for moment := range moments {
		for _, s := range all {
			s.goesOn(t, 1)
		}
		for range r.IntN(8) {
			<-all[r.IntN(len(all))].pulse
		}
		a.strikeShared()
		for _, s := range all {
			if len(s.faults) > 0 {
				t.Fatalf("moment %d: %s", moment, s.faults)
			}
		}
	}
	for _, s := range all {
		s.goesOn(t, 1)
	}
	close(stop)
	calls.Wait()
	good, lost := 0, 0
	for _, s := range all {
		world.Must(t, s.in.Close())
		<-s.ended
		if err := s.cmd.Wait(); err != nil {
			t.Errorf("%s ends so: %v: %s", s.name, err, s.said.String())
		}
		for _, f := range s.faults {
			t.Error(f)
		}
		g, l := s.counts()
		good, lost = good+g, lost+l
		if !s.modern && s.asked < moments/2 {
			t.Errorf("%s was asked for its roots %d times", s.name, s.asked)
		}
	}
	if lost == 0 {
		t.Error("no call was open when the hub was killed: nothing was shown")
	}
	t.Logf("%d moments: %d calls were answered, and of %d was said that they may have run", moments, good, lost)
}

// strikeShared kills the hub, and takes the end off the record, so that another is started however many there were.
func (a *attached) strikeShared() {
	t := a.T
	t.Helper()
	var hub int
	if !world.Within(world.WaitLimit, func() bool {
		for _, h := range a.status().Hubs {
			if h.Shared {
				hub = h.PID
			}
		}
		return hub != 0
	}) {
		t.Fatal("there is no shared hub")
	}
	for _, dir := range a.env {
		if dir, ok := strings.CutPrefix(dir, "XDG_RUNTIME_DIR="); ok {
			ends, err := filepath.Glob(filepath.Join(dir, "mcphub*", "*.ends"))
			world.Must(t, err)
			for _, f := range ends {
				world.Must(t, os.Remove(f))
			}
		}
	}
	kill(t, hub)
}

// TestAHubThatCannotBeStartedForAMoment: what keeps the adapter from the next hub passes: a folder stands where the log belongs, or hub.json is
// broken. The session goes on then.
func TestAHubThatCannotBeStartedForAMoment(t *testing.T) {
	t.Parallel()
	for name, path := range map[string]func(a *attached) string{
		"a folder instead of the log": func(a *attached) string { return a.Path("home", "state", "mcphub", "shared.log") },
		"a broken hub.json":           func(a *attached) string { return a.config },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := sharing(t, obj{})
			a.config = a.Config(obj{"rec": a.Recorder("rec")}, obj{"attach": obj{"mode": "auto", "idle": "400ms"}})
			c := a.ready(a.Project)
			a.started(c, "rec")
			path := path(a)
			whole, err := os.ReadFile(path)
			world.Must(t, err)
			world.Must(t, os.Remove(path))
			if path == a.config {
				world.Must(t, os.WriteFile(path, whole[:len(whole)/2], 0o600))
			} else {
				world.Must(t, os.Mkdir(path, 0o700))
			}
			a.strikeShared()
			if !world.Within(world.WaitLimit, func() bool { return strings.Contains(c.Stderr(), "no hub takes the session over yet") }) {
				t.Fatalf("it is not told: %s", c.Stderr())
			}
			world.Must(t, os.Remove(path))
			if path == a.config {
				world.Must(t, os.WriteFile(path, whole, 0o600))
			}
			a.started(c, "rec")
		})
	}
}

// TestARetryOpensAtTheNextHub: a client of 2026-07-28 was asked for its roots by a hub that is killed, and retries at the next one. A state
// that is altered opens at neither.
func TestARetryOpensAtTheNextHub(t *testing.T) {
	t.Parallel()
	a := sharing(t, obj{})
	a.config = a.Config(obj{"rec": a.Recorder("rec")}, obj{"attach": obj{"mode": "auto", "idle": "1s"}})
	s := a.survive("a modern client", true, false)
	meta := `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"survivor","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"roots":{}}}`
	call := `"name":"rec__ask_roots","arguments":{},` + meta
	first := s.ask("1", "tools/call", "{"+call+"}")
	var asked struct {
		InputRequests map[string]json.RawMessage
		RequestState  string
	}
	if err := json.Unmarshal(first.Result, &asked); err != nil || len(asked.InputRequests) != 1 || asked.RequestState == "" {
		t.Fatalf("%s %s", first.Result, first.Error)
	}
	responses := obj{}
	for key := range asked.InputRequests {
		responses[key] = obj{"roots": []obj{{"uri": "file://" + a.Project}}}
	}
	a.strikeShared()
	retry := func(id, state string) answer {
		return s.ask(id, "tools/call", "{"+call+`,"inputResponses":`+string(world.Raw(t, responses))+`,"requestState":`+string(world.Raw(t, state))+"}")
	}
	altered := []byte(asked.RequestState)
	altered[len(altered)/2] ^= 1
	if m := retry("2", string(altered)); !strings.Contains(string(m.Error), "was not given out for this request, or was altered") {
		t.Errorf("%s %s", m.Result, m.Error)
	}
	if m := retry("3", asked.RequestState); !strings.Contains(string(m.Result), a.Project) {
		t.Errorf("%s %s", m.Result, m.Error)
	}
	world.Must(t, s.in.Close())
	<-s.ended
	world.Must(t, s.cmd.Wait())
}
