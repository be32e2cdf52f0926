package service

import (
	"context"
	"errors"
	"net"
	"os"

	"github.com/rs/zerolog"

	"mcphub/cmd/mcphub/internal/config"
	"mcphub/cmd/mcphub/internal/exit"
	"mcphub/cmd/mcphub/internal/setup"
	"mcphub/hub"
	"mcphub/hub/metricsfront"
	"mcphub/internal/rawio"
)

// metrics is what reports the counts of a hub. The zero value reports nothing.
type metrics struct {
	ln      net.Listener
	opts    metricsfront.Options
	counted *hub.Telemetry // set before run
}

// openMetrics listens where hub.json says so.
func openMetrics(ctx context.Context, made *setup.Result) (metrics, error) {
	file, log := made.File, made.Hub.Log
	if file.Metrics.Listen == "" {
		return metrics{}, nil
	}
	opts, err := setup.MetricsOptions(file, os.LookupEnv)
	if err != nil {
		return metrics{}, err
	}
	ln, err := new(net.ListenConfig).Listen(ctx, "tcp", file.Metrics.Listen)
	if err != nil {
		return metrics{}, exit.Errorf(exit.Failure, "cannot serve metrics on %s (metrics.listen): %w", file.Metrics.Listen, err)
	}
	addr := ln.Addr().String()
	if file.Metrics.Token == (config.Secret{}) && !setup.IsLocalAddress(addr) {
		return metrics{}, errors.Join(exit.ConfigErrorf("%s can be reached from other machines, so who reads metrics must show a token: add metrics.token to hub.json, or listen on 127.0.0.1", addr), ln.Close())
	}
	log.Info().Str("url", "http://"+addr+"/metrics").Msg("metrics are served")
	return metrics{ln: ln, opts: opts}, nil
}

// serveMetrics returns what is counted until ctx ends.
func (m metrics) serveMetrics(ctx context.Context, log zerolog.Logger) error {
	if m.ln == nil {
		return nil
	}
	return metricsfront.Serve(ctx, rawio.Listener(m.ln), m.counted, log, m.opts)
}

// closeListener is for a Hub that was never made.
func (m metrics) closeListener() {
	if m.ln != nil {
		_ = m.ln.Close()
	}
}
