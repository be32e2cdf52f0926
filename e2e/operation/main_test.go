package operation

import (
	"fmt"
	"os"
	"testing"

	"mcphub/e2e/world"
)

func TestMain(m *testing.M) {
	if order := os.Getenv(callerVariable); order != "" {
		os.Exit(callAllTheTime(order))
	}
	if order := os.Getenv(podVariable); order != "" {
		fmt.Fprintln(os.Stderr, enterPod(order))
		os.Exit(1)
	}
	world.Main(m)
}

// The go command keeps a result while what the test read is as it was; it cannot know that these tests built the hub from
// source. So one of them looks at all of it.
func TestAResultIsKeptOnlyWhileTheHubIsTheSame(t *testing.T) {
	t.Parallel()
	world.LookAtTheSource(t)
}

// obj is a JSON object.
type obj = map[string]any

// podVariable has this program be the process of a container, as it says; enterPod becomes that, on Linux.
const podVariable = "MCPHUB_TEST_POD"

var enterPod func(order string) error
