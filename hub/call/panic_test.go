package call

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"mcphub/hub/audit"
	"mcphub/hub/catalog"
	"mcphub/hub/offering"
	"mcphub/hub/record"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/jsonrpc/lines"
)

// What panics in one call that is recorded leaves no other waiting, nor the ones that come later.
func TestAGroupThatPanics(t *testing.T) {
	t.Parallel()
	to := audit.NewRecorder(audit.Options{Dir: filepath.Join(t.TempDir(), "audit")}, nil)
	if err := to.Open(); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- to.Run(ctx) }()
	defer func() { stop(); <-done }()
	set := &record.Settings{Recorder: to, Required: true}
	s := &Sender{Records: record.New("s", "", func() *record.Settings { return set }, record.NewGroup(to, zerolog.Nop()), nil)}
	tool := &catalog.Tool{Child: "kid", OwnName: "echo"}
	for range 2 {
		var some []*AwaitedAnswer
		var batch lines.Batch
		batch.Do(func(b *lines.Batch) {
			for range 3 {
				awaited := &AwaitedAnswer{Cancellation: &jsonrpc.Cancellation{}, done: make(chan struct{}, 1)}
				c := &fastCall{allowedCall: allowedCall{sender: s}, tool: toolTarget{tool: offering.Tool{Tool: tool}}, receiver: awaited, pooled: &toolCall{}} // without a lease
				c.target = &c.tool
				s.Records.Enqueue(audit.CallRecord{Encoded: audit.EncodeDecision(&audit.DecisionFields{})}, c, b, 0)
				some = append(some, awaited)
			}
		})
		for _, awaited := range some {
			if <-awaited.done; !strings.Contains(string(awaited.answer.Result), audit.ErrGroup.Error()) {
				t.Errorf("it is not told of it: %s", awaited.answer.Result)
			}
		}
	}
}
