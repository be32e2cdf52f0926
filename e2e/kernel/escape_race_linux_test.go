package kernel

import (
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"mcphub/e2e/ide"
	"mcphub/e2e/world"
)

// readsPerSession bounds one session: what waits for an answer looks through all that came before.
const readsPerSession = 2000

// With the monitor off a directory of the official filesystem server is swapped against a link while it reads. Now and then its
// own check is passed by, and then the kernel holds. MCPHUB_LONG_CASES says how many swaps there are at least; there are a tenth
// as many reads. The control is the same without the sandbox, until a read leads outside.
func TestSwapsAtTheConfinedServer(t *testing.T) {
	t.Parallel()
	n := world.RequireNode(t)
	world.RequireLandlock(t)
	swaps := world.LongCases(t, 4000, 1_000_000)
	each := min(readsPerSession, swaps/10)
	free := &swapped{node: n, mode: "off", each: each}
	for free.outside == 0 && free.reads < 50_000 {
		free.session(t)
	}
	t.Logf("free: %d of %d reads led outside, %d inside, in %d swaps", free.outside, free.reads, free.inside, free.swaps.Load())
	if free.outside == 0 {
		t.Error("without the sandbox no read leads outside: this shows nothing")
	}
	for _, attached := range []bool{false, true} {
		held := &swapped{node: n, mode: "required", attached: attached, each: each}
		for held.swaps.Load() < int64(swaps) || held.reads < swaps/10 {
			held.session(t)
		}
		t.Logf("held, attached %t: %d of %d reads led outside, %d inside, in %d swaps", attached, held.outside, held.reads, held.inside, held.swaps.Load())
		if held.outside > 0 || held.inside == 0 {
			t.Errorf("it reads outside, or cannot read inside, attached %t", attached)
		}
	}
}

// swapped counts reads of a file whose directory is swapped all the time.
type swapped struct {
	node                   world.Node
	mode                   string // of the sandbox
	attached               bool   // to a hub that clients share
	each                   int    // reads of a session
	swaps                  atomic.Int64
	reads, inside, outside int
}

// session starts a hub and the server. A free one ends with the first read that leads outside.
func (s *swapped) session(t *testing.T) {
	t.Helper()
	t.Run(s.mode, func(t *testing.T) {
		w := world.New(t)
		text := "what lies inside"
		w.Write("project/swapped/secret.txt", text)
		dir, link := w.Path("project", "swapped"), w.Path("project", "link-out")
		entry := obj{"command": s.node.Program, "args": []string{s.node.Script("mcp-server-filesystem"), w.Project},
			"sandbox": s.mode, "paths": obj{"mode": "off"}}
		config := w.Config(obj{"fs": entry})
		if s.attached {
			config = w.Config(obj{"fs": entry}, attachAuto(t, w))
		}
		client := w.Serve(config, ide.Folders(w.Project))
		client.Handshake()
		if s.attached {
			wantAttached(t, w, client)
		}
		client.AwaitTool("fs__read_text_file")
		stop, stopped := make(chan struct{}), make(chan error)
		go func() {
			var err error
			for err == nil {
				select {
				case <-stop:
					stopped <- nil
					return
				default:
				}
				err = unix.Renameat2(unix.AT_FDCWD, dir, unix.AT_FDCWD, link, unix.RENAME_EXCHANGE)
				s.swaps.Add(1)
			}
			stopped <- err
		}()
		args := world.PathArgs(t, w.Path("project", "swapped", "secret.txt"))
		var inFlight []string
		for sent := 0; sent < s.each || len(inFlight) > 0; s.reads++ {
			for ; sent < s.each && len(inFlight) < 8; sent++ {
				inFlight = append(inFlight, client.SendCall("fs__read_text_file", args))
			}
			got := client.AwaitCall(inFlight[0])
			inFlight = inFlight[1:]
			switch {
			case strings.Contains(got.Text, world.SecretText):
				s.outside++
			case strings.Contains(got.Text, text):
				s.inside++
			}
			if s.mode == "off" && s.outside > 0 {
				sent = s.each
			}
		}
		close(stop)
		world.Must(t, <-stopped)
	})
	if t.Failed() {
		t.FailNow()
	}
}
