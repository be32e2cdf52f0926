package console

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"io"
	"io/fs"
	stdlog "log"
	"net"
	"net/http"
	"sync"
	"time"

	"mcphub/cmd/mcphub/internal/admin"
	"mcphub/hub/audit"
	"mcphub/hub/audit/trail"
	"mcphub/hub/status"
)

const (
	headerTime = 5 * time.Second
	readTime   = 10 * time.Second
	writeTime  = 3 * time.Minute // a restart waits for the server, an export for the whole record
	idleTime   = time.Minute
	headerSize = 16 << 10
	bodySize   = 64 << 10
	closeTime  = 300 * time.Millisecond // for requests under way when Run ends
	codeTime   = 10 * time.Minute       // after which a code that no one has typed ends the console
)

// partHeader is in the requests of the script: partBrief is answered with what comes quickly, anything else with the whole.
const partHeader, partBrief = "Console-Part", "brief"

//go:embed pages static
var files embed.FS

// Config is what a console shows, and how it does what a person clicks. Its functions may be called by
// several goroutines at a time. All text of theirs is taken for foreign.
type Config struct {
	Version string
	// Hubs asks every hub how it is, by the time they started. silent are what went wrong.
	Hubs func(ctx context.Context) (hubs []admin.Report, silent []string)
	// Restart and Reload have the hub with this socket do so. said is what came of it.
	Restart func(ctx context.Context, socket, server string) (said string, err error)
	Reload  func(ctx context.Context, socket string) error
	// Command is a command line of mcphub about this hub.json.
	Command func(config string, words ...string) string
	// Record is the folder of the record of decisions; "": none is kept.
	Record string
	// Mends returns what says, by hub.json as it reads now, what mends a refusal.
	Mends func() func(audit.Refusal) Mend
	// Servers are the entries of hub.json, with how they are in the hubs that run on it.
	Servers func(ctx context.Context) Entries
	// Find searches the registry for servers that have all of these words.
	Find func(ctx context.Context, words string) (found []Found, more bool, err error)
	// MayEdit returns why hub.json may not be changed on this page.
	MayEdit func() error
	// Change is what an Edit would make of hub.json. It writes and starts nothing. Try starts once what is to be
	// added, and Write writes, if that still has this digest. said is what came of it.
	Change func(ctx context.Context, e Edit) (Change, error)
	Try    func(ctx context.Context, e Edit, digest string) (Change, error)
	Write  func(ctx context.Context, e Edit, digest string) (said string, err error)
	// Exports are the formats of `mcphub audit export`.
	Exports []Export
	// File reads hub.json, and what validate and plan say about it; brief: without those.
	File func(ctx context.Context, brief bool) File
	// Questions are what waits for a person. silent are what went wrong.
	Questions func(ctx context.Context) (all []Question, silent []string)
	// Answer answers one of them. The error reports why it does not count.
	Answer func(ctx context.Context, a Answer) error
}

// A Mend is what changes a refusal.
type Mend struct {
	Text    string
	Command string     // that does; "": there is none
	Allows  *Allowance // what the command opens, if a page may do the same; nil: it may not
}

// An Allowance is a path that is opened to a server.
type Allowance struct {
	Server, Path string
	Write        bool // to read and write; else to read
	Calls        bool // and calls may name all that lies in its folder, by a rule
}

// Entries are the servers of hub.json.
type Entries struct {
	File    string // "": there is none
	Wrong   string // why there are none
	Hubs    int    // that run on it
	Servers []Entry
	Sets    []Toolset
	Silent  []string // what went wrong beside
}

// A Toolset is one of hub.json.
type Toolset struct {
	Name         string
	Servers      []ToolsetServer // that it shows something of
	Instructions string
	By           []string // who has it, as hub.json says
}

// A ToolsetServer is what a toolset shows of a server.
type ToolsetServer struct {
	Name  string
	Whole bool     // with what it has beside tools
	Known bool     // what the server lists is known
	Tools []string // of what it lists
}

// An Entry is one server of hub.json.
type Entry struct {
	Name, Kind string
	Disabled   bool
	Wrong      string // why it cannot be served
	Instances  []Instance
	Asks       int // of its calls that wait for a person
	Tools      *status.ServerTools
}

// An Instance is one of a server, in the hub with this socket.
type Instance struct {
	Hub string
	status.Child
}

// Found is a server of a registry.
type Found struct {
	Name, Version, Description string
	Ways                       []string
}

// A Change is what an Edit would make of hub.json.
type Change struct {
	Edit
	File   string   // the path of hub.json
	Does   string   // the command that does the same
	Entry  []string // what is added, whole, with the registry's words about it
	Opens  []string // what it starts, and what it may open
	Tried  []string // what came of starting it once
	Lines  []string // a unified diff, whole but without secrets
	Notes  []string // what is done beside that, what is not, and why
	Digest string   // of all that would be written; "": nothing would
	Folder string   // that a rule would let calls name, if they are refused all the same; "": there is none
}

// A File is hub.json as it reads now.
type File struct {
	Path     string // "": there is none
	Text     string // without secrets
	Error    string // why there is no text
	Brief    bool   // what follows was not asked for
	Validate string // what `mcphub validate` prints
	Plan     string // what `mcphub plan` prints
}

// A Question is one that waits for a person.
type Question struct {
	Title   string
	Text    string
	Command string // that answers it
	Hub     string // the socket of the hub that asks; "": the page cannot answer
	ID      string
	Digest  string   // of what is shown
	Choices []string // that allow it, the narrower first; empty if the page may only deny it
	Since   time.Time
	Until   time.Time // zero: it waits until it is answered
}

// An Answer is what a person clicks at a Question.
type Answer struct {
	Hub, ID, Digest string // as the Question has them
	Decision        string // one of its Choices, or "deny"
}

// An Export is a format in which decisions are saved.
type Export struct {
	Name, Title string
	Media       string // the media type
	Write       func(io.Writer, trail.Filter) error
}

// A Server is one console.
type Server struct {
	cfg     Config
	pages   *template.Template
	guard   *guard
	traffic traffic
	spent   chan struct{} // closed where too many codes were wrong
	once    sync.Once     // closes spent
}

// Errors of Run.
var (
	errSpent  = errors.New("too many wrong codes were typed: somebody may be guessing; start the console again")
	errUnused = errors.New("nobody has typed the code in ten minutes; start the console again")
)

// Listen opens a port of the loopback address.
func Listen(ctx context.Context) (net.Listener, error) {
	var c net.ListenConfig
	l, err := c.Listen(ctx, "tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("no port of 127.0.0.1 can be opened: %w", err)
	}
	return l, nil
}

// New returns the console for a listener of Listen. It starts nothing.
func New(cfg Config, l net.Listener) *Server {
	return &Server{cfg: cfg, guard: newGuard(l.Addr().String()), spent: make(chan struct{}), pages: parsePages()}
}

// parsePages returns the embedded pages, which a test has read.
func parsePages() *template.Template {
	return template.Must(template.New("").Funcs(templateFunctions()).ParseFS(files, "pages/*.html"))
}

// Address returns the place of the page. It holds no secret.
func (s *Server) Address() string { return "http://" + s.guard.host + "/" }

// Code returns what a person types on the page, once.
func (s *Server) Code() string { return s.guard.shownCode() }

// Run serves until ctx ends, and closes the listener. The error reports why it ended earlier.
func (s *Server) Run(ctx context.Context, l net.Listener) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	server := &http.Server{
		Handler: s.makeHandler(), ReadHeaderTimeout: headerTime, ReadTimeout: readTime, WriteTimeout: writeTime, IdleTimeout: idleTime, MaxHeaderBytes: headerSize,
		ErrorLog: stdlog.New(io.Discard, "", 0), BaseContext: func(net.Listener) context.Context { return ctx },
	}
	var wg sync.WaitGroup
	wg.Go(func() { s.traffic.followRecord(ctx, s.cfg.Record) })
	wg.Go(func() {
		unused := time.NewTimer(codeTime)
		defer unused.Stop()
		for wait := true; wait; {
			select {
			case <-ctx.Done():
				wait = false
			case <-s.spent:
				stop(errSpent)
			case <-unused.C:
				if !s.guard.isUsed() {
					stop(errUnused)
				}
			}
		}
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTime)
		defer cancel()
		if server.Shutdown(grace) != nil {
			_ = server.Close()
		}
	})
	err := server.Serve(l)
	stop(nil)
	wg.Wait()
	if cause := context.Cause(ctx); errors.Is(cause, errSpent) || errors.Is(cause, errUnused) {
		return cause
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

func (s *Server) makeHandler() http.Handler {
	mux := http.NewServeMux()
	static, err := fs.Sub(files, "static")
	if err != nil {
		panic(err) // the folder is embedded
	}
	mux.Handle("GET /static/", http.StripPrefix("/static/", http.FileServerFS(static)))
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) { s.showPage(w, http.StatusOK, "open", page{}) })
	mux.HandleFunc("POST /open", s.openSession)
	for _, at := range []struct {
		path string
		view func(*http.Request) page
	}{
		{"/now", s.nowPage}, {"/decisions", s.decisionsPage}, {"/record", s.recordPage}, {"/verify", s.verifyPage}, {"/configuration", s.configurationPage}, {"/questions", s.questionsPage}, {"/answer", s.answerPage},
		{"/restart", s.restartPage}, {"/reload", s.reloadPage}, {"/servers", s.serversPage}, {"/find", s.findPage}, {"/change", s.showChange}, {"/try", s.tryChange}, {"/write", s.writeChange},
	} {
		mux.HandleFunc("POST "+at.path, s.requireSecret(func(w http.ResponseWriter, r *http.Request) {
			p := at.view(r)
			p.Session = r.PostForm.Get(sessionField)
			name := "page"
			if r.Header.Get(partHeader) != "" { // the script asks for what changes
				name = "part"
				if p.Live {
					w.Header().Set("Console-Live", "yes")
				}
				if p.More {
					w.Header().Set("Console-More", "yes")
				}
			}
			s.showPage(w, http.StatusOK, name, p)
		}))
	}
	mux.HandleFunc("POST /export", s.requireSecret(s.serveExport))
	// An address of a view that was copied, or asked for again by GET, leads to the first page.
	mux.HandleFunc("GET /{view}", func(w http.ResponseWriter, _ *http.Request) { s.showPage(w, http.StatusNotFound, "open", page{}) })
	return s.guard.fromHere(mux)
}

// requireSecret serves only requests that carry the session's secret.
func (s *Server) requireSecret(serve http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !s.guard.holdsSecret(r) {
			s.showPage(w, http.StatusForbidden, "open", page{Refused: "This page belongs to no session of this console. Type its code, or start the console again."})
			return
		}
		serve(w, r)
	}
}

func (s *Server) openSession(w http.ResponseWriter, r *http.Request) {
	secret, spent := s.guard.exchangeCode(r.PostForm.Get("code"))
	switch {
	case spent:
		s.once.Do(func() { close(s.spent) })
		s.showPage(w, http.StatusForbidden, "open", page{Refused: errSpent.Error()})
	case secret == "":
		s.showPage(w, http.StatusForbidden, "open", page{Refused: "That is not the code, or it was used before: it counts once. End the console with Ctrl-C and start it again for another one."})
	default:
		p := s.nowPage(r)
		p.Session = secret
		s.showPage(w, http.StatusOK, "page", p)
	}
}

// page is what a template is given.
type page struct {
	View    string // its name in the list of views
	Session string
	Refused string // why the first page is shown again
	Notice  string // what came of a click
	Live    bool   // the script may ask for it again
	More    bool   // this is what came quickly, and the script asks for the whole at once
	Data    any
}

// Change returns the change that is shown instead of the view; nil: none.
func (p page) Change() *Change {
	d, _ := p.Data.(changeData)
	return d.Change
}

// showPage writes a page. All that it holds passes inert.
func (s *Server) showPage(w http.ResponseWriter, status int, name string, p page) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	out := inert{w: w}
	if err := s.pages.ExecuteTemplate(&out, name, p); err == nil {
		_ = out.flushRest() // no one to tell
	}
}
