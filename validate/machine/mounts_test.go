package machine

import (
	"slices"
	"strings"
	"testing"

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
		if !slices.ContainsFunc(engines, func(engine string) bool { return strings.HasPrefix(name, engine) }) {
			t.Errorf("%s runs containers and is not among the engines", name)
		}
	}
	if boxes == 0 {
		t.Error("the table has none")
	}
}
