package operation

import (
	"strings"
	"testing"
	"time"

	"mcphub/e2e/world"
)

// TestABuildWithoutTheExporterSaysSo: once, and serves.
func TestABuildWithoutTheExporterSaysSo(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	config := w.Config(obj{"rec": w.Recorder("rec")})
	said := make(chan string, 100)
	w.Heard = func(line string) { said <- line }
	w.ServeHTTP(config, "OTEL_TRACES_EXPORTER=otlp")
	deadline := time.After(world.WaitLimit)
	for {
		select {
		case line := <-said:
			if strings.Contains(line, "OTEL_TRACES_EXPORTER is set, and this build of mcphub has no exporter") {
				return
			}
		case <-deadline:
			t.Fatal("it did not say so")
		}
	}
}
