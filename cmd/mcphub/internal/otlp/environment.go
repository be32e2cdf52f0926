package otlp

import (
	"fmt"
	"strings"
)

// Variables that ask for traces, or against them.
const (
	varDisabled = "OTEL_SDK_DISABLED"
	varExporter = "OTEL_TRACES_EXPORTER"
	varEndpoint = "OTEL_EXPORTER_OTLP_ENDPOINT"
	varTraces   = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
	varProtocol = "OTEL_EXPORTER_OTLP_PROTOCOL"
	varOfTraces = "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"

	protocol = "http/protobuf"
)

// Wanted reports whether the environment asks for traces: "" for no, else the variable that
// does. The error reports what it asks for that there is not.
func Wanted(getenv func(string) string) (by string, err error) {
	if strings.EqualFold(getenv(varDisabled), "true") {
		return "", nil
	}
	switch exporter := getenv(varExporter); exporter {
	case "":
		for _, name := range []string{varTraces, varEndpoint} {
			if getenv(name) != "" {
				by = name
				break
			}
		}
	case "none":
	case "otlp":
		by = varExporter
	default:
		return varExporter, fmt.Errorf("%s is %q: traces are exported by otlp alone; set it to otlp or none", varExporter, exporter)
	}
	if by == "" {
		return "", nil
	}
	for _, name := range []string{varOfTraces, varProtocol} {
		if said := getenv(name); said == protocol {
			break
		} else if said != "" {
			return by, fmt.Errorf("%s is %q: traces are exported by %s alone; set it to that, and name the collector's port for it (4318 as a rule)", name, said, protocol)
		}
	}
	return by, nil
}

// Missing reports that a program without the exporter was asked for traces by a variable.
func Missing(by string) string {
	return by + " is set, and this build of mcphub has no exporter for traces: take the container image, or build one with go build -tags otlp ./cmd/mcphub; contexts of traces are passed on"
}
