package childtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
)

// A Server is reached over HTTP and under the test's control: what it does with
// each POST of a method is the test's to say.
type Server struct {
	*httptest.Server
	t     *testing.T
	On    map[string]func(w http.ResponseWriter, r *http.Request, id string)
	Get   func(w http.ResponseWriter, r *http.Request)
	Conns atomic.Int32 // that were made

	mu   sync.Mutex
	seen []string // methods, and "answer"
	more chan struct{}
	told map[string]json.RawMessage // answers by id
}

// NewServer starts one that answers initialize.
func NewServer(t *testing.T) *Server {
	s := &Server{t: t, more: make(chan struct{}, 1000), told: map[string]json.RawMessage{}}
	s.On = map[string]func(http.ResponseWriter, *http.Request, string){
		"initialize": func(w http.ResponseWriter, _ *http.Request, id string) {
			w.Header().Set("Mcp-Session-Id", "s1")
			Plain(w, id, `{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"r","version":"1"}}`)
		},
	}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(s.serveRequest))
	s.Config.ConnState = func(_ net.Conn, st http.ConnState) {
		if st == http.StateNew {
			s.Conns.Add(1)
		}
	}
	s.Start()
	t.Cleanup(s.Close)
	return s
}

// Told returns the result with which a request of the server was answered.
func (s *Server) Told(id string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return string(s.told[id])
}

// Seen lists the methods of what has come so far, and "answer" for each answer.
func (s *Server) Seen() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.seen)
}

func (s *Server) serveRequest(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		if s.Get == nil {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		s.Get(w, r)
		return
	}
	if r.Method == http.MethodDelete {
		return
	}
	var m struct {
		ID     json.RawMessage
		Method string
		Result json.RawMessage
	}
	if err := json.NewDecoder(r.Body).Decode(&m); errors.Is(err, io.ErrUnexpectedEOF) {
		return // it was given up while it was being sent
	} else if err != nil {
		s.t.Error(err)
	}
	s.mu.Lock()
	if m.Method == "" {
		s.told[string(m.ID)] = m.Result
		s.seen = append(s.seen, "answer")
	} else {
		s.seen = append(s.seen, m.Method)
	}
	s.mu.Unlock()
	s.more <- struct{}{}
	if do := s.On[m.Method]; do != nil {
		do(w, r, string(m.ID))
		return
	}
	w.WriteHeader(http.StatusAccepted)
}

// Until waits until a message of that kind has come n times.
func (s *Server) Until(kind string, n int) {
	for {
		s.mu.Lock()
		got := 0
		for _, k := range s.seen {
			if k == kind {
				got++
			}
		}
		s.mu.Unlock()
		if got >= n {
			return
		}
		<-s.more
	}
}

// Plain answers with JSON.
func Plain(w http.ResponseWriter, id, result string) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, id, result)
}

// Events starts a stream; the function sends one event.
func Events(w http.ResponseWriter) func(id, data string) {
	w.Header().Set("Content-Type", "text/event-stream")
	return func(id, data string) {
		if id != "" {
			_, _ = fmt.Fprintf(w, "id: %s\n", id)
		}
		_, _ = fmt.Fprintf(w, "data: %s\n\n", data)
		_ = http.NewResponseController(w).Flush()
	}
}
