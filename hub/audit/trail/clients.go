package trail

import (
	"mcphub/hub/audit"
)

// Clients are those whose sessions a record tells about, by the sessions' ids.
type Clients map[string]audit.ClientInfo

// ReadClients reads the lines of a folder's logs that tell about a session, and no others.
func ReadClients(dir string) (Clients, error) {
	found := Clients{}
	err := readThose(dir, func(line []byte) bool { return isSessionLine(line) }, func(e Event) bool {
		found.Note(&e)
		return true
	})
	return found, err
}

func isSessionLine(line []byte) bool {
	h, _ := headOf(line)
	return h.kind == audit.KindSession
}

// Note takes the client from the line of a session.
func (clients Clients) Note(e *Event) {
	if e.Kind == audit.KindSession {
		clients[e.Session] = e.ClientInfo
	}
}

// maxSessions is how many sessions a reader remembers at least, of those that it met last.
const maxSessions = 4096

// recentClients remembers the clients of the sessions that were met last, so that a record with any
// number of sessions needs no more memory.
type recentClients struct{ now, before Clients }

func (recent *recentClients) noteClient(session string, c audit.ClientInfo) {
	if recent.now == nil || len(recent.now) >= maxSessions {
		recent.now, recent.before = Clients{}, recent.now
	}
	recent.now[session] = c
}

func (recent *recentClients) clientOf(session string) audit.ClientInfo {
	if c, ok := recent.now[session]; ok {
		return c
	}
	c, ok := recent.before[session]
	if ok {
		recent.noteClient(session, c)
	}
	return c
}

// completeClient gives a decision the client that the line of its session names.
func completeClient(e *Event, c audit.ClientInfo) {
	if e.Kind == audit.KindSession || e.Kind == audit.KindRejection || c == (audit.ClientInfo{}) {
		return
	}
	if c.Name == "" { // the line of the decision knows it
		c.Name = e.Name
	}
	e.ClientInfo = c
}
