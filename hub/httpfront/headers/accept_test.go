package headers

import (
	"net/http"
	"testing"
)

func TestPreferEvents(t *testing.T) {
	t.Parallel()
	for accept, want := range map[string]bool{
		"":                                    false,
		"application/json, text/event-stream": false,
		"application/json,text/event-stream":  false,
		"text/event-stream, application/json": true,
		"text/event-stream":                   true,
		"*/*":                                 false,
		"application/json;q=0.5, text/event-stream":            true,
		"text/event-stream;q=0.5, application/json":            false,
		"text/event-stream;q=0, application/json":              false,
		"text/html, TEXT/Event-Stream ; q=1, application/json": true,
	} {
		if got := PreferEvents(http.Header{"Accept": {accept}}); got != want {
			t.Errorf("%q: %v", accept, got)
		}
	}
}
