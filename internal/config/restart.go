package config

import (
	"reflect"
	"strings"

	"mcphub/internal/config/keys"
)

// fixed are the keys that the table marks, and what they hold.
var fixed = map[string]func(*File) any{
	"secrets.store":    func(f *File) any { return f.Secrets.Store },
	"secrets.identity": func(f *File) any { return f.Secrets.Identity },
	"audit.dir":        func(f *File) any { return f.Audit.Dir },
	"logs.dir":         func(f *File) any { return f.Logs.Dir },
	"http.listen":      func(f *File) any { return f.HTTP.Listen },
	"http.auth":        func(f *File) any { return f.HTTP.Auth },
	"http.hosts":       func(f *File) any { return f.HTTP.Hosts },
	"http.origins":     func(f *File) any { return f.HTTP.Origins },
	"http.poll":        func(f *File) any { return f.HTTP.Poll },
	"http.stateKey":    func(f *File) any { return f.HTTP.StateKey },
	"http.tokens":      func(f *File) any { return f.HTTP.Tokens },
	"http.resource":    func(f *File) any { return f.HTTP.Resource },
	"http.issuers":     func(f *File) any { return f.HTTP.Issuers },
	"limits.frame":     func(f *File) any { return f.Limits.Frame },
	"limits.id":        func(f *File) any { return f.Limits.ID },
	"limits.sessions":  func(f *File) any { return f.Limits.Sessions },
	"limits.calls":     func(f *File) any { return f.Limits.Calls },
	"limits.children":  func(f *File) any { return f.Limits.Children },
	"limits.starting":  func(f *File) any { return f.Limits.Starting },
}

// AfterRestart lists the keys in which f differs from what a hub was started
// with and that take effect only when it is started anew: a warning for each,
// in the order of docs/config.md.
func (f *File) AfterRestart(started *File) []Problem {
	var out []Problem
	for _, k := range keys.Describe() {
		value := fixed[k.Path]
		if value == nil || reflect.DeepEqual(value(f), value(started)) {
			continue
		}
		p := f.At(strings.Split(k.Path, ".")...)
		p.Severity, p.Text = SeverityWarning, "takes effect after a restart"
		out = append(out, p)
	}
	return out
}
