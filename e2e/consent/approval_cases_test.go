//lint:file-ignore SA1019 roots are what is tested; the SDKs call them deprecated since 2026-07-28

package consent

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	gosdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"mcphub/e2e/ide"
	"mcphub/e2e/world"
)

// An askedClient is a real client with a person behind it, the hub, and the official filesystem server.
type askedClient struct {
	*world.World
	s       *gosdk.ClientSession
	leave   func()
	mu      sync.Mutex
	asked   []string
	entered chan struct{} // one for each question
	does    func(ctx context.Context) *gosdk.ElicitResult
}

func newAskedClient(w *world.World, n world.Node, era world.Era, way, timeout string) *askedClient {
	w.T.Helper()
	policy := approvalPolicy(w)
	policy["approval"] = obj{"timeout": timeout}
	config := w.Config(obj{"fs": w.Wrapped("fs", "mcp-server-filesystem", []string{n.Program, n.Script("mcp-server-filesystem")}, nil)}, policy)
	p := &askedClient{World: w, entered: make(chan struct{}, 100)}
	p.answers(declining)
	options := &gosdk.ClientOptions{ElicitationHandler: func(ctx context.Context, r *gosdk.ElicitRequest) (*gosdk.ElicitResult, error) {
		p.mu.Lock()
		p.asked = append(p.asked, r.Params.Message)
		does := p.does
		p.mu.Unlock()
		p.entered <- struct{}{}
		return does(ctx), nil
	}}
	if era.Name == "modern" { // this client fails at a question without params, as roots/list is one
		options.Capabilities = &gosdk.ClientCapabilities{Elicitation: &gosdk.ElicitationCapabilities{Form: &gosdk.FormElicitationCapabilities{}}}
	}
	client := gosdk.NewClient(&gosdk.Implementation{Name: "go-sdk", Version: "1"}, options)
	client.AddRoots(&gosdk.Root{URI: ide.FileURI(w.Project)})
	s, err := client.Connect(context.Background(), approvalWay(w, way, config), &gosdk.ClientSessionOptions{ProtocolVersion: era.Version})
	world.Must(w.T, err)
	p.s = s
	p.leave = sync.OnceFunc(func() { _ = s.Close() })
	w.T.Cleanup(p.leave)
	return p
}

func (p *askedClient) behaves(does func(ctx context.Context) *gosdk.ElicitResult) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.does = does
}

func (p *askedClient) answers(r *gosdk.ElicitResult) {
	p.behaves(func(context.Context) *gosdk.ElicitResult { return r })
}

// waits lets the person say nothing, until let go.
func (p *askedClient) waits(says *gosdk.ElicitResult) (letGo func()) {
	ch := make(chan struct{})
	p.behaves(func(ctx context.Context) *gosdk.ElicitResult {
		select {
		case <-ch:
		case <-ctx.Done():
		}
		return says
	})
	return sync.OnceFunc(func() { close(ch) })
}

func (p *askedClient) questions() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.asked)
}

type readAnswer struct {
	text string
	bad  bool
	err  error
}

// begin reads a file and does not wait for it.
func (p *askedClient) begin(ctx context.Context, path string) <-chan readAnswer {
	out := make(chan readAnswer, 1)
	go func() {
		r, err := p.s.CallTool(ctx, &gosdk.CallToolParams{Name: "fs__read_text_file", Arguments: obj{"path": path}})
		o := readAnswer{err: err}
		if err == nil {
			o.bad = r.IsError
			for _, c := range r.Content {
				if text, ok := c.(*gosdk.TextContent); ok {
					o.text += text.Text
				}
			}
		}
		out <- o
	}()
	return out
}

func (p *askedClient) read(path string, denied bool, want string) {
	p.T.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 4*world.WaitLimit)
	defer cancel()
	o := <-p.begin(ctx, path)
	if o.err != nil || o.bad != denied || !strings.Contains(o.text, want) {
		p.T.Errorf("%s: denied %v, want %v and %q in: %s (%v)", path, o.bad, denied, want, o.text, o.err)
	}
}

// unseen wants the server never to have been sent a name.
func (p *askedClient) unseen(name string) {
	p.T.Helper()
	if seen := p.Recorded("fs"); strings.Contains(seen, name) {
		p.T.Errorf("the server was sent %s:\n%s", name, seen)
	}
}

type granted struct {
	Grants []struct {
		URI      string `json:"uri"`
		File     bool   `json:"file"`
		Served   bool   `json:"served"`
		Lifetime string `json:"lifetime"`
	} `json:"grants"`
	Questions []struct {
		Calls int `json:"calls"`
	} `json:"questions"`
}

// until waits for what get-roots shows.
func (p *askedClient) until(what string, ok func(c granted) bool) {
	p.T.Helper()
	for end := time.Now().Add(world.WaitLimit); ; {
		r, err := p.s.CallTool(context.Background(), &gosdk.CallToolParams{Name: "get-roots", Arguments: obj{}})
		world.Must(p.T, err)
		raw, err := json.Marshal(r.StructuredContent)
		world.Must(p.T, err)
		var c granted
		world.Decode(p.T, raw, &c)
		if ok(c) {
			return
		}
		if time.Now().After(end) {
			p.T.Fatalf("never %s: %s", what, raw)
		}
	}
}

func eachApprovalWay(t *testing.T, test func(t *testing.T, n world.Node, w *world.World, era world.Era, way string)) {
	n := world.RequireNode(t)
	for _, era := range world.Eras {
		for _, way := range []string{"stdio", "http"} {
			t.Run(era.Name+" "+way, func(t *testing.T) {
				t.Parallel()
				w := world.New(t)
				for _, name := range []string{"far/one/1.txt", "far/two/2.txt", "far/three/3.txt", "far/four/4.txt", "kept/k.txt", "home/notes.txt", "home/beside.txt"} {
					w.Write(name, "text of "+name)
				}
				test(t, n, w, era, way)
			})
		}
	}
}

// TestApprovalThatDoesNotCome: nobody answers, the call is cancelled, the client goes. The server never sees such a call, and
// the next question is asked.
func TestApprovalThatDoesNotCome(t *testing.T) {
	t.Parallel()
	eachApprovalWay(t, func(t *testing.T, n world.Node, w *world.World, era world.Era, way string) {
		p := newAskedClient(w, n, era, way, "3s")
		letGo := p.waits(allowing)
		answer := p.begin(t.Context(), w.Path("far", "one", "1.txt"))
		<-p.entered
		p.until("shown as waiting no more", func(c granted) bool { return len(c.Questions) == 0 })
		letGo() // too late
		if o := <-answer; o.err != nil || !o.bad || !strings.Contains(o.text, "nobody has answered in time") {
			t.Errorf("unanswered: %+v", o)
		}

		letGo = p.waits(allowing)
		ctx, cancel := context.WithCancel(t.Context())
		answer = p.begin(ctx, w.Path("far", "two", "2.txt"))
		<-p.entered
		cancel()
		if o := <-answer; o.err == nil {
			t.Errorf("cancelled: %+v", o)
		}
		p.until("withdrawn", func(c granted) bool { return len(c.Questions) == 0 && len(c.Grants) == 0 })
		letGo() // too late again: over HTTP a yes may overtake the cancelling
		p.answers(allowing)
		p.read(w.Path("far", "three", "3.txt"), false, "text of far/three/3.txt") // the control

		letGo = p.waits(allowing)
		ctx, cancel = context.WithCancel(t.Context())
		answer = p.begin(ctx, w.Path("far", "four", "4.txt"))
		for p.questions() < 4 {
			<-p.entered
		}
		p.leave()
		cancel()
		<-answer
		letGo()
		for _, name := range []string{"1.txt", "2.txt", "4.txt"} {
			p.unseen(name)
		}
	})
}

// TestApprovalOfExactlyOneThing: equal calls share an answer; what no answer could open is denied; what a link leads
// elsewhere by the time of the answer is denied.
func TestApprovalOfExactlyOneThing(t *testing.T) {
	t.Parallel()
	eachApprovalWay(t, func(t *testing.T, n world.Node, w *world.World, era world.Era, way string) {
		p := newAskedClient(w, n, era, way, "60s")
		once := era.Name == "modern" && way == "http" // each request stands alone there
		letGo := p.waits(allowing)
		one, same := p.begin(t.Context(), w.Path("far", "one", "1.txt")), p.begin(t.Context(), w.Path("far", "one", "1.txt"))
		<-p.entered
		p.until("both waiting", func(c granted) bool {
			return len(c.Questions) == 1 && c.Questions[0].Calls == 2 || once && len(c.Questions) == 2
		})
		letGo()
		for _, answer := range []<-chan readAnswer{one, same} {
			if o := <-answer; o.err != nil || o.bad || !strings.Contains(o.text, "text of far/one/1.txt") {
				t.Errorf("equal calls: %+v", o)
			}
		}
		if want := map[bool]int{false: 1, true: 2}[once]; p.questions() != want {
			t.Errorf("asked %d times about equal calls, want %d", p.questions(), want)
		}

		// The server takes directories only, and the home folder is too wide to be opened: nobody is asked in vain.
		asked := p.questions()
		p.answers(allowing)
		p.read(w.Path("home", "notes.txt"), true, "takes directories only")
		p.read(w.Path("home", "beside.txt"), true, "takes directories only")
		if p.questions() != asked {
			t.Error("somebody was asked about what could not be opened")
		}

		// A link is planted while the person is asked.
		target := w.Path("far", "two", "2.txt")
		for _, planted := range []string{w.Path("kept", "k.txt"), w.Path("far", "three", "3.txt")} {
			p.behaves(func(context.Context) *gosdk.ElicitResult {
				world.Must(t, os.Remove(target))
				world.Symlink(t, planted, target)
				return allowing
			})
			p.read(target, true, "Access denied")
			world.Must(t, os.Remove(target))
			w.Write("far/two/2.txt", "text of far/two/2.txt")
		}
		p.unseen("2.txt")
		p.answers(allowing)
		p.read(target, false, "text of far/two/2.txt") // the control
		p.unseen("beside.txt")
		p.unseen("notes.txt")
		p.unseen("k.txt")
	})
}
