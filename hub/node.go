package hub

import (
	"crypto/rand"
	"sync/atomic"
	"time"

	"mcphub/hub/seal"
)

// A node is this hub among several that share the keys of requestState. It makes session ids, and
// tells about one which of them has made it: a hub without these keys cannot.
type node struct {
	name   string
	seal   *seal.Sealer
	shared atomic.Bool // the seal has a key that other hubs may have
}

const purposeSession = "session"

// followKeys puts other keys in force. After an error nothing has changed.
func (n *node) followKeys(keys [][]byte) error {
	if err := n.seal.Follow(keys...); err != nil {
		return err
	}
	n.shared.Store(len(keys) > 0)
	return nil
}

// newSessionID makes the id of a session, which no one can guess: a token of a seal, or random letters
// if no other hub could open one.
func (n *node) newSessionID(owner string) string {
	if !n.shared.Load() {
		return rand.Text()
	}
	never := time.Now().AddDate(100, 0, 0) // the session ends, and its id does not
	id, err := n.seal.Seal(purposeSession, []byte(owner), never, []byte(n.name))
	if err != nil {
		panic(err) // of a name that is far too long for one
	}
	return id
}

// otherHub returns the name of another hub that has made a session id for an owner; "" where none has.
func (n *node) otherHub(owner, id string) string {
	name, err := n.seal.Open(purposeSession, []byte(owner), time.Now(), id)
	if err != nil || string(name) == n.name {
		return ""
	}
	return string(name)
}
