package hub

import (
	"testing"

	"mcphub/e2e/spectest"
	"mcphub/hub/modern"
	"mcphub/internal/methods"
)

// TestMethodsAreServed holds the table of methods and what serves them against each other: in the era of a version, each
// request of its schema that a client makes has a handler, and what is no request of a client has none.
func TestMethodsAreServed(t *testing.T) {
	compared := 0
	for _, version := range spectest.Versions() {
		for _, name := range spectest.Methods(version) {
			handler := (&Session{}).handlerOf(name)
			by := handler.handshake
			if version == modern.Version {
				by = handler.modern
			}
			request := handler.Kind != methods.Question && handler.Kind != methods.Notification
			if compared++; (by != nil) != request || !request && (handler.handshake != nil || handler.modern != nil) {
				t.Errorf("%s: %s, a request of clients: %t, is served: %t", version, name, request, by != nil)
			}
		}
	}
	if compared < 50 {
		t.Errorf("%d methods were compared", compared)
	}
}
