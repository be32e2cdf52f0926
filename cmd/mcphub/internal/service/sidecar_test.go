package service

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"mcphub/children/spec"
	"mcphub/cmd/mcphub/internal/setup"
	"mcphub/hub"
)

// What is said before the Hub starts, or if it never does, is written too,
// and the place among the logs is given back.
func TestSidecarWithoutAHub(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "logs")
	for range 2 {
		made := setup.Result{Hub: hub.Config{Log: zerolog.Nop()}, Logs: dir}
		a := openSidecar(&made, nil)
		made.Hub.OnStderrLine(spec.Key{Child: "kid"}, 1, "word")
		a.stopAll()
	}
	text, err := os.ReadFile(filepath.Join(dir, "kid.log"))
	if err != nil || strings.Count(string(text), "kid[1] -: word\n") != 2 {
		t.Errorf("%q, %v", text, err)
	}
	made := setup.Result{Hub: hub.Config{Log: zerolog.Nop()}, Logs: filepath.Join(dir, "kid.log", "no")}
	if a := openSidecar(&made, nil); a.book != nil || made.Hub.OnStderrLine != nil {
		t.Error("a folder below a file holds logs")
	}
}
