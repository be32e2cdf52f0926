package childtest

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"mcphub/children/process"
)

// envScript is the variable that turns the test binary into a child.
const envScript = "MCPHUB_CHILDTEST"

// Script describes how a child behaves. The zero Script is a well-behaved
// server with the tools of [player.callTool] on one page.
type Script struct {
	Shell       bool          // it lists the tool "shell", which runs a line of sh
	StartDelay  time.Duration // before it reads anything
	Gate        string        // before it reads anything it waits until this file exists
	Exit        int           // ends at once with this status, unless 0
	Mute        bool          // never answers anything
	Garbage     int           // lines of garbage on stdout before and after each message
	FloodStderr int           // lines on stderr at the start
	FloodNotes  int           // notifications after initialized
	IgnoreTERM  bool
	IgnoreEOF   bool          // goes on living when stdin ends
	CloseOut    bool          // closes stdout after initialize and lives on
	Grandchild  bool          // starts one that holds the pipes and outlives it
	NoTools     bool          // does not declare tools
	Quiet       bool          // does not declare that it announces changes of its tools
	Pages       int           // of tools/list, 3 tools each, after the first
	LoopCursor  bool          // its second page points to itself
	FailPage    int           // this page (from 1) is answered with an error
	OddTools    bool          // entries that are no tools among them
	AskRoots    bool          // asks roots/list after initialized
	LazyRoots   bool          // asks it when told about new ones, and not before
	Library     bool          // offers prompts and resources
	Books       int           // more resources, book://N
	DeafRoots   bool          // does not ask again on list_changed
	AskDelay    time.Duration // before it asks roots/list
	ApplyDelay  time.Duration
	KeepOnEmpty bool // like the official filesystem server: an empty list changes nothing
	Hold        bool // does nothing but live, and hold what it inherited
	Dirs        bool // its arguments are its first directories

	Era       string        // "": the handshake alone; "dual", "modern"
	Discover  string        // how server/discover goes wrong: see answerDiscover
	Speaks    []string      // the versions of its handshake; nil: any. Another one is refused
	Refusal   string        // how, a raw error object
	Version   string        // its own, instead of 1.2.3
	Locks     bool          // with "dual": what comes first on a connection decides, and the other era is refused on it
	DieAtInit bool          // ends when it is sent initialize
	Delay     time.Duration // of the answer to it, while the rest goes on

	Asks  bool   // offers the tools of ask.go, and declares tasks
	Tasks bool   // declares the extension for tasks
	Defs  string // file of tool definitions, one on a line, read at each list; instead of its own tools. Those it does not know give back their arguments
	Stuck string // while this file exists when it starts, it never answers anything

	Offers  string            // more capabilities, a raw object; then it serves methods that it does not know: see Extended
	Skills  map[string]string // files by their URIs: declares and serves the extension for skills
	Replies map[string]string // raw results, by method, instead of its own
	Errors  map[string]string // raw error objects, likewise

	Withheld string // while this file exists, prompts/list is not answered; refused, or answered with no prompts, if the file says "refused" or "empty"
}

// MainIfChild turns this process into the child that its environment
// describes, and does not return then. It must come first in TestMain.
func MainIfChild() {
	if status, ok := process.RunNpmShell(os.Args[1:]); ok { // on Windows npx starts the program of a package by this one
		os.Exit(status)
	}
	raw, ok := os.LookupEnv(envScript)
	if !ok {
		return
	}
	var s Script
	if err := json.Unmarshal([]byte(raw), &s); err != nil {
		fmt.Fprintln(os.Stderr, "childtest: bad script:", err)
		os.Exit(2)
	}
	os.Exit(s.runProcess())
}

// Env returns the variable that makes the test binary follow the script.
func (s Script) Env() map[string]string {
	raw, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	// Under the race detector a program waits for a second before it exits.
	return map[string]string{envScript: string(raw), "GORACE": "atexit_sleep_ms=0"}
}

// runProcess follows the script as a process of its own.
func (s Script) runProcess() int {
	if s.IgnoreTERM {
		signal.Ignore(syscall.SIGTERM)
	}
	if s.Hold {
		signal.Ignore(syscall.SIGTERM)
		holdForEver()
	}
	if s.Exit != 0 {
		fmt.Fprintln(os.Stderr, "exiting as told")
		return s.Exit
	}
	if s.Grandchild {
		c := exec.Command(os.Args[0])
		c.Env = append(os.Environ(), envScript+`={"Hold":true}`)
		c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
		if err := c.Start(); err != nil {
			fmt.Fprintln(os.Stderr, "childtest:", err)
			return 2
		}
		fmt.Fprintln(os.Stderr, "grandchild", c.Process.Pid)
	}
	var dirs []string
	if s.Dirs {
		dirs = os.Args[1:]
	}
	code := s.Serve(os.Stdin, os.Stdout, os.Stderr, dirs)
	if s.IgnoreEOF {
		holdForEver()
	}
	return code
}

func holdForEver() {
	for {
		time.Sleep(time.Hour)
	}
}

// player is one child at play; over HTTP one request of it.
type player struct {
	*act
	w   *bufio.Writer
	wmu sync.Mutex
	out io.Writer
	wg  sync.WaitGroup
}

// act is what all requests of one child share.
type act struct {
	s       Script
	mu      sync.Mutex
	asked   map[string]chan json.RawMessage // our requests, by id
	cancel  map[string]chan struct{}        // calls under way, by raw id
	modern  map[string]bool                 // requests without a handshake, by raw id
	listens map[string]*listen              // by raw id
	aside   *player                         // over HTTP, where to report what belongs to no request
	next    int
	over    bool // stdin has ended: no one will answer
	dead    bool // it is to end at once
	dirs    []string
	extra   []string // tools that came later
	notes   []string // what it noticed, for the tool "noticed"
	stuck   bool
	locked  string // the era that came first, with Script.Locks
	deaf    bool
}

// isStuck and isDeaf are what the tool "hang" has made of it.
func (a *act) isStuck() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.stuck
}

func (a *act) isDeaf() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.deaf
}

func newAct(s Script, dirs []string) *act {
	return &act{s: s, asked: map[string]chan json.RawMessage{}, cancel: map[string]chan struct{}{}, modern: map[string]bool{}, listens: map[string]*listen{}, dirs: dirs}
}

type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

// Serve follows the script over any pair of streams until in ends, and returns
// the exit status. dirs are the directories it starts with.
func (s Script) Serve(in io.Reader, out, stderr io.Writer, dirs []string) int {
	for i := range s.FloodStderr {
		fmt.Fprintf(stderr, "\x1b[31mline %d\x1b[0m of a flood \x07\x9b\n", i)
	}
	if s.StartDelay > 0 {
		time.Sleep(s.StartDelay)
	}
	for s.Gate != "" {
		if _, err := os.Stat(s.Gate); err == nil {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	p := &player{act: newAct(s, dirs), w: bufio.NewWriter(out), out: out}
	if s.Stuck != "" {
		_, err := os.Stat(s.Stuck)
		p.stuck = err == nil
	}
	sc := bufio.NewScanner(in)
	sc.Buffer(nil, 64<<20)
	for sc.Scan() {
		var m message
		if err := json.Unmarshal(sc.Bytes(), &m); err != nil {
			continue
		}
		if p.handleMessage(m); p.dead {
			p.endAct()
			p.wg.Wait()
			return 4
		}
		if p.isDeaf() {
			if end, ok := in.(interface{ Ended() <-chan struct{} }); ok {
				<-end.Ended()
				break
			}
			holdForEver()
		}
	}
	p.endAct()
	p.wg.Wait()
	return 0
}

// endAct ends what waits for the client.
func (a *act) endAct() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.over = true
	for id, c := range a.asked {
		close(c)
		delete(a.asked, id)
	}
	for id, c := range a.cancel {
		close(c)
		delete(a.cancel, id)
	}
	for id, l := range a.listens {
		close(l.over)
		delete(a.listens, id)
	}
}

// ownPlayer returns the peer to which a child sends what belongs to no request.
func (p *player) ownPlayer() *player {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.aside != nil {
		return p.aside
	}
	return p
}

func (p *player) sendLine(format string, args ...any) {
	p.wmu.Lock()
	defer p.wmu.Unlock()
	for i := range p.s.Garbage {
		fmt.Fprintf(p.w, "[%d] Server listening {not json\n", i)
	}
	fmt.Fprintf(p.w, format+"\n", args...)
	_ = p.w.Flush()
}

func (p *player) sendResult(id json.RawMessage, result any) {
	raw, err := json.Marshal(result)
	if err != nil {
		panic(err)
	}
	p.answerRaw(id, string(raw))
}

func (p *player) sendError(id json.RawMessage, code int, text string) {
	p.sendLine(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%q}}`, id, code, text)
}

func (p *player) handleMessage(m message) {
	if p.s.Mute || p.isStuck() {
		return
	}
	if p.s.Era != "" && p.handleStateless(m) || p.s.Discover != "" && m.Method == "server/discover" && p.answerDiscover(m) || p.handleExtended(m) {
		return
	}
	switch m.Method {
	case "":
		p.mu.Lock()
		c := p.asked[string(m.ID)]
		delete(p.asked, string(m.ID))
		p.mu.Unlock()
		if c != nil {
			if m.Result == nil && p.s.Asks {
				m.Result = json.RawMessage(`{"error":` + string(m.Error) + `}`)
			}
			c <- m.Result
		}
	case "initialize":
		caps := p.listCapabilities()
		if p.s.Asks {
			p.mu.Lock()
			p.notes = append(p.notes, "initialize "+string(m.Params))
			p.mu.Unlock()
			caps["tasks"] = json.RawMessage(`{"list":{},"cancel":{},"requests":{"tools":{"call":{}}}}`)
		}
		var params struct{ ProtocolVersion string }
		_ = json.Unmarshal(m.Params, &params)
		if p.s.Speaks != nil && !slices.Contains(p.s.Speaks, params.ProtocolVersion) {
			p.sendLine(`{"jsonrpc":"2.0","id":%s,"error":%s}`, m.ID, p.s.Refusal)
			return
		}
		p.sendResult(m.ID, map[string]any{
			"protocolVersion": params.ProtocolVersion, "capabilities": caps,
			"serverInfo": map[string]any{"name": "scripted", "version": cmp.Or(p.s.Version, "1.2.3")}, "instructions": "Be kind.",
		})
		if p.s.CloseOut {
			if c, ok := p.out.(io.Closer); ok {
				_ = c.Close()
			}
		}
	case "notifications/initialized":
		for i := range p.s.FloodNotes {
			p.sendLine(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":%d}}`, i)
		}
		if p.s.AskRoots {
			p.wg.Go(p.askRoots)
		}
	case "notifications/roots/list_changed":
		p.mu.Lock()
		p.notes = append(p.notes, "roots changed")
		p.mu.Unlock()
		if (p.s.AskRoots || p.s.LazyRoots) && !p.s.DeafRoots {
			p.wg.Go(p.askRoots)
		}
	case "notifications/cancelled":
		var params struct{ RequestID json.RawMessage }
		_ = json.Unmarshal(m.Params, &params)
		p.mu.Lock()
		if c := p.cancel[string(params.RequestID)]; c != nil {
			close(c)
			delete(p.cancel, string(params.RequestID))
		}
		p.notes = append(p.notes, "cancelled")
		if p.s.Asks {
			p.notes = append(p.notes, "notifications/cancelled "+string(m.Params))
		}
		p.mu.Unlock()
	case "tools/list":
		p.answerList(m)
	case "tools/call":
		if p.freezeReading(m) {
			return
		}
		c := make(chan struct{})
		p.mu.Lock()
		p.cancel[string(m.ID)] = c
		p.mu.Unlock()
		p.wg.Go(func() { p.callTool(m, c) })
	case "ping":
		p.sendResult(m.ID, struct{}{})
	default:
		if p.s.Asks && p.handleAsks(m) {
			return
		}
		if p.s.Library && p.handleLibrary(m) {
			return
		}
		if m.ID != nil {
			p.sendError(m.ID, -32601, "no such method")
		}
	}
}

func (p *player) listCapabilities() map[string]any {
	caps := map[string]any{"logging": map[string]any{}}
	if !p.s.NoTools {
		caps["tools"] = map[string]any{"listChanged": true}
	}
	if p.s.Quiet && !p.s.NoTools {
		caps["tools"] = struct{}{}
	}
	if p.s.Library {
		caps["prompts"], caps["completions"] = struct{}{}, struct{}{}
		caps["resources"] = map[string]any{"subscribe": true, "listChanged": true}
	}
	if p.s.Tasks {
		caps["extensions"] = map[string]any{"io.modelcontextprotocol/tasks": struct{}{}}
	}
	p.addCapabilities(caps)
	return caps
}

// requestClient asks the client something; nil when stdin ended.
func (p *player) requestClient(method string) json.RawMessage {
	c := make(chan json.RawMessage, 1)
	p.mu.Lock()
	if p.over {
		p.mu.Unlock()
		return nil
	}
	p.next++
	id := fmt.Sprintf(`"q%d"`, p.next)
	p.asked[id] = c
	p.mu.Unlock()
	p.sendLine(`{"jsonrpc":"2.0","id":%s,"method":%q}`, id, method)
	return <-c
}

// askRoots asks for the roots and applies them, as the official filesystem
// server does: later, and not at all when there are none.
func (p *player) askRoots() {
	if p.s.AskDelay > 0 {
		time.Sleep(p.s.AskDelay)
	}
	raw := p.requestClient("roots/list")
	var r struct{ Roots []struct{ URI string } }
	if raw == nil || json.Unmarshal(raw, &r) != nil {
		return
	}
	if p.s.ApplyDelay > 0 {
		time.Sleep(p.s.ApplyDelay)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(r.Roots) == 0 && p.s.KeepOnEmpty {
		return
	}
	p.dirs = nil
	for _, root := range r.Roots {
		p.dirs = append(p.dirs, filepath.FromSlash(strings.TrimPrefix(root.URI, "file://")))
	}
}

func (p *player) answerList(m message) {
	var params struct{ Cursor string }
	_ = json.Unmarshal(m.Params, &params)
	page := 1
	if params.Cursor != "" {
		_, _ = fmt.Sscanf(params.Cursor, "page-%d", &page)
	}
	if page == p.s.FailPage {
		p.sendError(m.ID, -32000, "this page is lost")
		return
	}
	var tools []any
	if page == 1 && p.s.Defs != "" {
		raw, err := os.ReadFile(p.s.Defs)
		if err != nil {
			p.sendError(m.ID, -32000, err.Error())
			return
		}
		lines := strings.Split(strings.TrimSpace(string(raw)), "\n")
		p.answerRaw(m.ID, `{"tools":[`+strings.Join(lines, ",")+`]}`) // byte for byte
		return
	} else if page == 1 {
		p.mu.Lock()
		names := append([]string{"echo", "allowed", "roots", "sleep", "exit", "progress", "change", "broken", "env", "noticed"}, p.extra...)
		if p.s.Shell {
			names = append(names, "shell")
		}
		p.mu.Unlock()
		if p.s.Asks {
			names = append(names, askTools...)
		}
		if p.s.Era != "" {
			names = append(names, modernTools...)
		}
		for _, n := range names {
			tools = append(tools, describeTool(n))
		}
		if p.s.OddTools {
			tools = append(tools, nil, 7, map[string]any{"name": 5}, map[string]any{"name": "odd", "inputSchema": map[string]any{"type": []string{"object", "null"}, "anyOf": []any{true}}})
		}
	} else {
		for i := range 3 {
			tools = append(tools, describeTool(fmt.Sprintf("page%d_%d", page, i)))
		}
	}
	result := map[string]any{"tools": tools}
	switch {
	case p.s.LoopCursor && page == 2:
		result["nextCursor"] = "page-2"
	case page <= p.s.Pages:
		result["nextCursor"] = fmt.Sprintf("page-%d", page+1)
	}
	p.sendResult(m.ID, result)
}
