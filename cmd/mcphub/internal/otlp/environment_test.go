package otlp

import (
	"strings"
	"testing"
)

func TestWanted(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ env, by, wrong string }{
		{"", "", ""},
		{"OTEL_EXPORTER_OTLP_ENDPOINT=http://c:4318", "OTEL_EXPORTER_OTLP_ENDPOINT", ""},
		{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://c:4318/v1/traces", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", ""},
		{"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT=http://c:4318", "", ""},
		{"OTEL_TRACES_EXPORTER=otlp", "OTEL_TRACES_EXPORTER", ""},
		{"OTEL_TRACES_EXPORTER=none OTEL_EXPORTER_OTLP_ENDPOINT=http://c:4318", "", ""},
		{"OTEL_SDK_DISABLED=true OTEL_TRACES_EXPORTER=otlp", "", ""},
		{"OTEL_SDK_DISABLED=false OTEL_TRACES_EXPORTER=otlp", "OTEL_TRACES_EXPORTER", ""},
		{"OTEL_TRACES_EXPORTER=zipkin", "OTEL_TRACES_EXPORTER", "zipkin"},
		{"OTEL_TRACES_EXPORTER=otlp OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf", "OTEL_TRACES_EXPORTER", ""},
		{"OTEL_TRACES_EXPORTER=otlp OTEL_EXPORTER_OTLP_PROTOCOL=grpc", "OTEL_TRACES_EXPORTER", "grpc"},
		{"OTEL_TRACES_EXPORTER=otlp OTEL_EXPORTER_OTLP_PROTOCOL=grpc OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=http/protobuf", "OTEL_TRACES_EXPORTER", ""},
		{"OTEL_EXPORTER_OTLP_PROTOCOL=grpc", "", ""},
	} {
		env := map[string]string{}
		for _, one := range strings.Fields(tc.env) {
			name, value, _ := strings.Cut(one, "=")
			env[name] = value
		}
		by, err := Wanted(func(name string) string { return env[name] })
		if by != tc.by || (err != nil) != (tc.wrong != "") || err != nil && !strings.Contains(err.Error(), tc.wrong) {
			t.Errorf("%s: %q, %v, want %q and %q", tc.env, by, err, tc.by, tc.wrong)
		}
	}
}
