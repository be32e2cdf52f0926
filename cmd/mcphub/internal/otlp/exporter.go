//go:build otlp

package otlp

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/rs/zerolog"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"mcphub/hub/tracing"
)

// Built reports whether this program can export.
const Built = true

// A Tracing makes spans, and exports them.
type Tracing struct {
	provider *sdk.TracerProvider
	tracer   trace.Tracer
}

var _ tracing.Tracer = (*Tracing)(nil)

// Open makes a Tracing for the hub of a version, by the variables OTEL_* of the process. It
// starts the goroutine that sends; Close ends that. Errors of sending go to log.
func Open(ctx context.Context, version string, log zerolog.Logger) (*Tracing, error) {
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { log.Warn().Err(err).Msg("traces are not exported") }))
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, fmt.Errorf("traces cannot be exported: %w", err)
	}
	of, err := resourceOf(ctx, version, log)
	if err != nil {
		return nil, err
	}
	provider := sdk.NewTracerProvider(sdk.WithBatcher(exporter), sdk.WithResource(of))
	return &Tracing{provider, provider.Tracer("mcphub", trace.WithInstrumentationVersion(version))}, nil
}

// resourceOf returns the attributes of this process.
func resourceOf(ctx context.Context, version string, log zerolog.Logger) (*resource.Resource, error) {
	own := resource.NewSchemaless(attribute.String("service.name", "mcphub"), attribute.String("service.version", version))
	said, err := resource.New(ctx, resource.WithTelemetrySDK(), resource.WithFromEnv())
	if err != nil {
		log.Warn().Err(err).Msg("OTEL_RESOURCE_ATTRIBUTES cannot be read as a whole")
	}
	of, err := resource.Merge(own, said)
	if err != nil {
		return nil, fmt.Errorf("the attributes of the process: %w", err)
	}
	return of, nil
}

// Close sends what waits, as long as ctx lasts, and ends the Tracing.
func (t *Tracing) Close(ctx context.Context) error { return t.provider.Shutdown(ctx) }

// Begin begins a span. Within one that is not sampled there is no other: the outer one stands for
// both.
func (t *Tracing) Begin(s tracing.Start) tracing.Span {
	ctx, baggage := context.Background(), s.Parent.Baggage
	if outer, ok := s.Within.(*span); !ok {
		ctx = propagation.TraceContext{}.Extract(ctx, carrier{s.Parent})
	} else if !outer.IsRecording() {
		return outer
	} else {
		ctx, baggage = trace.ContextWithSpan(ctx, outer.Span), outer.baggage
	}
	kind := trace.SpanKindServer
	if s.Client {
		kind = trace.SpanKindClient
	}
	_, made := t.tracer.Start(ctx, validText(s.Name), trace.WithSpanKind(kind), trace.WithTimestamp(s.At))
	if made.IsRecording() { // no sampler that a variable names looks at attributes
		made.SetAttributes(convertAttributes(s.Attributes)...)
	}
	return &span{made, baggage}
}

type span struct {
	trace.Span
	baggage string // is passed on
}

// Context returns what a child of the span is told.
func (s *span) Context() tracing.Context {
	of := s.SpanContext()
	return tracing.Context{
		Parent: "00-" + of.TraceID().String() + "-" + of.SpanID().String() + "-" + of.TraceFlags().String(),
		State:  of.TraceState().String(), Baggage: s.baggage,
	}
}

// End ends the span.
func (s *span) End(at time.Time, failed bool, more ...tracing.Attribute) {
	if s.IsRecording() {
		s.SetAttributes(convertAttributes(more)...)
		if failed {
			s.SetStatus(codes.Error, "")
		}
	}
	s.Span.End(trace.WithTimestamp(at))
}

// validText returns a text that can be exported: one that is no UTF-8 would take all the spans with it that are sent at once.
func validText(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }

// convertAttributes returns the attributes that have a value.
func convertAttributes(all []tracing.Attribute) []attribute.KeyValue {
	out := make([]attribute.KeyValue, 0, len(all))
	for _, a := range all {
		if a.Value != "" {
			out = append(out, attribute.String(a.Name, validText(a.Value)))
		}
	}
	return out
}

// carrier is a Context as the propagator of the SDK reads it.
type carrier struct{ tracing.Context }

func (c carrier) Get(key string) string {
	switch key {
	case tracing.Parent:
		return c.Parent
	case tracing.State:
		return c.State
	}
	return ""
}

func (c carrier) Set(string, string) {}
func (c carrier) Keys() []string     { return []string{tracing.Parent, tracing.State} }
