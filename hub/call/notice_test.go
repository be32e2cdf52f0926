package call

import (
	"testing"

	"mcphub/hub/client"
)

// A request that waits for its lookup and then for its child has one notice: the values of its progress must increase.
func TestARequestHasOneNotice(t *testing.T) {
	t.Parallel()
	s := &Sender{}
	if client.RequestOf(s.contextWithNotice(t.Context(), nil)).Notice != nil {
		t.Error("without a token its client is told what it waits for")
	}
	lookup := s.contextWithNotice(t.Context(), []byte("1"))
	first, then := client.RequestOf(lookup).Notice, client.RequestOf(s.contextWithNotice(lookup, []byte("1"))).Notice
	if first == nil || first != then {
		t.Errorf("%p for the lookup and %p for the call", first, then)
	}
}
