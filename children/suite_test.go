package children_test

import (
	"net/http/httptest"
	"testing"

	"mcphub/children"
	"mcphub/children/spec"
	"mcphub/e2e/childtest"
)

func TestLaunchers(t *testing.T) {
	t.Parallel()
	spec := func(s childtest.Script) spec.Spec { return childtest.Spec("kid", s) }
	t.Run("stdio", func(t *testing.T) { childtest.Suite(t, children.ByURL{}, spec) })
	t.Run("pipes", func(t *testing.T) { childtest.Suite(t, childtest.Pipes{}, spec) })
}

func TestLaunchersInBothEras(t *testing.T) {
	t.Parallel()
	child := func(_ *testing.T, s childtest.Script) spec.Spec { return childtest.Spec("kid", s) }
	t.Run("stdio", func(t *testing.T) { childtest.Eras(t, children.ByURL{}, child) })
	t.Run("pipes", func(t *testing.T) { childtest.Eras(t, childtest.Pipes{}, child) })
	t.Run("http", func(t *testing.T) {
		childtest.Eras(t, children.ByURL{}, func(t *testing.T, s childtest.Script) spec.Spec {
			web := childtest.NewWeb(s)
			server := httptest.NewServer(web)
			t.Cleanup(func() {
				web.Close()
				server.Close()
			})
			return web.Spec("kid", server.URL)
		})
	})
}
