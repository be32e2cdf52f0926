package rootsmgr

import (
	"os"
	"path/filepath"
	"testing"

	"mcphub/rootsmgr/guard"
)

// TestRootThatClimbsOutOfNothing: a spelling that enters what does not exist
// and climbs out again names nothing, although it is something once cleaned.
func TestRootThatClimbsOutOfNothing(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "in"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, uri := range []string{"file://" + dir + "/in?x=/../", "file://" + dir + "/nothing/..", "file://" + dir + "/in/nothing/../.."} {
		if s := NewSnapshot(guard.OS{}, 1, OriginAsked, []Entry{{URI: uri}}); s.Len() != 0 || len(s.Skipped()) != 1 {
			t.Errorf("%s became %v", uri, s.Paths())
		}
		if _, err := os.Stat(filepath.Clean(uri[len("file://"):])); err != nil {
			t.Errorf("control: cleaned as text it should exist: %v", err)
		}
	}
	if s := NewSnapshot(guard.OS{}, 1, OriginAsked, []Entry{{URI: "file://" + dir + "/in/../in"}}); s.Len() != 1 {
		t.Errorf("an honest spelling was skipped: %v", s.Skipped())
	}
}
