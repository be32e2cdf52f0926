package setup

import (
	"testing"

	"go.uber.org/goleak"

	"mcphub/children/childtest"
)

func TestMain(m *testing.M) {
	childtest.MainIfChild()
	goleak.VerifyTestMain(m)
}
