package guard_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"mcphub/e2e/rootstest"
	"mcphub/rootsmgr/guard"
)

// TestRootThatClimbsOutOfNothing: a spelling that enters what does not exist
// and climbs out again names nothing, although it is something once cleaned.
func TestRootThatClimbsOutOfNothing(t *testing.T) {
	t.Parallel()
	dir := rootstest.Tree(t, "in/")
	d := guard.NewDisk(guard.OS{})
	for _, path := range []string{"/in?x=/../", "/nothing/..", "/in/nothing/../.."} {
		if f, err := d.Canonical(dir + path); !errors.Is(err, guard.ErrMissing) {
			t.Errorf("%s became %+v, %v", path, f, err)
		}
		if _, err := os.Stat(filepath.Clean(dir + path)); err != nil {
			t.Errorf("control: cleaned as text it should exist: %v", err)
		}
	}
	if _, err := d.Canonical(dir + "/in/../in"); err != nil {
		t.Errorf("an honest spelling was skipped: %v", err)
	}
}
