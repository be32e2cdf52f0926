package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"mcphub/children"
	"mcphub/hub"
)

// A file that could not be taken leaves what was read before, and says so,
// until one is taken again.
func TestConfigState(t *testing.T) {
	var c configState
	c.taken("hub.json")
	first := c.report()
	if !filepath.IsAbs(first.Path) || first.Loaded.IsZero() || first.Error != "" || first.ErrorAt != nil {
		t.Errorf("taken: %+v", first)
	}
	c.refused(errors.New("hub.json:3: no"))
	if r := c.report(); r.Path != first.Path || r.Loaded != first.Loaded || r.Error != "hub.json:3: no" || r.ErrorAt == nil {
		t.Errorf("refused: %+v", r)
	}
	c.taken(first.Path)
	if r := c.report(); r.Error != "" || r.ErrorAt != nil || r.Loaded.Before(first.Loaded) {
		t.Errorf("taken again: %+v", r)
	}
	c.taken("")
	if r := c.report(); r.Path != "" {
		t.Errorf("no file: %+v", r)
	}
}

// What is said before the Hub starts, or where it never does, is written too,
// and the place among the logs is given back.
func TestAttendWithoutAHub(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "logs")
	for range 2 {
		cfg := hub.Config{Log: zerolog.Nop()}
		a := attend(&cfg, dir, "")
		cfg.Said(children.Key{Child: "kid"}, 1, "word")
		a.stop()
	}
	text, err := os.ReadFile(filepath.Join(dir, "kid.log"))
	if err != nil || strings.Count(string(text), "kid[1] -: word\n") != 2 {
		t.Errorf("%q, %v", text, err)
	}
	cfg := hub.Config{Log: zerolog.Nop()}
	if a := attend(&cfg, filepath.Join(dir, "kid.log", "no"), ""); a.book != nil || cfg.Said != nil {
		t.Error("a folder below a file holds logs")
	}
}
