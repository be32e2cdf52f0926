package world

import (
	"bytes"
	"encoding/json"
	"testing"
)

// PathArgs gives arguments with one path.
func PathArgs(t testing.TB, path string) string { return Raw(t, obj{"path": path}) }

// Decode reads JSON and keeps numbers as they are written.
func Decode(t testing.TB, b []byte, v any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	if err := d.Decode(v); err != nil {
		t.Fatalf("%v in %.300s", err, b)
	}
}
