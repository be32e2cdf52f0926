package otlp

import (
	"fmt"
	"strings"
)

// Variables that ask for what is exported, or against it.
const (
	varDisabled = "OTEL_SDK_DISABLED"
	varEndpoint = "OTEL_EXPORTER_OTLP_ENDPOINT"

	protocol = "http/protobuf"
)

// A Signal is a kind of what is exported.
type Signal struct {
	name   string // as messages have it
	word   string // as variables have it
	byBase bool   // the address for all signals asks for it
}

// The signals. The record of decisions has paths and names: an address that was given for traces does not ask for it.
var (
	Traces = Signal{"traces", "TRACES", true}
	Logs   = Signal{"logs", "LOGS", false}
)

func (s Signal) varExporter() string { return "OTEL_" + s.word + "_EXPORTER" }

// variable returns the name of the signal's own variable: of OTEL_EXPORTER_OTLP_HEADERS the one for traces is OTEL_EXPORTER_OTLP_TRACES_HEADERS.
func (s Signal) variable(setting string) string {
	return "OTEL_EXPORTER_OTLP_" + s.word + "_" + setting
}

// setting returns what the signal's own variable says, else what the one for all signals says, and the name of that variable.
func (s Signal) setting(getenv func(string) string, setting string) (text, by string) {
	for _, by = range []string{s.variable(setting), "OTEL_EXPORTER_OTLP_" + setting} {
		if text = getenv(by); text != "" {
			return text, by
		}
	}
	return "", ""
}

// Wanted reports whether the environment asks for a signal: "" for no, else the variable that
// does. The error reports what it asks for that there is not.
func Wanted(getenv func(string) string, s Signal) (by string, err error) {
	if strings.EqualFold(getenv(varDisabled), "true") {
		return "", nil
	}
	switch exporter := getenv(s.varExporter()); exporter {
	case "":
		if own := s.variable("ENDPOINT"); getenv(own) != "" {
			by = own
		} else if s.byBase && getenv(varEndpoint) != "" {
			by = varEndpoint
		}
	case "none":
	case "otlp":
		by = s.varExporter()
	default:
		return s.varExporter(), fmt.Errorf("%s is %q: %s are exported by otlp alone; set it to otlp or none", s.varExporter(), exporter, s.name)
	}
	if by == "" {
		return "", nil
	}
	if said, where := s.setting(getenv, "PROTOCOL"); said != "" && said != protocol {
		return by, fmt.Errorf("%s is %q: %s are exported by %s alone; set it to that, and name the collector's port for it (4318 as a rule)", where, said, s.name, protocol)
	}
	return by, nil
}

// Missing reports that a program without the exporter was asked for a signal by a variable.
func Missing(by string, s Signal) string {
	return by + " is set, and this build of mcphub has no exporter for " + s.name + ": take the container image, or build one with go build -tags otlp ./cmd/mcphub; contexts of traces are passed on"
}
