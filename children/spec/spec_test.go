package spec

import "testing"

func TestSpecEqual(t *testing.T) {
	t.Parallel()
	a := Spec{Name: "x", Command: "c", Args: []string{}, Env: nil, CallTimeout: DefaultCallTimeout}
	b := Spec{Name: "x", Command: "c", Env: map[string]string{}}
	if !a.Equal(b) {
		t.Error("empty and absent, set and default must be equal")
	}
	b.Inherit = []string{"X"}
	if a.Equal(b) {
		t.Error("another environment is another child")
	}
}
