package telemetry

import (
	"testing"

	"github.com/prometheus/otlptranslator"
)

// TestNamesAreTranslatedAsPrometheusDoes: otlptranslator is what Prometheus itself translates by.
func TestNamesAreTranslatedAsPrometheusDoes(t *testing.T) {
	t.Parallel()
	namer := otlptranslator.NewMetricNamer("", otlptranslator.UnderscoreEscapingWithSuffixes)
	for _, name := range []string{serverOperation, clientOperation, serverSession, clientSession} {
		want, err := namer.Build(otlptranslator.Metric{Name: name, Unit: "s", Type: otlptranslator.MetricTypeHistogram})
		if got := onPage(name); err != nil || got != want {
			t.Errorf("%s is called %s, want %s (%v)", name, got, want, err)
		}
	}
	labels := otlptranslator.LabelNamer{}
	for _, name := range []string{attrMethod, attrTool, attrOperation, attrError, attrCode, attrVersion, attrTransport, attrServer, attrPrincipal} {
		want, err := labels.Build(name)
		if got := makeLabel(name, false).Name; err != nil || got != want {
			t.Errorf("%s is called %s, want %s (%v)", name, got, want, err)
		}
	}
}
