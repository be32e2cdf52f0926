package otlp

import (
	"strings"
	"testing"
)

func TestWanted(t *testing.T) {
	t.Parallel()
	type wish struct{ env, by, wrong string }
	traces := []wish{
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
	}
	logs := []wish{
		{"", "", ""},
		{"OTEL_EXPORTER_OTLP_ENDPOINT=http://c:4318", "", ""}, // given for traces
		{"OTEL_TRACES_EXPORTER=otlp", "", ""},
		{"OTEL_EXPORTER_OTLP_LOGS_ENDPOINT=http://c:4318/v1/logs", "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT", ""},
		{"OTEL_LOGS_EXPORTER=otlp", "OTEL_LOGS_EXPORTER", ""},
		{"OTEL_LOGS_EXPORTER=none OTEL_EXPORTER_OTLP_LOGS_ENDPOINT=http://c:4318", "", ""},
		{"OTEL_SDK_DISABLED=true OTEL_LOGS_EXPORTER=otlp", "", ""},
		{"OTEL_LOGS_EXPORTER=console", "OTEL_LOGS_EXPORTER", "logs are exported by otlp alone"},
		{"OTEL_LOGS_EXPORTER=otlp OTEL_EXPORTER_OTLP_PROTOCOL=grpc", "OTEL_LOGS_EXPORTER", "grpc"},
		{"OTEL_LOGS_EXPORTER=otlp OTEL_EXPORTER_OTLP_PROTOCOL=grpc OTEL_EXPORTER_OTLP_LOGS_PROTOCOL=http/protobuf", "OTEL_LOGS_EXPORTER", ""},
	}
	check := func(s Signal, tc wish) {
		env := map[string]string{}
		for _, one := range strings.Fields(tc.env) {
			name, value, _ := strings.Cut(one, "=")
			env[name] = value
		}
		by, err := Wanted(func(name string) string { return env[name] }, s)
		if by != tc.by || (err != nil) != (tc.wrong != "") || err != nil && !strings.Contains(err.Error(), tc.wrong) {
			t.Errorf("%s: %q, %v, want %q and %q", tc.env, by, err, tc.by, tc.wrong)
		}
	}
	for _, tc := range traces {
		check(Traces, tc)
	}
	for _, tc := range logs {
		check(Logs, tc)
	}
}
