package childtest

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/rs/zerolog"

	"mcphub/children/launch"
	"mcphub/children/link"
	"mcphub/children/process"
	"mcphub/children/spec"
	"mcphub/internal/jsonrpc"
)

// Spec describes a child that runs this test binary with the script.
func Spec(name string, s Script, args ...string) spec.Spec {
	exe, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return spec.Spec{Name: name, Command: exe, Args: args, Env: s.Env()}
}

// Pipes is a Launcher that plays a Script in this process, on goroutines: the
// one that the Spec's Env names.
type Pipes struct{}

// Launch starts a player.
func (Pipes) Launch(l launch.Launch, s spec.Spec, h jsonrpc.Handler, log zerolog.Logger) (link.ChildConnection, error) {
	script, err := scriptOf(s)
	if err != nil {
		return nil, err
	}
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	link := &pipeLink{conn: jsonrpc.NewConn(outR, inW, h, jsonrpc.ConnOptions{FrameLimit: s.FrameLimit, Log: log}), ended: make(chan struct{}), hung: make(chan struct{})}
	link.hangUp = func() {
		link.gone.Do(func() { close(link.hung) })
		_ = inR.CloseWithError(io.ErrClosedPipe)
		_ = outW.Close()
	}
	var dirs []string
	if script.Dirs {
		dirs = l.Args
	}
	go func() {
		defer close(link.ended)
		if script.Exit != 0 {
			link.code = script.Exit
		} else {
			link.code = script.Serve(ending{inR, link.hung}, outW, io.Discard, dirs)
		}
		link.hangUp()
	}()
	return link, nil
}

func scriptOf(s spec.Spec) (Script, error) {
	var script Script
	raw, ok := s.Env[envScript]
	if !ok {
		return script, errors.New("childtest: the Spec has no script")
	}
	return script, json.Unmarshal([]byte(raw), &script)
}

type pipeLink struct {
	conn   *jsonrpc.Conn
	ended  chan struct{}
	code   int
	hangUp func()
	once   sync.Once
	hung   chan struct{} // closed by hangUp
	gone   sync.Once
}

// ending is a stream that can be told to have ended without reading it.
type ending struct {
	io.Reader
	ended <-chan struct{}
}

func (e ending) Ended() <-chan struct{} { return e.ended }

func (l *pipeLink) Run(ctx context.Context) error {
	err := l.conn.Run(ctx)
	l.once.Do(l.hangUp)
	<-l.ended
	switch {
	case ctx.Err() != nil:
		return nil
	case err != nil:
		return err
	}
	return &process.ExitError{Text: "hung up", Code: l.code}
}

func (l *pipeLink) Call(ctx context.Context, method string, params ...[]byte) (*jsonrpc.Response, error) {
	return l.conn.Call(ctx, method, params...)
}

func (l *pipeLink) Notify(ctx context.Context, method string, params ...[]byte) error {
	return l.conn.Notify(ctx, method, params...)
}

func (l *pipeLink) Facts() link.ConnectionFacts {
	st := l.conn.Stats()
	return link.ConnectionFacts{Skipped: st.Skipped, TextIDs: st.TextIDs, Heard: st.Heard}
}

// Marked counts the processes, other than this one, whose environment holds
// NAME=value. It needs /proc; elsewhere ok is false.
func Marked(name, value string) (pids []string, ok bool) {
	if runtime.GOOS != "linux" {
		return nil, false
	}
	all, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		return nil, false
	}
	for _, f := range all {
		raw, err := os.ReadFile(f)
		if err != nil {
			continue
		}
		if slices.Contains(strings.Split(string(raw), "\x00"), name+"="+value) {
			pids = append(pids, filepath.Base(filepath.Dir(f)))
		}
	}
	return pids, true
}
