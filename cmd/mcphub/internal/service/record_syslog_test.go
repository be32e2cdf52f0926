package service

import (
	"context"
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"mcphub/cmd/mcphub/internal/delivery"
	"mcphub/cmd/mcphub/internal/retention"
	"mcphub/e2e/bounds"
	"mcphub/hub"
)

// TestARecordIsSent: the collector of hub.json has the lines of a hub, the last one too.
func TestARecordIsSent(t *testing.T) {
	t.Parallel()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	got := make(chan string, 1)
	begun := make(chan struct{})
	go func() {
		conn, err := ln.Accept()
		if err != nil {
			got <- err.Error()
			return
		}
		_ = conn.SetDeadline(time.Now().Add(bounds.Patience))
		first := make([]byte, 1)
		_, _ = io.ReadFull(conn, first)
		close(begun)
		all, _ := io.ReadAll(conn)
		_ = conn.Close()
		got <- string(all)
	}()
	cfg := hub.Config{Log: zerolog.Nop()}
	ctx, stop := context.WithCancel(t.Context())
	run := keepRecord(&cfg, filepath.Join(t.TempDir(), "audit"), false, retention.Bounds{}, recordTo{collectors: []delivery.Collector{delivery.Syslog{Address: "tcp://" + ln.Addr().String()}}})
	done := make(chan error, 1)
	go func() { done <- run(ctx) }()
	<-begun
	stop()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if text := <-got; !strings.Contains(text, `"kind":"open"`) || !strings.Contains(text, `"kind":"close"`) {
		t.Errorf("the collector has %s", text)
	}
}
