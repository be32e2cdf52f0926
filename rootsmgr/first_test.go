package rootsmgr_test

import (
	"context"
	"testing"

	"github.com/rs/zerolog"

	"mcphub/e2e/seeds"
	. "mcphub/rootsmgr"
	"mcphub/rootsmgr/guard"
)

// TestFirstComesAfterTheAnswer: the one who waited for the first answer finds
// it, and not the empty view from before.
func TestFirstComesAfterTheAnswer(t *testing.T) {
	t.Parallel()
	fallback := Fallback{Origin: OriginConfig, Entries: []RootEntry{{URI: t.TempDir()}}}
	for i := range seeds.Cases(t, 3000) {
		m := NewManager(nil, fallback, DefaultSettings(), guard.OS{}, zerolog.Nop())
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- m.Run(ctx) }()
		m.NoteHandshake(false, false)
		<-m.First()
		n := m.RootsView().Snapshot.Len()
		cancel()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if n != 1 {
			t.Fatalf("round %d: %d roots at first", i, n)
		}
	}
}
