package consent

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"mcphub/internal/atomicfile"
	"mcphub/internal/ownership"
)

// An Item is something that may change, as it reads now.
type Item struct {
	ID    string   `json:"id"`              // what it is about; the same for every hub
	Title string   `json:"title"`           // a line for people
	Lines []string `json:"lines,omitempty"` // what would change; shown whole
	Value []byte   `json:"value"`
	Paths []string `json:"paths,omitempty"` // where it is written: who may write there could have changed it; none: anybody
}

// Digest returns what an answer is bound to.
func (i Item) Digest() string {
	sum := sha256.Sum256(i.Value)
	return hex.EncodeToString(sum[:])
}

// A Question is an Item that waits for a person.
type Question struct {
	ID     string   `json:"id"`
	Title  string   `json:"title"`
	Lines  []string `json:"lines"`
	Digest string   `json:"digest"`
}

// ErrChanged means that what was shown is not what waits now.
var ErrChanged = errors.New("it has changed since it was shown; look at it again")

// A Store is the folder of all this.
type Store struct {
	state string       // the folder of state
	home  string       // of the user; "": it is not known
	place func() place // looked for when it is first asked for: most commands never do
}

// place is the place of a Store.
type place struct {
	dir    string // "": nothing is kept
	closed string // dir, or a folder around it that no one else is to open
}

// New returns the Store of the hub's folder of state. Its own folder is made when
// something is kept there. With state "" it keeps nothing: nothing is accepted in it, and
// no one could have written.
func New(state string) *Store {
	home, _ := os.UserHomeDir() // without one, state is not in it
	return NewFor(state, home)
}

// NewFor works like New for a user with this home folder.
func NewFor(state, home string) *Store {
	return &Store{state, home, sync.OnceValue(func() (p place) {
		if state != "" {
			p.dir, p.closed = placeOf(state, home)
		}
		return p
	})}
}

// Keeps reports whether there is a folder.
func (s *Store) Keeps() bool { return s != nil && s.place().dir != "" }

// Closed returns the folder that no server is to open, whatever it is served; "" if
// nothing is kept.
func (s *Store) Closed() string {
	if s == nil {
		return ""
	}
	return s.place().closed
}

// inState returns where the Store is if there is no place beyond the home folder,
// and where copies of each Reach go: a machine may lose that place, as a container
// does.
func (s *Store) inState() string { return filepath.Join(s.state, "consent") }

// moved reports whether the Store lies beyond the home folder.
func (s *Store) moved() bool { return s.place().dir != s.inState() }

// Folder returns the place of the Store, for who keeps more there. It need not exist
// yet. The error reports why it is not to be relied on.
func (s *Store) Folder() (string, error) {
	if !s.moved() {
		return s.place().dir, nil
	}
	if err := ownership.CheckFolder(s.place().closed); err != nil && !missing(err) {
		return "", err
	}
	if _, err := os.Lstat(s.place().dir); err != nil && !missing(err) {
		return "", err
	}
	return s.place().dir, nil
}

// MakeFolder works like Folder, but makes the folder, so that something can be written there.
func (s *Store) MakeFolder() (string, error) {
	dir, err := s.Folder()
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	if err == nil && s.moved() {
		err = ownership.CheckFolder(s.place().closed) // else someone was faster
	}
	return dir, err
}

// MadeFile returns the path of the file that keeps what the hub made for an entry, and makes the file if it is missing.
func (s *Store) MadeFile(owner string) (string, error) {
	dir, err := s.MakeFolder()
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, file(made, owner)) + "l"
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, FileMode)
	if err == nil {
		err = f.Close()
	}
	if errors.Is(err, fs.ErrExist) {
		err = nil
	}
	return path, err
}

// storedItem is an Item in a file.
type storedItem struct {
	Item
	At      time.Time `json:"at"`
	Settled []string  `json:"settled,omitempty"` // of Reaches of hubs that had ended: what they left counts no more
}

const (
	accepted = "accepted"
	asked    = "asked"
	made     = "made"
)

// FileMode is the file mode of every file in a Store.
const FileMode = 0o600 | sticky

// file returns the file of an Item.
func file(kind, id string) string {
	sum := sha256.Sum256([]byte(id))
	return filepath.Join(kind, hex.EncodeToString(sum[:16])+".json")
}

// read returns an Item that is kept; nil if there is none.
func (s *Store) read(kind, id string) (*storedItem, error) {
	if !s.Keeps() {
		return nil, nil
	}
	dir, err := s.Folder()
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, file(kind, id))
	k, err := readItem(path)
	switch {
	case missing(err):
		return nil, nil
	case err == nil && k.ID != id:
		err = fmt.Errorf("%s is about something else", path)
	}
	return k, err
}

// missing reports for a file or folder that it is not there, or cannot be: if a folder of
// its path is a file.
func missing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

func readItem(path string) (*storedItem, error) {
	data, err := atomicfile.Read(path)
	if err != nil {
		return nil, err
	}
	var k storedItem
	if err := json.Unmarshal(data, &k); err != nil {
		return nil, fmt.Errorf("%s is damaged: %w", path, err)
	}
	return &k, nil
}

// A writer is how a file is written: see atomicfile.
type writer = func(path string, data []byte, mode fs.FileMode) error

func (s *Store) write(kind string, k storedItem, write writer) error {
	dir, err := s.MakeFolder()
	if err != nil {
		return err
	}
	path := filepath.Join(dir, file(kind, k.ID))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	data, err := json.Marshal(k)
	if err != nil {
		return err
	}
	return write(path, data, FileMode)
}

// Accepted returns the Value that was accepted last; known: there is one. If the error
// is not nil that cannot be told.
func (s *Store) Accepted(id string) (value []byte, known bool, err error) {
	k, err := s.read(accepted, id)
	if k == nil || err != nil {
		return nil, false, err
	}
	return k.Value, true, nil
}

// Ask puts an Item to a person. It writes nothing if that waits already.
func (s *Store) Ask(i Item) error {
	if !s.Keeps() {
		return nil
	}
	if was, err := s.read(asked, i.ID); err == nil && was != nil && was.Digest() == i.Digest() && slices.Equal(was.Lines, i.Lines) && slices.Equal(was.Paths, i.Paths) {
		return nil
	}
	return s.write(asked, storedItem{Item: i, At: time.Now()}, atomicfile.Write)
}

// Asked is which questions waited for a person at one moment. The zero Asked is none.
type Asked struct{ files map[string]bool }

// Asked returns the questions that wait, of all hubs of the user.
func (s *Store) Asked() (a Asked, err error) {
	if !s.Keeps() {
		return a, nil
	}
	dir, err := s.Folder()
	if err != nil {
		return a, err
	}
	entries, err := os.ReadDir(filepath.Join(dir, asked))
	if err != nil && !missing(err) {
		return a, err
	}
	a.files = make(map[string]bool, len(entries))
	for _, e := range entries {
		a.files[e.Name()] = true
	}
	return a, nil
}

// Has reports whether a question waited.
func (a Asked) Has(id string) bool { return a.files[filepath.Base(file(asked, id))] }

// Withdraw takes a question back: it is again as it was, or was accepted.
func (s *Store) Withdraw(id string) error {
	if !s.Keeps() {
		return nil
	}
	dir, err := s.Folder()
	if err == nil {
		err = os.Remove(filepath.Join(dir, file(asked, id)))
	}
	if missing(err) {
		return nil
	}
	return err
}

// Questions returns all that wait for a person, in the order of their titles. The error
// tells about the ones that cannot be read, and does not spoil the others.
func (s *Store) Questions() ([]Question, error) {
	if !s.Keeps() {
		return nil, nil
	}
	all, err := s.all(asked)
	var out []Question
	for _, k := range all {
		out = append(out, Question{ID: k.ID, Title: k.Title, Lines: k.Lines, Digest: k.Digest()})
	}
	slices.SortFunc(out, func(a, b Question) int {
		return cmp.Or(strings.Compare(a.Title, b.Title), strings.Compare(a.ID, b.ID))
	})
	return out, err
}

// all returns the Items of a kind that can be read; the error tells about the others.
func (s *Store) all(kind string) (out []*storedItem, err error) {
	dir, err := s.Folder()
	if err != nil {
		return nil, err
	}
	files, err := os.ReadDir(filepath.Join(dir, kind))
	if missing(err) {
		return nil, nil
	}
	failed := []error{err}
	for _, e := range files {
		if !strings.HasSuffix(e.Name(), ".json") {
			continue // one that is being written
		}
		k, err := readItem(filepath.Join(dir, kind, e.Name()))
		switch {
		case err == nil:
			out = append(out, k)
		case !missing(err): // it was answered meanwhile
			failed = append(failed, err)
		}
	}
	return out, errors.Join(failed...)
}

// Accept answers a question. digest is the digest of what was shown.
func (s *Store) Accept(id, digest string) error {
	k, err := s.read(asked, id)
	switch {
	case err != nil:
		return err
	case k == nil || k.Digest() != digest:
		return ErrChanged
	}
	return s.take(k.Item, atomicfile.Write)
}

// Take accepts an Item as it is. What ended hubs could have written of it counts no more.
// It does not wait for the disk: a person is asked about what is lost with the machine's
// power.
func (s *Store) Take(i Item) error { return s.take(i, atomicfile.WriteHint) }

func (s *Store) take(i Item, write writer) error {
	if !s.Keeps() {
		return nil
	}
	k := storedItem{Item: i, At: time.Now()}
	k.Title, k.Lines = "", nil
	if !strings.HasPrefix(i.ID, way) && !strings.HasPrefix(i.ID, recordedWord) { // no caller asks CouldBeWritten about it, so it keeps no Reach from being merged
		endedHubs, err := s.endedHubs()
		if err != nil {
			return err
		}
		k.Settled = endedHubs
	}
	if err := s.write(accepted, k, write); err != nil {
		return err
	}
	return s.Withdraw(i.ID)
}
