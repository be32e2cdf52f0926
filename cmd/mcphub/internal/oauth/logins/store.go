package logins

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gofrs/flock"

	"mcphub/cmd/mcphub/internal/oauth"
	"mcphub/cmd/mcphub/internal/secrets"
)

// Prefix is how the names of logins begin among the ones of secrets.
const Prefix = "mcphub/login/"

// lockWait is how long another process may hold a login: as long as a renewal takes.
const lockWait = time.Minute

// A Login is what is kept of one.
type Login struct {
	oauth.TokenSet
	Server    string    `json:"server"`    // its URL
	Principal string    `json:"principal"` // "" is the user whom stdio serves
	Made      time.Time `json:"made"`
	Renewed   time.Time `json:"renewed,omitzero"`
	Began     time.Time `json:"began,omitzero"`   // when the renewal was sent whose answer is not known; zero: there is none
	Lost      string    `json:"lost,omitempty"`   // why it cannot be renewed any more; ""
	Serial    uint64    `json:"serial"`           // grows with each write
	Wanted    []string  `json:"wanted,omitempty"` // scopes that the server asked for and it does not have
}

// A Store keeps logins.
type Store struct {
	kept *secrets.Store
	dir  string // of the locks

	mu       sync.Mutex
	renewals map[string]*renewal // by the name of the login
	unsaved  map[string]*Login   // answers that could not be written, and are used by no one
	unkept   map[string]*unkept  // tokens that are had again at any time, and are in no store
	wg       sync.WaitGroup
}

// New makes a Store that keeps logins among the secrets, and its locks in a folder. It
// looks at nothing.
func New(kept *secrets.Store, dir string) *Store {
	return &Store{kept: kept, dir: dir, renewals: map[string]*renewal{}, unsaved: map[string]*Login{}, unkept: map[string]*unkept{}}
}

// Wait returns when no renewal is under way, or when ctx ends.
func (s *Store) Wait(ctx context.Context) {
	done := make(chan struct{})
	go func() { s.wg.Wait(); close(done) }()
	select {
	case <-done:
	case <-ctx.Done():
	}
}

// ErrNone is the error if there is no login.
var ErrNone = errors.New("there is no login")

// nameOf is under which name a login is kept.
func nameOf(server, principal string) string {
	sum := sha256.Sum256([]byte(server + "\x00" + principal))
	return Prefix + hex.EncodeToString(sum[:16])
}

// Find reads a login. The error is ErrNone if there is none.
func (s *Store) Find(ctx context.Context, server, principal string) (*Login, error) {
	l, err := s.readLogin(ctx, nameOf(server, principal))
	if err == nil && (l.Server != server || l.Principal != principal) {
		return nil, ErrNone
	}
	return l, err
}

func (s *Store) readLogin(ctx context.Context, name string) (*Login, error) {
	copies, err := s.kept.Copies(ctx, name)
	var unset *secrets.NotSetError
	switch {
	case errors.As(err, &unset) && unset.Why != "": // it may be if it cannot be looked at now
		return nil, fmt.Errorf("%w, as far as can be seen: %s", ErrNone, unset.Why)
	case errors.As(err, &unset):
		return nil, ErrNone
	case err != nil:
		return nil, err
	}
	var newest *Login
	for _, text := range copies {
		var l Login
		if json.Unmarshal([]byte(text), &l) == nil && (newest == nil || l.Serial > newest.Serial) {
			newest = &l
		}
	}
	if newest == nil {
		return nil, errors.New("what is kept of the login cannot be read") // more would quote it
	}
	return newest, nil
}

// writeLogin keeps a login. The caller holds its lock.
func (s *Store) writeLogin(ctx context.Context, l *Login) error {
	l.Serial++
	text, err := json.Marshal(l)
	if err != nil {
		return err
	}
	_, _, err = s.kept.Set(ctx, nameOf(l.Server, l.Principal), string(text))
	return err
}

// Keep keeps a login that was just made, instead of an earlier one.
func (s *Store) Keep(ctx context.Context, l *Login) error {
	name := nameOf(l.Server, l.Principal)
	return s.withLock(ctx, name, func() error {
		if was, err := s.readLogin(ctx, name); err == nil {
			l.Serial = max(l.Serial, was.Serial)
		}
		if err := s.writeLogin(ctx, l); err != nil {
			return err
		}
		return s.tellUsers(name)
	})
}

// tellUsers has every process that uses a login read it again. The caller holds its lock.
func (s *Store) tellUsers(name string) error {
	now := time.Now()
	return os.Chtimes(s.lockOf(name).Path(), now, now)
}

// lastChange returns the time when a person has logged in or out last; zero if no one has.
func (s *Store) lastChange(name string) time.Time {
	info, err := os.Stat(s.lockOf(name).Path())
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// Forget forgets a login and returns it. The error is ErrNone if there is none.
func (s *Store) Forget(ctx context.Context, server, principal string) (*Login, error) {
	name := nameOf(server, principal)
	var l *Login
	err := s.withLock(ctx, name, func() error {
		var err error
		if l, err = s.readLogin(ctx, name); errors.Is(err, ErrNone) {
			return err
		}
		return errors.Join(s.kept.Delete(ctx, name), s.tellUsers(name)) // also of what cannot be read
	})
	return l, err
}

// List reads all logins. why reports why not all places could be looked at.
func (s *Store) List(ctx context.Context) (all []Login, why string, err error) {
	names, why, err := s.kept.Names(ctx)
	for _, n := range names {
		if !strings.HasPrefix(n.Name, Prefix) {
			continue
		}
		if l, err := s.readLogin(ctx, n.Name); err == nil {
			all = append(all, *l)
		}
	}
	slices.SortFunc(all, func(a, b Login) int {
		return strings.Compare(a.Server+"\x00"+a.Principal, b.Server+"\x00"+b.Principal)
	})
	return all, why, err
}

// CutOff reports whether no one does the renewal of a login any more that was begun, and
// whose answer is not known. Who renews holds the lock.
func (s *Store) CutOff(ctx context.Context, l *Login) bool {
	if l.Began.IsZero() || s.dir == "" {
		return false
	}
	name := nameOf(l.Server, l.Principal)
	lock := s.lockOf(name)
	if free, err := lock.TryRLock(); err != nil || !free {
		return false
	}
	defer func() { _ = lock.Unlock() }()
	now, err := s.readLogin(ctx, name) // it may have ended meanwhile
	return err == nil && now.Began.Equal(l.Began)
}

func (s *Store) lockOf(name string) *flock.Flock {
	return flock.New(filepath.Join(s.dir, strings.TrimPrefix(name, Prefix)+".lock"), flock.SetPermissions(0o600))
}

// withLock does something while no other process does anything with a login.
func (s *Store) withLock(ctx context.Context, name string, do func() error) error {
	if s.dir == "" {
		return errors.New("there is no folder for the locks of logins: this user has no folder for configurations")
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return fmt.Errorf("the folder of the logins: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	l := s.lockOf(name)
	if ok, err := l.TryLockContext(ctx, 20*time.Millisecond); err != nil || !ok {
		return fmt.Errorf("another program holds the login (%s): %w", l.Path(), err)
	}
	defer func() { _ = l.Unlock() }()
	return do()
}
