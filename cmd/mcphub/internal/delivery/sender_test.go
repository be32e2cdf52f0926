package delivery

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"maps"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"mcphub/e2e/bounds"
	"mcphub/e2e/recordtest"
	"mcphub/e2e/seeds"
	"mcphub/e2e/trusttest"
	"mcphub/hub/audit"
	"mcphub/hub/audit/trail"
)

// collector takes messages, and closes a connection after some of them.
type collector struct {
	t     *testing.T
	ln    net.Listener
	close func() int // how many messages until it closes; 0: never
	tls   *tls.Config

	mu    sync.Mutex
	lines map[string]map[uint64]string // by log and number
	last  map[string]uint64            // of each log, on this connection
	got   int
	conns int
}

func collect(t *testing.T, after func() int, cfg *tls.Config) *collector {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &collector{t: t, ln: ln, close: after, tls: cfg, lines: map[string]map[uint64]string{}}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			if cfg != nil {
				conn = tls.Server(conn, cfg)
			}
			c.take(conn)
		}
	})
	t.Cleanup(func() { _ = ln.Close(); all.Wait() })
	return c
}

var message = regexp.MustCompile(`^<11[01]>1 \S+Z \S+ mcphub - [a-z]+ \[mcphub@32473 log="([0-9a-f-]{36})" n="(\d+)"\] $`)

func (c *collector) take(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	in := bufio.NewReader(conn)
	c.mu.Lock()
	c.conns++
	c.last = map[string]uint64{}
	c.mu.Unlock()
	for left := c.close(); ; {
		size, err := in.ReadString(' ')
		if err != nil {
			return
		}
		n, err := strconv.Atoi(strings.TrimSuffix(size, " "))
		if err != nil {
			c.t.Errorf("the length is %q", size)
			return
		}
		b := make([]byte, n)
		if _, err := io.ReadFull(in, b); err != nil {
			return
		}
		at := bytes.IndexByte(b, '{')
		m := message.FindStringSubmatch(string(b[:at]))
		if m == nil {
			c.t.Errorf("no message: %s", b)
			return
		}
		number, _ := strconv.ParseUint(m[2], 10, 64)
		c.mu.Lock()
		if c.got++; c.lines[m[1]] == nil {
			c.lines[m[1]] = map[uint64]string{}
		}
		if had, doubled := c.lines[m[1]][number]; doubled && had != string(b[at:]) {
			c.t.Errorf("line %d was sent in two forms", number)
		}
		if number <= c.last[m[1]] {
			c.t.Errorf("line %d came after %d", number, c.last[m[1]])
		}
		c.lines[m[1]][number], c.last[m[1]] = string(b[at:]), number
		c.mu.Unlock()
		if left--; left == 0 {
			return
		}
	}
}

// count returns how many different lines have come.
func (c *collector) count() (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, all := range c.lines {
		n += len(all)
	}
	return n
}

// received returns how many lines have come, doubled ones too, and on how many connections.
func (c *collector) received() (lines, conns int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.got, c.conns
}

// filesOf returns the lines of a folder's logs.
func filesOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	files, err := audit.LogFiles(dir)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for id, paths := range files {
		for _, path := range paths {
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			all[id] += string(b)
		}
	}
	return all
}

func (c *collector) wants(dir string) {
	c.t.Helper()
	got, n := map[string]string{}, c.count()
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, lines := range c.lines {
		for _, n := range slices.Sorted(maps.Keys(lines)) {
			got[id] += lines[n] + "\n"
		}
	}
	if want := filesOf(c.t, dir); !maps.Equal(got, want) {
		c.t.Errorf("the collector has not the logs: %d of %d, %d lines", len(got), len(want), n)
	}
}

// run runs a sender until so many lines have come, and ends it.
func (c *collector) run(dir string, to Syslog, lines int) {
	c.t.Helper()
	ctx, stop := context.WithTimeout(c.t.Context(), bounds.Patience)
	defer stop()
	done := make(chan struct{})
	go func() {
		defer close(done)
		(&Sender{Dir: dir, To: to, Log: zerolog.Nop(), wait: time.Millisecond}).Run(ctx)
	}()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for c.count() < lines && ctx.Err() == nil {
		<-tick.C
	}
	stop()
	<-done
	if c.count() < lines {
		c.t.Errorf("%d lines of %d have come", c.count(), lines)
	}
}

// TestTheCollectorHasTheChain: whatever connections break, in the end the collector has each line as it is in the files, rotated ones among them.
// A sender that begins later sends only what is new.
func TestTheCollectorHasTheChain(t *testing.T) {
	t.Parallel()
	dir, rng := t.TempDir(), seeds.Rand(t)
	recordtest.Write(t, dir, recordtest.Shape{Lines: 3000, PerFile: 500, Began: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), Every: time.Second, Principals: 3, Sessions: 5})
	breaks := 2
	c := collect(t, func() int {
		if breaks--; breaks < 0 {
			return 0
		}
		return 1 + rng.IntN(2500)
	}, nil)
	o := Syslog{Address: "tcp://" + c.ln.Addr().String()}
	c.run(dir, o, 3000)
	c.wants(dir)
	before, conns := c.received()
	if conns != 3 {
		t.Errorf("%d connections", conns)
	}
	l, err := audit.Open(audit.Options{Dir: dir, Program: "test"})
	if err != nil {
		t.Fatal(err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if err := l.Run(ended); err != nil {
		t.Fatal(err)
	}
	c.run(dir, o, 3002)
	c.wants(dir)
	if r, err := trail.Verify(dir); err != nil || !r.IsWhole() { // beside the files of the sender
		t.Errorf("%+v: %v", r, err)
	}
	if now, _ := c.received(); now != before+2 {
		t.Errorf("%d lines were sent for 2", now-before)
	}
}

// TestTLS: a collector is asked for its certificate.
func TestTLS(t *testing.T) {
	t.Parallel()
	authority, other := trusttest.New(t), trusttest.New(t)
	cert := authority.Issue("127.0.0.1")
	dir := t.TempDir()
	recordtest.Write(t, dir, recordtest.Shape{Lines: 20, Began: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), Every: time.Second, Principals: 1, Sessions: 1})
	c := collect(t, func() int { return 0 }, &tls.Config{Certificates: []tls.Certificate{cert}})
	for name, tc := range map[string]struct {
		by   *trusttest.Authority
		want bool
	}{"another": {other, false}, "its own": {authority, true}} {
		ca := filepath.Join(t.TempDir(), "ca.pem")
		if err := os.WriteFile(ca, tc.by.PEM(), 0o600); err != nil {
			t.Fatal(err)
		}
		to := Syslog{Address: "tls://" + c.ln.Addr().String(), CA: ca}
		conn, err := to.dial(t.Context())
		if (err == nil) != tc.want {
			t.Errorf("%s authority: %v", name, err)
		}
		if err == nil {
			_ = conn.Close()
			c.run(dir, to, 20)
			c.wants(dir)
		}
	}
}
