package admin

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	stdlog "log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"mcphub/cmd/mcphub/internal/rundir"
	"mcphub/hub"
	"mcphub/hub/approval"
	"mcphub/hub/status"
	"mcphub/internal/caller"
)

const (
	headerTime = 5 * time.Second
	readTime   = 10 * time.Second
	writeTime  = 2 * time.Minute // a reload may wait for children
	idleTime   = 30 * time.Second
	headerSize = 8 << 10
	bodySize   = 4 << 10
	closeTime  = 300 * time.Millisecond // for requests under way when Run ends
)

// Config is what a Server serves.
type Config struct {
	Folders []string // see rundir.Sockets
	Version string
	Log     zerolog.Logger
	Status  func() status.Hub
	// Tools returns the tools that the servers have listed.
	Tools func() []status.ServerTools
	// Loaded reports how the hub stands to its hub.json; nil: not told.
	Loaded func() ConfigReport
	// HTTP reports how clients reach the hub over HTTP; nil, or none of it: they do not.
	HTTP   func() *HTTPReport
	Shared bool   // see Report
	Alone  string // see Report
	// Reload reads hub.json again, as far as a person has accepted it.
	Reload func(ctx context.Context) error
	// Restart starts a server again.
	Restart func(ctx context.Context, server string) (hub.RestartReport, error)
	// EndSessions ends the sessions with this id, and of this principal.
	EndSessions func(ctx context.Context, id, principal string) []hub.EndedSession
	// Plan reports what a reload would do if hub.json read as this file does; "": as
	// it does now.
	Plan func(ctx context.Context, file string) (Plan, error)
	// Approvals are the questions that wait for a person; nil: there are none.
	Approvals Approvals
	// Clients are the processes that the hub serves over stdio: what they start may not
	// approve. One with an id below 0 cannot be told, and then no one may. nil: there are none.
	Clients func() []caller.Process
}

// A Server answers for one hub on its socket.
type Server struct {
	cfg     Config
	started time.Time
	socket  string
	pid     int
	peer    func(caller.Conn) (uid int, known bool, err error)
	who     func(caller.Conn, caller.Want) error
}

// New returns a Server. It starts nothing.
func New(cfg Config) *Server {
	return &Server{cfg: cfg, started: time.Now(), pid: os.Getpid(), peer: peerUser, who: caller.Peer}
}

// Run opens the socket and serves it until ctx ends; it returns when the socket
// is gone. The error reports why there could be none, or why it ended early.
func (s *Server) Run(ctx context.Context) error {
	l, err := s.listenFirst()
	if err != nil {
		return err
	}
	s.cfg.Log.Debug().Str("socket", s.socket).Msg("mcphub status finds this hub here")
	var handlers sync.WaitGroup
	server := &http.Server{
		Handler: s.makeRoutes(&handlers), ReadHeaderTimeout: headerTime, ReadTimeout: readTime, WriteTimeout: writeTime, IdleTimeout: idleTime,
		MaxHeaderBytes: headerSize, ErrorLog: stdlog.New(debugLog{s.cfg.Log}, "", 0),
		BaseContext: func(net.Listener) context.Context { return ctx },
		ConnContext: func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, connKey{}, c) },
	}
	var wg sync.WaitGroup
	ended := make(chan struct{})
	wg.Go(func() {
		select {
		case <-ctx.Done():
		case <-ended:
		}
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTime)
		defer cancel()
		if server.Shutdown(grace) != nil {
			_ = server.Close()
		}
	})
	err = server.Serve(guarded{l, s})
	close(ended)
	wg.Wait()
	handlers.Wait()         // Shutdown waits for them only so long
	_ = os.Remove(s.socket) // closing the listener has done it, if nothing went wrong
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return fmt.Errorf("the socket %s: %w", s.socket, err)
}

// listenFirst opens the socket in the first folder where that is possible, and
// takes away what hubs that were killed have left there.
func (s *Server) listenFirst() (net.Listener, error) {
	if len(s.cfg.Folders) == 0 {
		return nil, errors.New("no folder for the socket: set XDG_RUNTIME_DIR to a short path")
	}
	return rundir.First(s.cfg.Folders, s.listenIn)
}

func (s *Server) listenIn(dir string) (net.Listener, error) {
	if err := rundir.Claim(dir); err != nil {
		return nil, err
	}
	sweepSockets(dir, func(string, net.Conn) {})
	var random [4]byte
	_, _ = rand.Read(random[:]) // never fails
	s.socket = filepath.Join(dir, fmt.Sprintf("%d-%s.sock", s.pid, hex.EncodeToString(random[:])))
	return listenAt(s.socket)
}

// guarded is the listener that lets only this user in.
type guarded struct {
	net.Listener
	s *Server
}

func (g guarded) Accept() (net.Conn, error) {
	for {
		c, err := g.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if err := sameUser(c.(caller.Conn), g.s.peer); err != nil {
			g.s.cfg.Log.Warn().Err(err).Msg("a connection to the hub's socket was refused")
			_ = c.Close()
			continue
		}
		return c, nil
	}
}

// sameUser refuses a connection whose other end is not this user's.
func sameUser(c caller.Conn, peer func(caller.Conn) (int, bool, error)) error {
	uid, known, err := peer(c)
	switch {
	case err != nil:
		return fmt.Errorf("whose process is at the other end cannot be told: %w", err)
	case known && uid != os.Geteuid():
		return fmt.Errorf("the process at the other end is user %d's and not user %d's", uid, os.Geteuid())
	}
	return nil
}

type connKey struct{}

// admitCallers lets in whom the one test of callers does not refuse.
func (s *Server) admitCallers(want caller.Want, refused string, serve http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := s.refusalError(r, want); err != nil {
			s.cfg.Log.Warn().Err(err).Msg(refused)
			writeAnswer(w, http.StatusForbidden, outcome{Error: err.Error()})
			return
		}
		serve(w, r)
	}
}

// refusalError returns why the caller of a request is not what is wanted; nil: it is.
func (s *Server) refusalError(r *http.Request, want caller.Want) error {
	c, ok := r.Context().Value(connKey{}).(caller.Conn)
	if !ok {
		return errors.New("who asks cannot be told")
	}
	return s.who(c, want)
}

// onlyOwnUser lets in whom no server of any hub has started.
func (s *Server) onlyOwnUser(serve http.HandlerFunc) http.HandlerFunc {
	return s.admitCallers(caller.Want{}, "a process may not look at the hub or administer it", serve)
}

func (s *Server) makeRoutes(busy *sync.WaitGroup) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /status", s.onlyOwnUser(func(w http.ResponseWriter, _ *http.Request) { writeAnswer(w, http.StatusOK, s.reportStatus()) }))
	mux.HandleFunc("GET /tools", s.onlyOwnUser(func(w http.ResponseWriter, _ *http.Request) { writeAnswer(w, http.StatusOK, s.cfg.Tools()) }))
	mux.HandleFunc("POST /reload", s.onlyOwnUser(s.serveReload))
	mux.HandleFunc("POST /restart", s.onlyOwnUser(s.serveRestart))
	mux.HandleFunc("POST /sessions/end", s.onlyOwnUser(s.serveEndSessions))
	mux.HandleFunc("POST /plan", s.onlyOwnUser(s.servePlan))
	mux.HandleFunc("GET /approvals", s.onlyOwnUser(s.onlyIfAsked(s.listApprovals)))
	mux.HandleFunc("POST /approvals/code", s.onlyPersons(s.approvalCode))
	mux.HandleFunc("POST /approvals/answer", s.onlyPersons(s.answerApproval))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		busy.Add(1)
		defer busy.Done()
		r.Body = http.MaxBytesReader(w, r.Body, bodySize)
		mux.ServeHTTP(w, r)
	})
}

func (s *Server) reportStatus() Report {
	r := Report{
		Format: Format, PID: s.pid, Version: s.cfg.Version, Started: s.started, Uptime: time.Since(s.started).Seconds(),
		Socket: s.socket, Shared: s.cfg.Shared, Alone: s.cfg.Alone, Hub: s.cfg.Status(),
	}
	if s.cfg.Loaded != nil {
		r.Config = s.cfg.Loaded()
	}
	if s.cfg.HTTP != nil {
		r.HTTP = s.cfg.HTTP()
	}
	return r
}

// outcome is the answer of what is no Report.
type outcome struct {
	OK    bool   `json:"ok"`
	Error string `json:"error,omitempty"`
}

func (s *Server) serveReload(w http.ResponseWriter, r *http.Request) {
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		writeAnswer(w, http.StatusBadRequest, outcome{Error: err.Error()})
		return
	}
	writeResponse(w, outcome{OK: true}, s.cfg.Reload(r.Context()))
}

func (s *Server) serveRestart(w http.ResponseWriter, r *http.Request) {
	name := r.URL.Query().Get("server")
	if name == "" {
		writeAnswer(w, http.StatusBadRequest, outcome{Error: "server names the one to start again"})
		return
	}
	done, err := s.cfg.Restart(r.Context(), name)
	writeResponse(w, done, err)
}

func (s *Server) serveEndSessions(w http.ResponseWriter, r *http.Request) {
	id, principal := r.URL.Query().Get("id"), r.URL.Query().Get("principal")
	if (id == "") == (principal == "") {
		writeAnswer(w, http.StatusBadRequest, outcome{Error: "either id names the session to end, or principal whose sessions end"})
		return
	}
	writeResponse(w, s.cfg.EndSessions(r.Context(), id, principal), nil)
}

func (s *Server) servePlan(w http.ResponseWriter, r *http.Request) {
	p, err := s.cfg.Plan(r.Context(), r.URL.Query().Get("file"))
	writeResponse(w, p, err)
}

// writeResponse answers with v, or with the error.
func writeResponse(w http.ResponseWriter, v any, err error) {
	status := http.StatusOK
	switch {
	case errors.Is(err, approval.ErrNoQuestion):
		status = http.StatusNotFound
	case errors.Is(err, approval.ErrAnswered), errors.Is(err, approval.ErrQuestionChanged):
		status = http.StatusConflict
	case errors.Is(err, approval.ErrTooManyCodes):
		status = http.StatusTooManyRequests
	case err != nil:
		status = http.StatusUnprocessableEntity
	}
	if err != nil {
		v = outcome{Error: err.Error()}
	}
	writeAnswer(w, status, v)
}

func writeAnswer(w http.ResponseWriter, status int, v any) {
	raw, err := json.Marshal(v)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(raw, '\n')) // no one to tell
}

// debugLog takes what net/http has to say.
type debugLog struct{ log zerolog.Logger }

func (d debugLog) Write(p []byte) (int, error) {
	d.log.Debug().Str("part", "socket").Msg(string(p))
	return len(p), nil
}
