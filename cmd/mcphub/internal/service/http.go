package service

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"reflect"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/rs/zerolog"

	"mcphub/cmd/mcphub/internal/admin"
	"mcphub/cmd/mcphub/internal/config"
	"mcphub/cmd/mcphub/internal/exit"
	"mcphub/cmd/mcphub/internal/loginpage"
	"mcphub/cmd/mcphub/internal/notify"
	"mcphub/cmd/mcphub/internal/setup"
	"mcphub/hub"
	"mcphub/internal/rawio"
)

// serveHTTP listens, and reports where and who may call. All sessions are held to the toolsets of src, if these are not nil. run serves Streamable HTTP there until its ctx
// ends; done is called after it has ended.
func serveHTTP(ctx context.Context, s *serving, address string, src *setup.Source) (run func(context.Context) error, done func(), err error) {
	file, log := s.made.File, s.log
	if address == listenConfigured {
		address = file.HTTP.Listen
	}
	ln, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, nil, exit.Errorf(exit.Failure, "cannot serve HTTP on %s: %w", address, err)
	}
	web := &httpServer{addr: ln.Addr().String(), log: log, now: &s.side.http, desk: src.Desk}
	settings, err := web.readSettings(ctx, file)
	if err != nil {
		return nil, nil, errors.Join(err, ln.Close())
	}
	watch, done := context.WithCancel(context.WithoutCancel(ctx))
	settings.Hurry, settings.Toolsets = hurrySignal(watch), src.Toolsets
	if web.front, err = s.hub.NewHTTPFront(settings.HTTPOptions); err != nil {
		done()
		return nil, nil, errors.Join(exit.ConfigErrorf("%w", err), ln.Close())
	}
	web.followSettings(settings)
	if settings.Open {
		log.Warn().Str("address", web.addr).Msg(setup.OpenText)
	}
	fmt.Fprintf(os.Stderr, "mcphub: serving %s\n", settings.report.URL)
	s.reload.web = web
	return func(ctx context.Context) error {
		notify.Tell("READY=1", "STATUS=Serving "+settings.report.URL)
		defer context.AfterFunc(ctx, func() { tellStopping(web.now.Load().stopTimeout()) })()
		return web.front.Serve(ctx, web.certificates.tlsListener(rawio.Listener(ln)))
	}, done, nil
}

// An httpServer is the front of this hub over HTTP. Once it serves, the reloader's goroutine
// owns it.
type httpServer struct {
	addr         string
	log          zerolog.Logger
	front        *hub.HTTPFront
	certificates certificates
	desk         *loginpage.Desk               // serves the pages on which people log in
	now          *atomic.Pointer[httpSettings] // in force; the one who tells about them reads it too
}

// httpSettings are what hub.json says about HTTP, with all that it names read.
type httpSettings struct {
	hub.HTTPOptions
	file        *config.File
	report      *admin.HTTPReport
	certificate *certificate // nil: plain HTTP
}

// stopTimeout returns how long the front may take to end, beyond what it needs by itself.
func (s *httpSettings) stopTimeout() time.Duration { return s.Drain + s.Grace }

// reportHTTP returns how clients reach the hub by these settings, which may be nil.
func (s *httpSettings) reportHTTP() *admin.HTTPReport {
	if s == nil {
		return nil
	}
	report := *s.report
	if s.certificate != nil {
		_, report.Certificate = s.certificate.currentPair()
	}
	return &report
}

// readSettings reads what hub.json says and names. Nothing changes by it.
func (s *httpServer) readSettings(ctx context.Context, file *config.File) (*httpSettings, error) {
	opts, err := setup.HTTPOptions(file, os.LookupEnv, s.log)
	if err != nil {
		return nil, err
	}
	if !file.HTTP.NamesTokens() && !setup.IsLocalAddress(s.addr) {
		return nil, exit.ConfigErrorf("%s can be reached from other machines, so clients must show a token of their own: add http.tokens to hub.json, or listen on 127.0.0.1", s.addr)
	}
	next := &httpSettings{HTTPOptions: opts, file: file, report: &admin.HTTPReport{URL: "http://" + s.addr + "/mcp", Auth: admin.AuthConfigured}}
	if file.HTTP.Resource != "" {
		next.Login = s.desk.Serve
	}
	if now := s.now.Load(); now != nil && reflect.DeepEqual(now.file.HTTP.Issuers, file.HTTP.Issuers) && now.file.HTTP.Resource == file.HTTP.Resource {
		next.Resource = now.Resource // it has the issuers' keys, and they may not be reached now
	}
	if cert, key, ok := setup.Certificate(file); ok {
		next.report.URL = "https://" + s.addr + "/mcp"
		if next.certificate, err = loadCertificate(cert, key, s.log); err != nil {
			return nil, exit.ConfigErrorf("http.tls: %w", err)
		}
	}
	switch {
	case opts.Open:
		next.report.Auth = admin.AuthNone
	case file.HTTP.MakesToken():
		next.report.Auth = admin.AuthMade
		place, err := setup.TokenPlace(file, os.Getenv)
		if err == nil {
			next.LocalToken, err = place.Make(ctx)
		}
		if err != nil {
			return nil, exit.ConfigErrorf("%w", err)
		}
	}
	return next, nil
}

// prepareSettings reads again what hub.json says about HTTP; follow puts that in force. A nil httpServer
// has nothing that could follow.
func (s *httpServer) prepareSettings(ctx context.Context, file *config.File) (follow func(), err error) {
	if s == nil {
		return func() {}, nil
	}
	next, err := s.readSettings(ctx, file)
	if err != nil {
		return nil, err
	}
	front, err := s.front.PrepareOptions(next.HTTPOptions)
	if err != nil {
		return nil, exit.ConfigErrorf("%w", err)
	}
	return func() {
		s.followSettings(next)
		front()
	}, nil
}

func (s *httpServer) followSettings(next *httpSettings) {
	s.certificates.now.Store(next.certificate)
	s.now.Store(next)
}

// endTime is how long the end may take beyond the times that hub.json gives it: last
// answers are written, and servers stopped.
const endTime = 20 * time.Second

// tellStopping tells the service manager that the hub ends, and how long that may take.
func tellStopping(most time.Duration) {
	notify.Tell("STOPPING=1", "STATUS=Stopping", fmt.Sprintf("EXTEND_TIMEOUT_USEC=%d", (most+endTime).Microseconds()))
}

// echo is how long after the first signal another one is the same. A terminal sends it to
// the guardian and to the hub, as systemd may, and the guardian passes its own on.
const echo = 500 * time.Millisecond

// hurrySignal returns a channel that is closed by the second signal that asks for the hub's end, and
// by the first one if it comes from someone at a terminal, who waits. It watches for them until ctx
// ends.
func hurrySignal(ctx context.Context) <-chan struct{} {
	signals, hurry := make(chan os.Signal, 8), make(chan struct{})
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		defer signal.Stop(signals)
		var first time.Time
		for {
			var s os.Signal
			select {
			case <-ctx.Done():
				return
			case s = <-signals:
			}
			switch {
			case s == os.Interrupt, !first.IsZero() && time.Since(first) >= echo:
				close(hurry)
				return
			case first.IsZero():
				first = time.Now()
			}
		}
	}()
	return hurry
}
