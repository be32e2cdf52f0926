package children_test

import (
	"testing"

	"mcphub/children"
	"mcphub/children/childtest"
)

func TestLaunchers(t *testing.T) {
	spec := func(s childtest.Script) children.Spec { return childtest.Spec("kid", s) }
	t.Run("stdio", func(t *testing.T) { childtest.Suite(t, children.Stdio{}, spec) })
	t.Run("pipes", func(t *testing.T) { childtest.Suite(t, childtest.Pipes{}, spec) })
}
