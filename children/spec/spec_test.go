package spec

import (
	"reflect"
	"slices"
	"testing"
)

func TestSpecEqual(t *testing.T) {
	t.Parallel()
	a := Spec{Name: "x", Command: "c", Args: []string{}, Env: nil, CallTimeout: DefaultCallTimeout}
	b := Spec{Name: "x", Command: "c", Env: map[string]string{}}
	if !a.Equal(b) {
		t.Error("empty and absent, set and default must be equal")
	}
}

// TestEveryFieldCounts keeps Equal complete: a field that it forgets would be a change that never takes effect.
func TestEveryFieldCounts(t *testing.T) {
	t.Parallel()
	base := Spec{Name: "kid", Command: "cmd"}
	for _, at := range reflect.VisibleFields(reflect.TypeFor[Spec]()) {
		fields := [][]int{at.Index}
		if at.Type.Kind() == reflect.Struct {
			fields = nil
			for i := range at.Type.NumField() {
				fields = append(fields, append(slices.Clone(at.Index), i))
			}
		}
		for _, field := range fields {
			fieldCounts(t, base, field, at.Name)
		}
	}
}

func fieldCounts(t *testing.T, base Spec, field []int, name string) {
	other := base
	f := reflect.ValueOf(&other).Elem().FieldByIndex(field)
	if name == "Supply" { // which is set when the child starts
		return
	}
	switch f.Kind() {
	case reflect.String:
		f.SetString("other")
	case reflect.Bool:
		f.SetBool(true)
	case reflect.Slice:
		f.Set(reflect.ValueOf([]string{"other"}))
	case reflect.Map:
		f.Set(reflect.ValueOf(map[string]string{"OTHER": "x"}))
	case reflect.Uint8, reflect.Uint64:
		f.SetUint(1)
	case reflect.Int, reflect.Int64:
		f.SetInt(12345)
	case reflect.Struct:
		if f = f.Field(0); f.Kind() == reflect.String { // TLS.CA.Path
			f.SetString("other")
		} else {
			f.SetBool(true) // Sandbox.Network.On
		}
	case reflect.Interface: // Login, which is set when the child starts
		return
	default:
		t.Fatalf("field %s %v is of a kind that this test does not know: %s", name, field, f.Kind())
	}
	told := slices.Contains([]string{"At", "PinsAt"}, reflect.TypeOf(base).FieldByIndex(field).Name) || name == "ShareWhy"      // for messages
	if want := name == "Revision" || name == "Start" || name == "Environ" || name == "Dir" || told; base.Equal(other) != want { // Start says when, and not what
		t.Errorf("with another %s %v Equal gives %t", name, field, !want)
	}
}
