package config

import (
	"reflect"
	"strings"

	"mcphub/cmd/mcphub/internal/config/keys"
)

// AfterRestart lists the keys in which f differs from what a hub was started
// with and that take effect only when it is started again: a warning for
// each, in the order of docs/config.md.
func (f *File) AfterRestart(started *File) []Problem {
	var out []Problem
	for _, k := range keys.Describe() {
		path := strings.Split(k.Path, ".")
		if !k.Restart || reflect.DeepEqual(f.valueAt(path), started.valueAt(path)) {
			continue
		}
		p := f.At(path...)
		p.Severity, p.Text = SeverityWarning, "takes effect after a restart"
		out = append(out, p)
	}
	return out
}

// valueAt returns the value of a key that lies in objects alone. The tags of the types
// name the keys.
func (f *File) valueAt(path []string) any {
	at := reflect.ValueOf(f).Elem()
	for _, step := range path {
		field := 0
		for at.Type().Field(field).Tag.Get("koanf") != step {
			field++
		}
		at = at.Field(field)
	}
	return at.Interface()
}
