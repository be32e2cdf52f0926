package service

import (
	"context"
	"os"
	"time"

	"github.com/rs/zerolog"

	"mcphub/cmd/mcphub/internal/delivery"
	"mcphub/cmd/mcphub/internal/otlp"
	"mcphub/cmd/mcphub/internal/setup"
	"mcphub/hub"
)

// lastSpans is how long a hub that ends tries to send the spans that wait.
const lastSpans = 3 * time.Second

// openTelemetry opens the page of metrics and the exporter of traces, and gives the Hub what counts for
// them. needed: without its page of metrics the hub does not start.
func (a *sidecar) openTelemetry(ctx context.Context, made *setup.Result, needed bool) error {
	var err error
	if a.metrics, err = openMetrics(ctx, made); err != nil {
		if needed {
			return err
		}
		a.log.Warn().Err(err).Msg("metrics are not served") // another hub may be there: each window may have its own
	}
	a.openTraces(ctx)
	o := hub.TelemetryOptions{Version: made.Hub.Version, Principals: made.File.Metrics.Principals, Undelivered: a.undelivered.Load}
	if a.traces != nil {
		o.Tracer = a.traces
	}
	if a.metrics.ln != nil || a.traces != nil {
		made.Hub.Telemetry = hub.NewTelemetry(o)
		a.metrics.counted = made.Hub.Telemetry
	}
	return nil
}

// openTraces exports traces, if the environment asks for that. A hub that cannot serves
// all the same, and says so.
func (a *sidecar) openTraces(ctx context.Context) {
	by, err := otlp.Wanted(os.Getenv, otlp.Traces)
	switch {
	case err != nil:
	case by == "":
		return
	case !otlp.Built:
		a.log.Warn().Msg(otlp.Missing(by, otlp.Traces))
		return
	default:
		if a.traces, err = otlp.Open(ctx, a.version, a.log); err == nil {
			a.log.Info().Str("by", by).Msg("traces are exported")
			return
		}
	}
	a.log.Warn().Err(err).Msg("traces are not exported")
}

// findLogCollector returns the collector that the environment names for the lines of the record; nil if it names none, or there cannot be one.
func findLogCollector(version string, log zerolog.Logger) delivery.Collector {
	by, err := otlp.Wanted(os.Getenv, otlp.Logs)
	switch {
	case err != nil:
	case by == "":
		return nil
	case !otlp.Built:
		log.Warn().Msg(otlp.Missing(by, otlp.Logs))
		return nil
	default:
		var c delivery.Collector
		if c, err = otlp.OpenLogs(context.Background(), os.Getenv, version, log); err == nil {
			log.Info().Str("by", by).Msg("the audit log is exported")
			return c
		}
	}
	log.Warn().Err(err).Msg("the audit log is not exported")
	return nil
}

// closeTraces sends what is left.
func (a *sidecar) closeTraces() {
	if a.traces == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), lastSpans)
	defer cancel()
	if err := a.traces.Close(ctx); err != nil {
		a.log.Warn().Err(err).Msg("the last traces were not exported")
	}
}
