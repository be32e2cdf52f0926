package tolerance

import (
	"testing"

	"mcphub/e2e/world"
)

func TestMain(m *testing.M) { world.Main(m) }

// The go command keeps a result while what the test read is as it was; it cannot know that these tests built the hub from
// source. So one of them looks at all of it.
func TestAResultIsKeptOnlyWhileTheHubIsTheSame(t *testing.T) {
	t.Parallel()
	world.LookAtTheSource(t)
}

// obj is a JSON object.
type obj = map[string]any
