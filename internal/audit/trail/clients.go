package trail

import (
	"bytes"
	"maps"
	"path/filepath"
	"slices"

	"mcphub/internal/audit"
)

// Clients are those whose sessions a record tells of, by the sessions' ids.
type Clients map[string]audit.ClientInfo

var sessionLine = []byte(`,"kind":"` + audit.KindSession + `",`)

// ReadClients reads the lines of a folder's logs that tell of a session, and no others.
func ReadClients(dir string) (Clients, error) {
	found := Clients{}
	files, err := audit.LogFiles(dir)
	if err != nil {
		return found, err
	}
	for _, id := range slices.Sorted(maps.Keys(files)) {
		paths := make([]string, len(files[id]))
		for i, f := range files[id] {
			paths[i] = filepath.Join(dir, f)
		}
		if err := eachLine(paths, func(_ string, _ int, b []byte, _ bool) bool {
			if bytes.Contains(b, sessionLine) {
				if e, err := ParseEvent(id, slices.Clone(b)); err == nil {
					found.Note(&e)
				}
			}
			return true
		}); err != nil {
			return found, err
		}
	}
	return found, nil
}

// Note takes what a line tells of a session, if it does.
func (c Clients) Note(e *Event) {
	if e.Kind == audit.KindSession {
		c[e.Session] = e.ClientInfo
	}
}
