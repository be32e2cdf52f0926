package definition

import (
	"strings"
	"testing"
)

// TestNumbersOfResults: a number that Go cannot hold is one in JavaScript, so a schema with it stays as it is.
func TestNumbersOfResults(t *testing.T) {
	t.Parallel()
	const def = `{"name":"t","inputSchema":{"type":"object"},"outputSchema":{"type":"object","default":1e400,"properties":{"p":{"enum":[1e400,-0,123456789012345678901234567890]}}}}`
	if out, mended, err := Older(Read([]byte(def))); err != nil || len(mended) > 0 || string(out) != def {
		t.Errorf("%s, %q, %v", out, mended, err)
	}
	// The control: what Ajv does not compile is left out all the same.
	bad := strings.Replace(def, `{"enum"`, `{"type":"none","enum"`, 1)
	if out, mended, err := Older(Read([]byte(bad))); err != nil || len(mended) == 0 || strings.Contains(string(out), "outputSchema") {
		t.Errorf("%s, %q, %v", out, mended, err)
	}
}
