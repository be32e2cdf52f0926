package service

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"

	"github.com/rs/zerolog"

	"mcphub/hub"
	"mcphub/internal/admin"
	"mcphub/internal/config"
	"mcphub/internal/exit"
	"mcphub/internal/rawio"
	"mcphub/internal/setup"
)

// serveHTTP serves Streamable HTTP until ctx ends. at is told where, and who may call.
func serveHTTP(ctx context.Context, h *hub.Hub, file *config.File, log zerolog.Logger, address string, reload *reloader, at func(*admin.HTTPReport)) error {
	if address == listenConfigured {
		address = file.HTTP.Listen
	}
	opts, err := setup.HTTPOptions(file, os.LookupEnv, log)
	if err != nil {
		return err
	}
	ln, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return exit.Errorf(exit.Failure, "cannot serve HTTP on %s: %w", address, err)
	}
	addr := ln.Addr().String()
	if !file.HTTP.NamesTokens() && !isLoopback(addr) {
		return errors.Join(exit.Errorf(exit.Config, "%s can be reached from other machines, so clients must show a token of their own: add http.tokens to hub.json, or listen on 127.0.0.1", addr), ln.Close())
	}
	report := &admin.HTTPReport{URL: "http://" + addr + "/mcp", Auth: admin.AuthConfigured}
	switch {
	case opts.Open:
		report.Auth = admin.AuthNone
		log.Warn().Str("address", addr).Msg(setup.OpenText)
	case file.HTTP.MakesToken():
		report.Auth = admin.AuthMade
		place, err := setup.Token(file, os.Getenv)
		if err == nil {
			opts.Local, err = place.Make(ctx)
		}
		if err != nil {
			return errors.Join(&exit.Error{Code: exit.Config, Err: err}, ln.Close())
		}
	}
	at(report)
	fmt.Fprintf(os.Stderr, "mcphub: serving %s\n", report.URL)
	return Run(ctx, h, log, reload.during(func(ctx context.Context) error { return h.ServeStreamableHTTP(ctx, rawio.Listener(ln), opts) }))
}

func isLoopback(addr string) bool {
	p, err := netip.ParseAddrPort(addr)
	return err == nil && p.Addr().Unmap().IsLoopback()
}
