package trail

import (
	"bytes"

	"mcphub/internal/audit"
)

// Clients are those whose sessions a record tells about, by the sessions' ids.
type Clients map[string]audit.ClientInfo

var sessionLine = []byte(`,"kind":"` + audit.KindSession + `",`)

// ReadClients reads the lines of a folder's logs that tell about a session, and no others.
func ReadClients(dir string) (Clients, error) {
	found := Clients{}
	err := readThose(dir, func(line []byte) bool { return bytes.Contains(line, sessionLine) }, func(e Event) bool {
		found.Note(&e)
		return true
	})
	return found, err
}

// Note takes what a line tells about a session, if it does.
func (c Clients) Note(e *Event) {
	if e.Kind == audit.KindSession {
		c[e.Session] = e.ClientInfo
	}
}
