package hub

import (
	"crypto/rand"
	"sync/atomic"
	"time"

	"mcphub/internal/seal"
)

// nodes make session ids, and tell which of several hubs has made one. Hubs that share a key of
// requestState can tell; what another makes of an id is nothing.
type nodes struct {
	name   string // of this hub
	seal   *seal.Sealer
	shared atomic.Bool // the seal has a key that other hubs may have
}

const purposeSession = "session"

// follow puts other keys in force. After an error nothing has changed.
func (n *nodes) follow(keys [][]byte) error {
	if err := n.seal.Follow(keys...); err != nil {
		return err
	}
	n.shared.Store(len(keys) > 0)
	return nil
}

// session makes the id of a session, which nobody can guess: a token of a seal, or random letters where
// no other hub could open one.
func (n *nodes) session(owner string) string {
	if !n.shared.Load() {
		return rand.Text()
	}
	never := time.Now().AddDate(100, 0, 0) // the session ends, and its id does not
	id, err := n.seal.Seal(purposeSession, []byte(owner), never, []byte(n.name))
	if err != nil {
		return rand.Text() // a name that is too long for a seal
	}
	return id
}

// elsewhere is the name of another hub that has made a session id for an owner; "" where none has.
func (n *nodes) elsewhere(owner, id string) string {
	name, err := n.seal.Open(purposeSession, []byte(owner), time.Now(), id)
	if err != nil || string(name) == n.name {
		return ""
	}
	return string(name)
}
