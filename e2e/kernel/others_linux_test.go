package kernel

import (
	"testing"

	"mcphub/e2e/world"
)

// guards are the tests of what keeps servers, hubs and sessions apart. They run here as the one who runs the tests, and
// again as others.
var guards = []string{
	"TestAConfinedShellAndItsHub",
}

// What the guards promise holds no matter who runs the hub: root, an ordinary user, and root inside of a container.
func TestGuardsForOthers(t *testing.T) {
	t.Parallel()
	t.Run("an ordinary user", func(t *testing.T) { world.AsOrdinaryUser(t, guards) })
	t.Run("in a container", func(t *testing.T) { world.InContainer(t, guards) })
}
