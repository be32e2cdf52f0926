package door

import (
	"bytes"
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/sys/unix"

	"mcphub/cmd/mcphub/internal/attach"
	"mcphub/internal/caller"
	"mcphub/internal/kept"
	"mcphub/internal/proctree"
)

const (
	// answerTime is how long an adapter may take for all that it says before it is attached. It waits a
	// little less for each answer.
	answerTime = 2 * time.Second
	// refuseTime is how long it may take to read why it was refused.
	refuseTime = 100 * time.Millisecond
	// maxWaiting is how many adapters may be at that at a time.
	maxWaiting = 64
	// maxAttached is how many may be attached at a time: each may have the hub hold as much as a client of its own
	// hub may, and seven descriptors.
	maxAttached = 256
	// maxRefused is how many refusals a minute are put in the log.
	maxRefused = 20
)

// A Door is the socket of a hub that sessions attach to.
type Door struct {
	cfg    Config
	secret string
	l      *net.UnixListener
	who    func(*net.UnixConn, caller.Want) error

	refused zerolog.Logger // who is refused may come again at once, and fills no disk by that
	closing sync.Once

	mu       sync.Mutex
	entering map[*net.UnixConn]bool // the connections of adapters that are not attached yet
	attached int
	closed   bool
	since    *time.Timer // ends Run; it runs while no one is attached
}

// New opens the socket, instead of one that is left of a hub that has ended. The caller holds
// Endpoint.Lock.
func New(cfg Config) (*Door, error) {
	path := cfg.Endpoint.Socket(cfg.Dir)
	if attach.IsListening(path) {
		return nil, fmt.Errorf("another hub listens at %s", path)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	secret, err := cfg.Endpoint.MakeSecret(cfg.Dir)
	if err != nil {
		return nil, fmt.Errorf("the secret of the shared hub: %w", err)
	}
	l, err := listen(path)
	if err != nil {
		return nil, fmt.Errorf("the socket of the shared hub: %w", err)
	}
	refused := cfg.Log.Sample(&zerolog.BurstSampler{Burst: maxRefused, Period: time.Minute})
	return &Door{cfg: cfg, secret: secret, l: l, who: caller.Peer, refused: refused, entering: map[*net.UnixConn]bool{}}, nil
}

// Run lets adapters in until ctx ends or no one has been attached for Config.Idle.
func (d *Door) Run(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	d.since = time.AfterFunc(d.cfg.Idle, func() {
		d.mu.Lock()
		idle := d.attached == 0
		d.closed = d.closed || idle
		d.mu.Unlock()
		if idle {
			d.closeDoor()
		}
	})
	stop := context.AfterFunc(ctx, d.closeDoor)
	defer stop()
	var guests sync.WaitGroup
	waiting := make(chan struct{}, maxWaiting)
	for {
		c, err := d.l.AcceptUnix()
		if errors.Is(err, net.ErrClosed) {
			break
		}
		if err != nil { // no descriptors are left, say: those who wait are served later
			d.cfg.Log.Warn().Err(err).Msg("a session could not attach")
			select {
			case <-time.After(100 * time.Millisecond):
			case <-ctx.Done():
			}
			continue
		}
		waiting <- struct{}{}
		guests.Go(func() { d.serveGuest(ctx, c, func() { <-waiting }) })
	}
	d.since.Stop()
	guests.Wait()
}

// closeDoor lets no one in any more. The secret goes first: once the socket is gone, another hub may have one at its place.
// An adapter that is not attached yet finds at once that no one is here, and starts the next hub.
func (d *Door) closeDoor() {
	d.closing.Do(func() {
		d.mu.Lock()
		d.closed = true
		entering := slices.Collect(maps.Keys(d.entering)) // none is added once closed is set
		d.mu.Unlock()
		d.cfg.Endpoint.RemoveSecret(d.cfg.Dir)
		_ = d.l.Close()
		for _, c := range entering {
			_ = c.Close()
		}
	})
}

// noteEntering notes the connection of an adapter that is not attached yet. It returns false if the Door is closing.
func (d *Door) noteEntering(c *net.UnixConn) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.closed {
		d.entering[c] = true
	}
	return !d.closed
}

func (d *Door) isClosed() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.closed
}

// forgetEntering forgets a connection whose adapter is attached or refused.
func (d *Door) forgetEntering(c *net.UnixConn) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.entering, c)
}

// enterGuest counts a Guest that is about to be attached. The error is errHungUp once the Door is closing.
func (d *Door) enterGuest(c *net.UnixConn) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.entering, c)
	switch {
	case d.closed:
		return errHungUp
	case d.attached >= maxAttached:
		return fmt.Errorf("%d clients are attached, which is as many as it serves", d.attached)
	}
	d.attached++
	d.since.Stop()
	return nil
}

func (d *Door) leaveGuest() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.attached--; d.attached == 0 {
		d.since.Reset(d.cfg.Idle)
	}
}

// serveGuest is one adapter, from its connection to its end. waited is called once it waits for nothing.
func (d *Door) serveGuest(ctx context.Context, c *net.UnixConn, waited func()) {
	defer c.Close()
	a, err := d.admitAdapter(ctx, c)
	waited()
	if err != nil {
		if errors.Is(err, errHungUp) || errors.Is(err, net.ErrClosed) && d.isClosed() { // who only looks whether a hub is here, or comes too late
			return
		}
		if !errors.Is(err, errOff) {
			d.refused.Warn().Err(err).Msg("a session may not attach")
		}
		_ = c.SetDeadline(time.Now().Add(refuseTime)) // the former may be over
		_, _ = c.Write([]byte(attach.Refuse + strings.ReplaceAll(err.Error(), "\n", "; ") + "\n"))
		return
	}
	defer d.leaveGuest()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	_ = c.SetDeadline(time.Time{})
	var heard sync.WaitGroup
	heard.Go(func() {
		defer cancel(ErrLeft)
		for {
			line, err := a.in.readLine()
			a.in.dropRights() // no one has asked for more descriptors
			if err != nil {
				return
			}
			if line == attach.HangUp && d.cfg.HangUp != nil {
				d.cfg.HangUp()
			}
		}
	})
	if status := a.serve(ctx); status != Left {
		_, _ = fmt.Fprintf(c, "%s%d\n", attach.End, status)
	}
	_ = c.Close()
	heard.Wait()
}

// admitted is an adapter that is attached, and counted.
type admitted struct {
	serve ServeFunc
	in    *input // what it says from now on
}

// admitAdapter finds out who an adapter is, takes its descriptors, and waits for its last word.
func (d *Door) admitAdapter(ctx context.Context, c *net.UnixConn) (_ *admitted, err error) {
	if !d.noteEntering(c) {
		return nil, errHungUp
	}
	defer d.forgetEntering(c)
	if err := c.SetDeadline(time.Now().Add(answerTime)); err != nil {
		return nil, err
	}
	cred, err := caller.Credentials(c)
	if err != nil {
		return nil, fmt.Errorf("who attaches cannot be told: %w", err)
	}
	if int(cred.Uid) != os.Geteuid() {
		return nil, fmt.Errorf("the process that attaches is user %d's and not user %d's", cred.Uid, os.Geteuid())
	}
	in := &input{c: c, from: cred.Pid}
	defer func() {
		if err != nil {
			in.dropRights()
		}
	}()
	g := &Guest{Adapter: processOf(int(cred.Pid))}
	if err := d.who(c, caller.Want{Alike: true}); err != nil {
		_ = c.SetDeadline(time.Now().Add(refuseTime)) // a server waits in no one's place
		_, _ = in.readLine()                          // who is refused before he has spoken cannot read why
		return nil, err
	}
	hello, err := in.readLine()
	if err != nil {
		return nil, err
	}
	if subtle.ConstantTimeCompare([]byte(hello), []byte(attach.Hello+d.secret)) != 1 {
		return nil, errors.New("it does not know the secret of this hub")
	}
	if !d.cfg.Open() {
		return nil, errOff
	}
	if _, err := c.Write([]byte(attach.Ready + "\n")); err != nil {
		return nil, err
	}
	head, err := in.readBytes(4)
	if err != nil {
		return nil, err
	}
	n, err := attach.Length(head)
	if err != nil {
		return nil, err
	}
	body, err := in.readBytes(n)
	if err != nil {
		return nil, err
	}
	if g.Surroundings, err = attach.Decode(body); err != nil {
		return nil, err
	}
	if g.Client, err = parentOf(g.Adapter.PID); err != nil {
		return nil, err
	}
	switch len(in.fds) {
	case 3:
	case maxHanded:
		g.Kept = (*kept.Files)(in.fds[3:])
	default:
		return nil, fmt.Errorf("%d descriptors were handed over, and not three or %d", len(in.fds), maxHanded)
	}
	g.In, g.Out, g.Err = in.fds[0], in.fds[1], in.fds[2]
	if err := d.enterGuest(c); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			d.leaveGuest()
		}
	}()
	serve, err := d.cfg.Prepare(ctx, g)
	if err != nil {
		return nil, err
	}
	if _, err := c.Write([]byte(attach.OK + "\n")); err != nil {
		return nil, err
	}
	if err := c.SetDeadline(time.Now().Add(answerTime)); err != nil { // the last word is said at once, and no one takes it back
		return nil, err
	}
	word, err := in.readLine()
	if err == nil && word != attach.Go {
		err = errors.New("it has not said the last word")
	}
	if err == nil && processOf(g.Adapter.PID) != g.Adapter {
		err = errors.New("the process that has connected has ended, and another has its number")
	}
	if err != nil {
		return nil, err
	}
	in.fds = nil // they are the session's now
	return &admitted{serve, in}, nil
}

func processOf(pid int) caller.Process { return caller.Process{PID: pid, Start: caller.Started(pid)} }

// parentOf returns the process that has started another.
func parentOf(pid int) (caller.Process, error) {
	p, err := proctree.Find(pid)
	if err != nil {
		return caller.Process{}, fmt.Errorf("who started it cannot be told: %w", err)
	}
	return processOf(p.Parent), nil
}

// listen opens the socket at a path. The kernel says about each message who sent it: a connection inherits that when it is made, so the
// socket must have it before it is bound.
func listen(path string) (*net.UnixListener, error) {
	nameSenders := func(_, _ string, raw syscall.RawConn) error {
		var failed error
		err := raw.Control(func(fd uintptr) { failed = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_PASSCRED, 1) })
		return errors.Join(err, failed)
	}
	l, err := (&net.ListenConfig{Control: nameSenders}).Listen(context.Background(), "unix", path)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l.(*net.UnixListener), nil
}

// input reads what one process sends, and the descriptors with it.
type input struct {
	c    *net.UnixConn
	from int32
	rest []byte
	fds  []int
}

// readLine reads up to the next line end.
func (in *input) readLine() (string, error) {
	for {
		if line, rest, whole := bytes.Cut(in.rest, []byte{'\n'}); whole {
			in.rest = bytes.Clone(rest)
			return string(line), nil
		}
		if len(in.rest) > attach.LongestLine {
			return "", errors.New("it says too much")
		}
		if err := in.readMessage(512); err != nil {
			return "", err
		}
	}
}

// readBytes reads n bytes.
func (in *input) readBytes(n int) ([]byte, error) {
	for len(in.rest) < n {
		if err := in.readMessage(64 << 10); err != nil {
			return nil, err
		}
	}
	b := in.rest[:n]
	in.rest = bytes.Clone(in.rest[n:])
	return b, nil
}

// maxHanded is how many descriptors an adapter hands over: its streams, and what keeps the state of the session.
const maxHanded = 6

// maxFDs is how many descriptors one message can carry (SCM_MAX_FD).
const maxFDs = 253

// errHungUp is told no one.
var errHungUp = errors.New("it has hung up")

// errOff is told an adapter as nothing.
var errOff = errors.New("")

// readMessage reads one message. A message of another process than the one that has connected is
// refused: it was passed the connection.
func (in *input) readMessage(size int) error {
	b, oob := make([]byte, size), make([]byte, unix.CmsgSpace(unix.SizeofUcred)+unix.CmsgSpace(maxFDs*4))
	n, used, flags, _, err := in.c.ReadMsgUnix(b, oob)
	if err != nil {
		return err
	}
	if n == 0 {
		return errHungUp
	}
	all, err := unix.ParseSocketControlMessage(oob[:used])
	if err != nil {
		return err
	}
	sender := int32(-1)
	for _, m := range all {
		switch {
		case m.Header.Level == unix.SOL_SOCKET && m.Header.Type == unix.SCM_CREDENTIALS:
			cred, err := unix.ParseUnixCredentials(&m)
			if err != nil {
				return err
			}
			sender = cred.Pid
		case m.Header.Level == unix.SOL_SOCKET && m.Header.Type == unix.SCM_RIGHTS:
			fds, err := unix.ParseUnixRights(&m)
			if err != nil {
				return err
			}
			in.fds = append(in.fds, fds...)
		}
	}
	switch {
	case flags&unix.MSG_CTRUNC != 0:
		return errors.New("its descriptors did not arrive; this hub has too many open")
	case sender != in.from:
		return fmt.Errorf("process %d speaks on the connection of process %d", sender, in.from)
	case len(in.fds) > maxHanded:
		return fmt.Errorf("more than %d descriptors were handed over", maxHanded)
	}
	in.rest = append(in.rest, b[:n]...)
	return nil
}

// dropRights closes what was handed over and is not taken.
func (in *input) dropRights() {
	for _, fd := range in.fds {
		_ = unix.Close(fd)
	}
	in.fds = nil
}
