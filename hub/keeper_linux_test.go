package hub

import (
	"bufio"
	"context"
	"os"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"mcphub/e2e/bounds"
	"mcphub/e2e/childtest"
	"mcphub/internal/caller"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/kept"
	"mcphub/internal/stdio"
)

// A keptClient has a session that goes from hub to hub.
type keptClient struct {
	*testClient
	out   [2]int // descriptors of the session, and what keeps its state
	files kept.Files
}

func newKeptClient(t *testing.T, roots ...string) *keptClient {
	t.Helper()
	toHub, fromClient := blockingPipe(t)
	toClient, fromHub := blockingPipe(t)
	files, err := kept.NewFiles()
	if err != nil {
		t.Fatal(err)
	}
	k := &keptClient{testClient: &testClient{t: t, notes: make(chan string, 1000), progress: make(chan string, 1000)}, out: [2]int{toHub, fromHub}, files: files}
	k.setRoots(roots...)
	k.conn = jsonrpc.NewConn(stdio.Handed(toClient, "answers", os.O_RDONLY), stdio.Handed(fromClient, "requests", os.O_WRONLY), k, jsonrpc.ConnOptions{})
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { _ = k.conn.Run(ctx) })
	t.Cleanup(func() {
		cancel()
		wg.Wait()
		files.Close()
		_, _ = unix.Close(toHub), unix.Close(fromHub)
	})
	return k
}

func blockingPipe(t *testing.T) (r, w int) {
	t.Helper()
	var p [2]int
	if err := unix.Pipe2(p[:], unix.O_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	return p[0], p[1]
}

// open opens the memory for a hub, and the client's streams.
func (k *keptClient) open(h *Hub) (m *kept.Memory, in, out int) {
	k.t.Helper()
	var own [5]int
	for i, fd := range append(k.out[:], k.files[:]...) {
		var err error
		if own[i], err = unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 3); err != nil {
			k.t.Fatal(err)
		}
	}
	m, _, err := kept.Open(kept.Files(own[2:]), h.KeptLimits(), own[1])
	if err != nil {
		k.t.Fatal(err)
	}
	return m, own[0], own[1]
}

// serve has a hub go on with the session. end ends the hub's part in it.
func (k *keptClient) serve(h *Hub) (end func()) {
	k.t.Helper()
	m, in, out := k.open(h)
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		defer m.Close()
		_ = h.ServeStdio(ctx, stdio.Handed(in, "in", os.O_RDONLY), stdio.Handed(out, "out", os.O_WRONLY), Surroundings{Kept: m, Client: caller.Process{PID: os.Getpid()}})
	})
	end = sync.OnceFunc(func() { cancel(); wg.Wait() })
	k.t.Cleanup(end)
	return end
}

// told waits for a notification.
func (k *keptClient) told(method string) {
	k.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), bounds.Patience)
	defer cancel()
	for {
		select {
		case got := <-k.notes:
			if got == method {
				return
			}
		case <-ctx.Done():
			k.t.Fatalf("it is not told %s", method)
		}
	}
}

// TestASessionGoesOnAtAnotherHub: the next hub knows what the client has said of itself, its log level and its subscriptions, asks for its
// roots again, and tells about a list that is another one there. The client says nothing twice.
func TestASessionGoesOnAtAnotherHub(t *testing.T) {
	kid := scripted("kid", childtest.Script{Library: true})
	root := t.TempDir()
	one, other := newTestHub(t, kid), newTestHub(t, kid, scripted("more", childtest.Script{}))
	k := newKeptClient(t, root)
	end := k.serve(one)
	k.handshake(declared)
	k.raw("logging/setLevel", `{"level":"error"}`)
	if said := k.raw("tools/list", `{}`); !strings.Contains(said, "kid__echo") || strings.Contains(said, "more__echo") {
		t.Fatal(said)
	}
	k.raw("resources/subscribe", `{"uri":"note://1"}`)
	k.told("notifications/resources/updated")
	k.mu.Lock()
	asked := k.asked
	k.mu.Unlock()
	end()
	for len(k.notes) > 0 {
		<-k.notes
	}
	k.serve(other)
	if said := k.raw("tools/call", toolCall("more__echo", `{}`)); !strings.Contains(said, "content") {
		t.Error(said)
	}
	k.told("notifications/resources/updated")
	if e := k.refused("initialize", `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}`); !strings.Contains(e.Message, "already") {
		t.Error(e)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.asked <= asked {
		t.Error("it was not asked for its roots again")
	}
	for _, s := range other.sessions.Sessions() {
		if c := s.clientClaims(); c.Protocol != "2025-06-18" || !c.Roots || (handshakeHost{s}).Level().String() != "error" {
			t.Errorf("%+v at level %q", c, handshakeHost{s}.Level())
		}
	}
}

// TestWhichListsAreAnnounced: a list that the client was not promised to be told about is not.
func TestWhichListsAreAnnounced(t *testing.T) {
	lists := map[int]string{0: "a", 1: "b", 99: "c", -1: "d"}
	r := &keptRecord{Lists: lists, Answer: []byte(`{"capabilities":{"tools":{"listChanged":true},"prompts":{"listChanged":false},"resources":{}}}`)}
	if got := r.announcedLists(); len(got) != 1 || got[0] != "a" {
		t.Errorf("%v", got)
	}
	if got := (&keptRecord{Lists: lists}).announcedLists(); len(got) != 0 {
		t.Errorf("%v", got)
	}
}

// TestAnIDThatIsUsedTwice: a request with the id that initialize had is not answered as initialize at the next hub.
func TestAnIDThatIsUsedTwice(t *testing.T) {
	h := newTestHub(t)
	const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`
	for _, answered := range []bool{false, true} {
		toHub, fromClient := blockingPipe(t)
		toClient, fromHub := blockingPipe(t)
		files, err := kept.NewFiles()
		if err != nil {
			t.Fatal(err)
		}
		k := &keptClient{testClient: &testClient{t: t}, out: [2]int{toHub, fromHub}, files: files}
		m, in, out := k.open(h)
		keeps, err := newSessionKeeper(m)
		if err != nil {
			t.Fatal(err)
		}
		keeps.changeRecord(func(r *keptRecord) { r.Initialize, r.Line = []byte(initialize), 1 })
		e := m.Open([]byte("1"))
		m.Take(0, 0)
		if answered {
			m.Append([][]byte{[]byte("answered")}, e.Marks())
			m.Open([]byte("1"))
			m.Take(0, 0)
		}
		m.Close()
		_, _ = unix.Close(in), unix.Close(out)
		end := k.serve(h)
		said := bufio.NewScanner(stdio.Handed(toClient, "answers", os.O_RDONLY))
		said.Buffer(nil, 1<<20)
		if answered && (!said.Scan() || said.Text() != "answered") {
			t.Error(said.Text())
		}
		if !said.Scan() || strings.Contains(said.Text(), "it may have run") != answered {
			t.Error(said.Text(), said.Err())
		}
		end()
		files.Close()
		_, _, _ = unix.Close(toHub), unix.Close(fromHub), unix.Close(fromClient)
	}
}
