package service

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"

	"github.com/rs/zerolog"

	"mcphub/children/process"
	"mcphub/hub"
	"mcphub/internal/admin"
	"mcphub/internal/config"
	"mcphub/internal/exit"
	"mcphub/internal/rawio"
	"mcphub/internal/setup"
)

// serveHTTP serves Streamable HTTP until ctx ends.
func serveHTTP(ctx context.Context, h *hub.Hub, file *config.File, log zerolog.Logger, address string, reload *reloader) error {
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
	if addr := ln.Addr().String(); len(opts.Tokens) == 0 && opts.Resource == nil && !isLoopback(addr) {
		return errors.Join(exit.Errorf(exit.Config, "%s can be reached from other machines, so clients must show a token: add http.tokens to hub.json, or listen on 127.0.0.1", addr), ln.Close())
	}
	// The last is where hubs of a desktop are, if this one runs outside of it.
	folders := append(setup.SocketFolders(os.Getenv), filepath.Join("/run/user", strconv.Itoa(os.Getuid()), "mcphub"))
	opts.Kin = admin.NewKin(folders, process.InstanceVariable).Check
	fmt.Fprintf(os.Stderr, "mcphub: serving http://%s/mcp\n", ln.Addr())
	return Run(ctx, h, log, reload.during(func(ctx context.Context) error { return h.ServeStreamableHTTP(ctx, rawio.Listener(ln), opts) }))
}

func isLoopback(addr string) bool {
	p, err := netip.ParseAddrPort(addr)
	return err == nil && p.Addr().Unmap().IsLoopback()
}
