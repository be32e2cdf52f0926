package operation

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"mcphub/e2e/ide"
	"mcphub/e2e/world"
)

// callerVariable makes this program a client in a process of its own, which can be killed.
const callerVariable = "E2E_CALLER"

// order is what such a client does: it starts a program and calls its servers, as fast as it can, until its
// standard input ends.
type order struct {
	Command string
	Args    []string
	Root    string
	Servers []string
}

// inFlight is how many calls a caller has under way.
const inFlight = 2

// callAllTheTime carries an order out. It says on standard output
//
//	adapter PID
//	answer SERVER
//	failed SERVER WHY
//	end STATUS WHAT STDERR SAID
func callAllTheTime(text string) int {
	var o order
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	_ = os.Unsetenv(callerVariable)
	c, err := ide.Start(ide.Options{Command: o.Command, Args: o.Args, Dir: o.Root, Env: os.Environ(), Roots: ide.Folders(o.Root)})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	var mu sync.Mutex
	say := func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Println(strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", "; "))
	}
	say("adapter %d", c.PID())
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	go func() {
		<-c.Exited()
		cancel()
	}()
	if _, err := c.Initialize(ctx); err != nil && ctx.Err() == nil {
		say("failed initialize %v", err)
	}
	var calls sync.WaitGroup
	for n := range inFlight {
		calls.Go(func() {
			for i := n; ctx.Err() == nil; i++ {
				server, tag := o.Servers[i%len(o.Servers)], fmt.Sprintf("%d-%d", n, i)
				r, err := c.Tool(ctx, server+"__echo", fmt.Sprintf(`{"text":%q}`, tag))
				switch {
				case ctx.Err() != nil:
				case err != nil:
					say("failed %s %v", server, err)
				case r.IsError || !strings.Contains(r.Text, tag):
					say("failed %s %s", server, r.Text)
				default:
					say("answer %s", server)
				}
			}
		})
	}
	calls.Wait()
	e := c.Close(world.StopBound)
	if e.Killed || e.Held {
		say("failed end %+v", e)
	}
	for _, v := range c.Violations() {
		say("failed protocol %s", v)
	}
	say("end %d %s", e.Code, c.Stderr())
	return 0
}

// caller is a client in a process of its own.
type caller struct {
	cmd   *exec.Cmd
	stdin io.Closer
	mark  string        // in the environment of all that is its alone
	pulse chan struct{} // an answer came, or the end
	ended chan struct{} // closed at the end of what it says
	root  string

	mu      sync.Mutex
	adapter int
	answers map[string]int // by server
	failed  []failure
	end     string // its last line; "" when it was killed
}

type failure struct {
	server, why string
	heard       time.Time
}

func (c *caller) hears(line string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	what, rest, _ := strings.Cut(line, " ")
	switch what {
	case "adapter":
		_, _ = fmt.Sscan(rest, &c.adapter)
	case "answer":
		c.answers[rest]++
	case "failed":
		server, why, _ := strings.Cut(rest, " ")
		c.failed = append(c.failed, failure{server, why, time.Now()})
	case "end":
		c.end = rest
	}
	c.beats()
}

func (c *caller) beats() {
	select {
	case c.pulse <- struct{}{}:
	default:
	}
}

// leave ends it as a client ends, and says what it said last.
func (c *caller) leave() string {
	_ = c.stdin.Close()
	<-c.ended
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.end
}

func (c *caller) hasEnded() bool {
	select {
	case <-c.ended:
		return true
	default:
		return false
	}
}

// answered returns how many calls each server has answered, and how many in all.
func (c *caller) answered() (by map[string]int, all int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	by = map[string]int{}
	for server, n := range c.answers {
		by[server] = n
		all += n
	}
	return by, all
}

// failures returns those since the last time.
func (c *caller) failures() []failure {
	c.mu.Lock()
	defer c.mu.Unlock()
	some := c.failed
	c.failed = nil
	return some
}

// goesOn waits until each of these servers has answered it again.
func (c *caller) goesOn(t testing.TB, servers ...string) {
	t.Helper()
	before, _ := c.answered()
	if !world.Within(world.WaitLimit, func() bool {
		now, _ := c.answered()
		return !slices.ContainsFunc(servers, func(s string) bool { return now[s] <= before[s] }) || c.hasEnded()
	}) || c.hasEnded() {
		now, _ := c.answered()
		t.Fatalf("a client in %s goes on no more: %v, then %v; %v; its end: %q", c.root, before, now, c.failures(), c.end)
	}
}
