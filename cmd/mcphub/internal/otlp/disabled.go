//go:build !otlp

package otlp

import (
	"context"
	"errors"

	"github.com/rs/zerolog"

	"mcphub/cmd/mcphub/internal/delivery"
	"mcphub/hub/tracing"
)

// Built reports whether this program can export.
const Built = false

// A Tracing is never made here.
type Tracing struct{ tracing.Tracer }

// Open returns an error, for Built is false.
func Open(context.Context, string, zerolog.Logger) (*Tracing, error) {
	return nil, errors.New("this build of mcphub has no exporter for traces")
}

// OpenLogs returns an error, for Built is false.
func OpenLogs(context.Context, func(string) string, string, zerolog.Logger) (delivery.Collector, error) {
	return nil, errors.New("this build of mcphub has no exporter for logs")
}

// Close does nothing.
func (t *Tracing) Close(context.Context) error { return nil }
