package setup

import (
	"testing"

	"go.uber.org/goleak"

	"mcphub/e2e/childtest"
)

func TestMain(m *testing.M) {
	childtest.MainIfChild()
	goleak.VerifyTestMain(m)
}
