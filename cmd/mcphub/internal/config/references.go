package config

import (
	"maps"
	"slices"
	"strconv"

	"mcphub/internal/reference"
)

// A Reference is a reference to a secret, and its place.
type Reference struct {
	reference.Ref
	At []string // key path, for File.At
}

// References lists the references of an entry, in the order of docs/config.md.
func (s *Server) References() []Reference {
	var out []Reference
	look := func(text string, at ...string) {
		for _, r := range reference.All(text) {
			out = append(out, Reference{r, append([]string{"mcpServers", s.Name}, at...)})
		}
	}
	for i, arg := range s.Args {
		look(arg, "args", strconv.Itoa(i))
	}
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		look(s.Env[name], "env", name)
	}
	look(s.URL, "url")
	for _, name := range slices.Sorted(maps.Keys(s.Headers)) {
		look(s.Headers[name], "headers", name)
	}
	if s.Auth != nil {
		look(s.Auth.ClientSecret, "auth", "clientSecret")
	}
	return out
}
