package service

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"mcphub/cmd/mcphub/internal/retention"
	"mcphub/e2e/bounds"
	"mcphub/e2e/recordtest"
	"mcphub/hub"
	"mcphub/hub/audit/trail"
)

// TestAHubKeepsItsRecordWithinBounds: a hub that is told so removes old files, and a run of one call does not.
func TestAHubKeepsItsRecordWithinBounds(t *testing.T) {
	t.Parallel()
	for _, short := range []bool{false, true} {
		dir := t.TempDir()
		files := recordtest.Write(t, dir, recordtest.Shape{Lines: 100, PerFile: 25, Began: time.Now().AddDate(0, -1, 0), Every: time.Second, Principals: 1, Sessions: 1})
		exists := func() bool {
			_, err := os.Stat(files[len(files)-1])
			return err == nil
		}
		cfg := hub.Config{Log: zerolog.Nop()}
		if short {
			if err := WithRecord(&cfg, dir, func() error { return nil }); err != nil || !exists() {
				t.Errorf("a short run removes files: %v", err)
			}
			continue
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		run := keepRecord(&cfg, dir, short, retention.Bounds{Age: time.Hour}, recordTo{})
		go func() { ended <- run(ctx) }()
		if !bounds.Within(bounds.Patience, func() bool { return !exists() }) {
			t.Error("a hub keeps what is too old")
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if r, err := trail.Verify(dir); err != nil || !r.IsWhole() || r.Removed != 100 {
			t.Errorf("%+v: %v", r, err)
		}
	}
}
