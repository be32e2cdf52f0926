package quota

import (
	"strings"
	"testing"
)

// A name that looks like another one is told apart where it is shown.
func TestRefusalsShowWhoseTheyAre(t *testing.T) {
	t.Parallel()
	s := New("eve\u200b@login.test", Limits{Calls: 1, Rate: 1, Burst: 1}, &Callers{})
	var refused error
	for refused == nil {
		refused = s.Count("tools/call")
	}
	if !strings.HasPrefix(refused.Error(), `eve\u200b@login.test makes`) {
		t.Error(refused.Error())
	}
}
