package admin

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// endless is JSON that no parser may follow with its stack. encoding/json counts
// the depth of a value, without one, before it decodes it.
var endless = strings.Repeat(`{"a":[`, 1<<20)

// A socket in the folder may be anybody's who runs as this user; what is sent to a
// hub may be too.
func TestEndlessDepthIsAnError(t *testing.T) {
	t.Parallel()
	h := approving(t, &counter{}, anybody)
	if _, err := askHub[outcome](t.Context(), h, answerTime, http.MethodPost, "/approvals/answer", []byte(endless)); err == nil {
		t.Error("it was taken for an answer")
	}
	if _, err := h.Status(t.Context()); err != nil {
		t.Errorf("the hub is gone: %v", err)
	}

	other := folder(t)
	if err := os.MkdirAll(other, 0o700); err != nil {
		t.Fatal(err)
	}
	ln, err := listenAt(filepath.Join(other, "1-00000000.sock"))
	if err != nil {
		t.Fatal(err)
	}
	hostile := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(endless)) })}
	done := make(chan error, 1)
	go func() { done <- hostile.Serve(ln) }()
	defer func() { _ = hostile.Close(); <-done }()
	for _, h := range await(t, 1, other) {
		if _, err := h.Status(t.Context()); err == nil {
			t.Error("it was taken for a report")
		}
	}
}
