package catalog

import (
	"testing"
	"time"
)

// What a server of one session alone defines otherwise is told to that session, and to the operator.
func TestWhoIsToldOfRedefinitions(t *testing.T) {
	t.Parallel()
	var r Redefinitions
	r.Add("own", "a", "x", []string{"description"}, time.Now())
	r.Add("shared", "", "y", []string{"inputSchema"}, time.Now())
	r.Add("own", "b", "x", []string{"description"}, time.Now())
	r.Add("own", "a", "x", []string{"title"}, time.Now())
	if all := r.List(); len(all) != 3 || all[2].Times != 2 || len(all[2].Parts) != 2 {
		t.Errorf("%+v", all)
	}
	for session, want := range map[string]int{"a": 2, "b": 2, "c": 1} {
		if got := r.VisibleTo(session); len(got) != want || got[0].Server == "own" && got[0].owner != session {
			t.Errorf("%s is told %+v", session, got)
		}
	}
}
