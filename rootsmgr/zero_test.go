package rootsmgr_test

import (
	"testing"

	"mcphub/e2e/rootstest"
	. "mcphub/rootsmgr"
	"mcphub/rootsmgr/guard"
)

// TestZero: what nothing was put into opens nothing.
func TestZero(t *testing.T) {
	t.Parallel()
	dir := rootstest.Tree(t)
	var none *Snapshot
	for name, s := range map[string]*Snapshot{
		"nil": none, "zero": {}, "no roots": NewSnapshot(guard.OS{}, 1, OriginAsked, nil),
		"no fs": NewSnapshot(nil, 1, OriginConfig, []RootEntry{{URI: dir}}),
	} {
		if _, err := s.Guard().Check(dir); err == nil || !s.Guard().IsEmpty() || s.Len() != 0 || s.Paths() == nil || len(s.Paths()) != 0 {
			t.Errorf("%s: %v, roots %v", name, err, s.Paths())
		}
	}
	if v := (RootsView{}); v.Open || v.Case != CaseFailed || !v.Snapshot.Guard().IsEmpty() || v.Why() == "" {
		t.Errorf("zero View: %+v", v)
	}
}
