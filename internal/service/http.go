package service

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"

	"mcphub/internal/admin"
	"mcphub/internal/exit"
	"mcphub/internal/rawio"
	"mcphub/internal/setup"
)

// serveHTTP listens, and says where and who may call. run serves Streamable HTTP there until its ctx ends.
func serveHTTP(ctx context.Context, s *serving, address string) (run func(context.Context) error, err error) {
	file, log := s.made.File, s.log
	if address == listenConfigured {
		address = file.HTTP.Listen
	}
	opts, err := setup.HTTPOptions(file, os.LookupEnv, log)
	if err != nil {
		return nil, err
	}
	ln, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, exit.Errorf(exit.Failure, "cannot serve HTTP on %s: %w", address, err)
	}
	addr := ln.Addr().String()
	if !file.HTTP.NamesTokens() && !isLoopback(addr) {
		return nil, errors.Join(exit.Errorf(exit.Config, "%s can be reached from other machines, so clients must show a token of their own: add http.tokens to hub.json, or listen on 127.0.0.1", addr), ln.Close())
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
			return nil, errors.Join(&exit.Error{Code: exit.Config, Err: err}, ln.Close())
		}
	}
	s.side.http.Store(report)
	fmt.Fprintf(os.Stderr, "mcphub: serving %s\n", report.URL)
	return func(ctx context.Context) error { return s.hub.ServeStreamableHTTP(ctx, rawio.Listener(ln), opts) }, nil
}

func isLoopback(addr string) bool {
	p, err := netip.ParseAddrPort(addr)
	return err == nil && p.Addr().Unmap().IsLoopback()
}
