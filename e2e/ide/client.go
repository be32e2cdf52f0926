package ide

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"sync"
	"time"

	"mcphub/e2e/bounds"
)

// Options says what to start and what kind of client to be.
type Options struct {
	Command      string
	Args         []string
	Dir          string
	Env          []string // the whole environment
	Capabilities string   // raw; "" declares roots with listChanged
	Protocol     string   // version asked for; "" the newest with a handshake
	Roots        Roots    // nil refuses every question as a method not found

	// Apart: a process of its own starts the server, and not the test's. What a test runs beside it descends from no client then, as
	// what a person runs in another terminal.
	Apart bool

	Answer func(method string, params []byte) *Answer // if set, answers every question but a ping

	Saw func(fromServer bool, line []byte) // if set, gets every line before it goes on, from many goroutines
}

// DefaultCapabilities is what Options.Capabilities stands for when empty: the same that a hub declares to its children.
const DefaultCapabilities = `{"roots":{"listChanged":true}}`

// Client is one process and the conversation with it.
type Client struct {
	options Options
	cmd     *exec.Cmd
	in      input
	done    sync.WaitGroup // readers, answers
	ctx     context.Context
	cancel  context.CancelFunc
	exited  chan struct{} // closed once the process has been waited for
	outEnd  chan struct{} // closed at the end of stdout
	log     transcript
	outputs []*os.File // our ends of stdout and stderr
}

// input orders what is sent: one whole line at a time.
type input struct {
	mu sync.Mutex
	w  io.WriteCloser
}

func (i *input) write(b []byte) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	_, err := i.w.Write(b)
	return err
}

// apart passes its streams and SIGHUP on to the program that it starts, and ends as it does.
const apart = `exec 3<&0; "$@" <&3 3<&- & exec 3<&-
trap 'kill -HUP $!' HUP
while :; do wait $!; s=$?; kill -0 $! 2>/dev/null || exit $s; done`

// Start starts the process. The caller must Close.
func Start(o Options) (*Client, error) {
	if o.Capabilities == "" {
		o.Capabilities = DefaultCapabilities
	}
	if o.Protocol == "" {
		o.Protocol = "2025-11-25"
	}
	if o.Apart && runtime.GOOS != "windows" {
		o.Args = append([]string{"-c", apart, "sh", o.Command}, o.Args...)
		o.Command = "sh"
	}
	cmd := exec.Command(o.Command, o.Args...)
	cmd.Dir, cmd.Env = o.Dir, o.Env
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	// Own pipes and not those of exec: Wait must return when the process has ended, even if something it left behind still
	// holds the other end.
	outR, outW, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	errR, errW, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, outR.Close(), outW.Close())
	}
	cmd.Stdout, cmd.Stderr = outW, errW
	err = cmd.Start()
	_ = outW.Close()
	_ = errW.Close()
	if err != nil {
		return nil, errors.Join(err, outR.Close(), errR.Close())
	}
	ctx, cancel := context.WithCancel(context.Background())
	c := &Client{options: o, cmd: cmd, in: input{w: in}, ctx: ctx, cancel: cancel, exited: make(chan struct{}),
		outEnd: make(chan struct{}), outputs: []*os.File{outR, errR}}
	c.log.init(o.Roots)
	c.done.Go(func() { defer close(c.outEnd); c.read(outR) })
	c.done.Go(func() { c.readStderr(errR) })
	c.done.Go(func() {
		_ = cmd.Wait() // how it ended is in ProcessState
		close(c.exited)
	})
	return c, nil
}

func (c *Client) read(r io.Reader) {
	in := bufio.NewReaderSize(r, 1<<16)
	for {
		line, err := in.ReadBytes('\n')
		if line = bytes.TrimSuffix(line, []byte("\n")); len(line) > 0 || err == nil {
			c.saw(true, line)
			m := Parse(line)
			roots, n := c.log.add(m, err != nil)
			if m.IsRequest() && m.Fault == "" {
				c.done.Go(func() { c.answer(m, roots, n) })
			}
		}
		if err != nil {
			return
		}
	}
}

func (c *Client) readStderr(r io.Reader) {
	buf := make([]byte, 1<<15)
	for {
		n, err := r.Read(buf)
		c.log.addStderr(buf[:n])
		if err != nil {
			return
		}
	}
}

// answer serves one question of the server; if it is for the roots, it is the nth and roots has the answer.
func (c *Client) answer(m Message, roots Roots, n int) {
	var a *Answer
	switch {
	case m.Method == "ping":
		a = &Answer{Result: `{}`}
	case c.options.Answer != nil:
		a = c.options.Answer(m.Method, m.Params)
	case m.Method == "roots/list":
		if roots == nil {
			a = &Answer{Error: `{"code":-32601,"message":"Method not found"}`}
		} else {
			a = roots(c.ctx, n)
		}
	default:
		a = &Answer{Error: `{"code":-32601,"message":"Method not found"}`}
	}
	switch {
	case a == nil:
	case a.Error != "":
		_ = c.Send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":%s}`, m.ID, a.Error))
	default:
		_ = c.Send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, a.Result))
	}
}

// Send writes one line: text and its end.
func (c *Client) Send(line string) error {
	c.saw(false, []byte(line))
	return c.in.write([]byte(line + "\n"))
}

func (c *Client) saw(fromServer bool, line []byte) {
	if c.options.Saw != nil {
		c.options.Saw(fromServer, line)
	}
}

// Notify sends a notification; params is raw, "" for none.
func (c *Client) Notify(method, params string) error {
	return c.Send(`{"jsonrpc":"2.0","method":` + strconv.Quote(method) + member(params) + `}`)
}

// Request sends a request under a fresh id, which it returns, and does not wait.
func (c *Client) Request(method, params string) (id string, err error) {
	id = strconv.Itoa(c.log.nextID())
	return id, c.RequestAs(id, method, params)
}

// RequestAs sends a request under the given raw id.
func (c *Client) RequestAs(id, method, params string) error {
	c.log.expect(id)
	return c.Send(`{"jsonrpc":"2.0","id":` + id + `,"method":` + strconv.Quote(method) + member(params) + `}`)
}

func member(params string) string {
	if params == "" {
		return ""
	}
	return `,"params":` + params
}

// Expect reports that an answer to this raw id will be no surprise: for requests that Send has sent as a line.
func (c *Client) Expect(id string) { c.log.expect(id) }

// Answer waits for the answer to a request.
func (c *Client) Answer(ctx context.Context, id string) (Message, error) {
	return c.Await(ctx, "the answer to "+id, func(m Message) bool { return m.IsAnswer() && string(m.ID) == id })
}

// Await waits for the first line, of all since the start, that match accepts. what names it in the error.
func (c *Client) Await(ctx context.Context, what string, match func(Message) bool) (Message, error) {
	next := 0
	for {
		ms, changed := c.log.since(next)
		for _, m := range ms {
			if match(m) {
				return m, nil
			}
		}
		next += len(ms)
		select {
		case <-changed:
		case <-c.outEnd:
			if rest, _ := c.log.since(next); len(rest) == 0 {
				return Message{}, fmt.Errorf("the server's stdout ended before %s came; stderr: %s", what, tail(c.Stderr()))
			}
		case <-ctx.Done():
			return Message{}, fmt.Errorf("%s did not come: %w; stderr: %s", what, context.Cause(ctx), tail(c.Stderr()))
		}
	}
}

// Call sends a request and waits for its answer.
func (c *Client) Call(ctx context.Context, method, params string) (Message, error) {
	id, err := c.Request(method, params)
	if err != nil {
		return Message{}, err
	}
	return c.Answer(ctx, id)
}

// StartTool sends a tools/call and does not wait; arguments is raw.
func (c *Client) StartTool(name, arguments string) (id string, err error) {
	return c.Request("tools/call", ToolParams(name, arguments))
}

// ToolParams gives the params of a tools/call; arguments is raw.
func ToolParams(name, arguments string) string {
	return `{"name":` + strconv.Quote(name) + `,"arguments":` + arguments + `}`
}

// ToolAnswer waits for the answer to a tools/call. The error says that there was none, or none that is a tool result.
func (c *Client) ToolAnswer(ctx context.Context, id string) (ToolResult, error) {
	m, err := c.Answer(ctx, id)
	if err != nil {
		return ToolResult{Message: m}, err
	}
	return toolResult(m)
}

// Tool calls a tool and waits.
func (c *Client) Tool(ctx context.Context, name, arguments string) (ToolResult, error) {
	id, err := c.StartTool(name, arguments)
	if err != nil {
		return ToolResult{}, err
	}
	return c.ToolAnswer(ctx, id)
}

// InitializeParams gives the params of initialize that suit the options.
func (c *Client) InitializeParams() string {
	return fmt.Sprintf(`{"protocolVersion":%q,"capabilities":%s,"clientInfo":{"name":"fake-ide","version":"1"}}`, c.options.Protocol, c.options.Capabilities)
}

// Initialize does the handshake and gives the answer to initialize.
func (c *Client) Initialize(ctx context.Context) (Message, error) {
	m, err := c.Call(ctx, "initialize", c.InitializeParams())
	if err != nil {
		return m, err
	}
	if e, failed := m.RPCError(); failed {
		return m, fmt.Errorf("initialize: JSON-RPC error %d: %s", e.Code, e.Message)
	}
	return m, c.Notify("notifications/initialized", "")
}

// SetRoots changes what questions from now on are answered with. It tells the server nothing: see RootsChanged.
func (c *Client) SetRoots(r Roots) { c.log.setRoots(r) }

// RootsChanged returns the server that the roots have changed.
func (c *Client) RootsChanged() error { return c.Notify("notifications/roots/list_changed", "") }

// AwaitAsked waits until the server has asked for the roots n times in all.
func (c *Client) AwaitAsked(ctx context.Context, n int) error {
	seen := 0
	_, err := c.Await(ctx, fmt.Sprintf("question %d for the roots", n), func(m Message) bool {
		if m.IsRequest() && m.Method == "roots/list" {
			seen++
		}
		return seen == n
	})
	return err
}

// Asked returns how often the server has asked for the roots.
func (c *Client) Asked() int {
	ms, _ := c.log.since(0)
	n := 0
	for _, m := range ms {
		if m.IsRequest() && m.Method == "roots/list" {
			n++
		}
	}
	return n
}

// Messages gives every line so far.
func (c *Client) Messages() []Message {
	ms, _ := c.log.since(0)
	return ms
}

// Stderr gives what the process has written to stderr so far.
func (c *Client) Stderr() string { return c.log.stderrText() }

// PID returns the process id.
func (c *Client) PID() int { return c.cmd.Process.Pid }

// CloseInput ends the process's stdin and returns at once. It takes no turn among the writers: one of them may be stuck, and
// this is what frees it.
func (c *Client) CloseInput() error { return c.in.w.Close() }

// Exited returns a channel that is closed when the process has ended.
func (c *Client) Exited() <-chan struct{} { return c.exited }

// Exit is how a process ended.
type Exit struct {
	Code   int           // -1 when a signal ended it
	Took   time.Duration // from the end of its stdin
	Killed bool          // it did not end in time
	Held   bool          // its stdout or stderr stayed open after its end: something it started still lives
}

// Close ends the process's stdin, waits for it at most that long, then kills it, and returns when no part of the Client runs.
func (c *Client) Close(atMost time.Duration) Exit {
	begun := time.Now()
	_ = c.CloseInput()
	var e Exit
	timer := time.NewTimer(atMost)
	defer timer.Stop()
	select {
	case <-c.exited:
	case <-timer.C:
		e.Killed = true
		_ = c.cmd.Process.Kill()
		<-c.exited
	}
	e.Took = time.Since(begun)
	e.Code = c.cmd.ProcessState.ExitCode()
	c.cancel()
	// What the process wrote before its end is in the pipes; only a survivor keeps them open.
	ended := make(chan struct{})
	go func() { c.done.Wait(); close(ended) }()
	patience := bounds.Patience
	if e.Killed { // who outlives it has had its time
		patience = 5 * time.Second
	}
	grace := time.NewTimer(patience)
	defer grace.Stop()
	select {
	case <-ended:
	case <-grace.C:
		e.Held = true
	}
	for _, f := range c.outputs {
		_ = f.Close()
	}
	<-ended
	return e
}

func tail(s string) string {
	const most = 2000
	if len(s) > most {
		return "..." + s[len(s)-most:]
	}
	return s
}
