package machine

import (
	"strings"
	"testing"

	"mcphub/internal/commandline"
	"mcphub/validate/shell"
)

// TestEngines: no program that the table knows to run containers is left out.
func TestEngines(t *testing.T) {
	t.Parallel()
	boxes := 0
	for name, p := range shell.Programs() {
		if !p.Box {
			continue
		}
		boxes++
		engine, _, _ := strings.Cut(name, "+")
		if known, _, _ := commandline.LauncherOf(engine); known != "docker" {
			t.Errorf("%s runs containers, and its command lines are not read", name)
		}
	}
	if boxes == 0 {
		t.Error("the table has none")
	}
}
