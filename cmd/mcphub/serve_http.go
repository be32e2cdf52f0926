package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"

	"github.com/rs/zerolog"

	"mcphub/hub"
	"mcphub/internal/config"
)

// serveHTTP serves Streamable HTTP until ctx ends.
func serveHTTP(ctx context.Context, h *hub.Hub, src *sources, log zerolog.Logger, address string, reload *reloader) error {
	file := src.file
	if address == listenConfigured {
		address = file.HTTP.Listen
	}
	opts, err := httpOptions(file, os.LookupEnv)
	if err != nil {
		return err
	}
	ln, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return exitf(exitFailure, "cannot serve HTTP on %s: %w", address, err)
	}
	if addr := ln.Addr().String(); len(opts.Tokens) == 0 && !isLoopback(addr) {
		return errors.Join(exitf(exitConfig, "%s can be reached from other machines, so clients must show a token: add http.tokens to hub.json, or listen on 127.0.0.1", addr), ln.Close())
	}
	fmt.Fprintf(os.Stderr, "mcphub: serving http://%s/mcp\n", ln.Addr())
	return runHub(ctx, h, log, reload.during(func(ctx context.Context) error { return h.ServeStreamableHTTP(ctx, ln, opts) }))
}

func isLoopback(addr string) bool {
	p, err := netip.ParseAddrPort(addr)
	return err == nil && p.Addr().Unmap().IsLoopback()
}

// httpOptions turns the http block of hub.json into values.
func httpOptions(f *config.File, env func(string) (string, bool)) (hub.HTTPOptions, error) {
	o := hub.HTTPOptions{Hosts: f.HTTP.Hosts, Origins: f.HTTP.Origins, Sessions: f.Limits.Sessions}
	for i, t := range f.HTTP.Tokens {
		at := f.At("http", "tokens", fmt.Sprint(i))
		secret, _ := env(t.Env)
		switch {
		case secret == "":
			at.Text = fmt.Sprintf("the variable %s is not set in the hub's environment; it must hold the token of %q", t.Env, t.Name)
			return o, exitf(exitConfig, "%s", at.String())
		case len(t.Roots) > 0:
			at.Text = "a ceiling of roots is not served by this version, so a token cannot have one"
			return o, exitf(exitConfig, "%s", at.String())
		}
		o.Tokens = append(o.Tokens, hub.Token{Name: t.Name, Secret: secret})
	}
	return o, nil
}
