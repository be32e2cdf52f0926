package consent

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/gofrs/flock"
)

// A Client is the process that a hub serves over stdio. What it starts answers nothing.
type Client struct {
	PID   int    `json:"client"`
	Start uint64 `json:"start"`
}

// line is one of a Reach's file.
type line struct {
	*Client
	Dir string `json:"dir,omitempty"`
}

// A Reach is what the servers of one hub may write, on record for all hubs.
type Reach struct {
	store *Store
	mu    sync.Mutex
	seen  map[string]bool
	file  *os.File // nil: it has not begun, or the Store keeps nothing
	lock  *flock.Flock
}

const (
	reach      = "reach"
	recorded   = ".jsonl"
	lockedName = ".lock"
)

// mostLeft is how many files of hubs that have ended may lie about; more are made one.
const mostLeft = 16

// Reach is that of this process. It begins with what it has on record first.
func (s *Store) Reach() *Reach { return &Reach{store: s, seen: map[string]bool{}} }

// Serves begins the Reach of a hub. client is the process that it serves.
func (r *Reach) Serves(client Client) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.begin(client)
}

func (r *Reach) begin(client Client) error {
	s := r.store
	if !s.Keeps() || r.file != nil {
		return nil
	}
	s.join()
	if err := os.MkdirAll(filepath.Join(s.dir, reach), 0o700); err != nil {
		return err
	}
	base := filepath.Join(s.dir, reach, rand.Text())
	lock := flock.New(base+lockedName, flock.SetPermissions(0o600))
	if held, err := lock.TryLock(); err != nil || !held {
		return fmt.Errorf("%s cannot be locked: %w", lock.Path(), err)
	}
	f, err := os.OpenFile(base+recorded, os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return errors.Join(err, lock.Unlock())
	}
	r.file, r.lock = f, lock
	return r.append(line{Client: &client})
}

// Add puts directories on record that servers may write from now on. It returns before
// they may.
func (r *Reach) Add(dirs ...string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, dir := range dirs {
		if dir == "" || r.seen[dir] {
			continue
		}
		real, err := filepath.EvalSymlinks(dir)
		if err != nil {
			real = dir // it is not there yet
		}
		for _, name := range slices.Compact([]string{dir, real}) {
			if err := r.note(name); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *Reach) note(dir string) error {
	if r.seen[dir] {
		return nil
	}
	if err := r.begin(Client{}); err != nil {
		return err
	}
	if r.file != nil {
		if err := r.append(line{Dir: dir}); err != nil {
			return err
		}
	}
	r.seen[dir] = true
	return nil
}

func (r *Reach) append(l line) error {
	data, err := json.Marshal(l)
	if err != nil {
		return err
	}
	_, err = r.file.Write(append(data, '\n')) // one call: whole, or not at all
	return err
}

// Close ends the Reach with its hub. What it has on record stays, unless that is nothing.
func (r *Reach) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.file == nil {
		return
	}
	_ = r.file.Close()
	if len(r.seen) == 0 {
		_ = os.Remove(r.file.Name())
	}
	_ = r.lock.Unlock()
	if len(r.seen) == 0 {
		_ = os.Remove(r.lock.Path())
	}
	r.file = nil
}

// A left is what the file of a Reach says.
type left struct {
	name    string
	client  Client
	dirs    []string
	damaged error // what it says counts as everything
}

func (l *left) holds(paths []string) (dir string, held bool) {
	if l.damaged != nil {
		return "", true
	}
	for _, dir := range l.dirs {
		if slices.ContainsFunc(paths, func(path string) bool { return holds(dir, path) }) {
			return dir, true
		}
	}
	return "", false
}

// holds reports whether a path lies at or below a directory. Where names may differ in
// case and be the same, they are taken for the same.
func holds(dir, path string) bool {
	if runtime.GOOS == "windows" || runtime.GOOS == "darwin" {
		dir, path = strings.ToLower(dir), strings.ToLower(path)
	}
	rel, err := filepath.Rel(dir, path)
	return err != nil || rel == "." || rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// reaches reads the files of all hubs.
func (s *Store) reaches() ([]left, error) {
	files, err := os.ReadDir(filepath.Join(s.dir, reach))
	if missing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []left
	for _, e := range files {
		name, ok := strings.CutSuffix(e.Name(), recorded)
		if !ok {
			continue
		}
		data, err := os.ReadFile(filepath.Join(s.dir, reach, e.Name()))
		if missing(err) {
			continue // it was settled meanwhile
		}
		l := left{name: name, damaged: err}
		for text := range bytes.Lines(data) {
			var one line
			if l.damaged = cmp.Or(l.damaged, json.Unmarshal(text, &one)); l.damaged == nil {
				if one.Client != nil {
					l.client = *one.Client
				}
				if one.Dir != "" {
					l.dirs = append(l.dirs, one.Dir)
				}
			}
		}
		out = append(out, l)
	}
	return out, nil
}

// Writer tells of an Item whether a server could have written it since it was accepted
// last. dir is where it may write; "" where that cannot be told, which counts as could.
func (s *Store) Writer(i Item) (dir string, could bool) {
	if !s.Keeps() || len(i.Paths) == 0 {
		return "", false
	}
	all, err := s.reaches()
	if err != nil {
		return "", true
	}
	k, err := s.read(accepted, i.ID)
	if err != nil {
		return "", true
	}
	paths := physical(i.Paths)
	for _, l := range all {
		if k != nil && slices.Contains(k.Settled, l.name) {
			continue
		}
		if dir, held := l.holds(paths); held {
			return dir, true
		}
	}
	return "", false
}

// physical adds to each path the folder that it is a name in, and what both are without
// links: who may write the folder may put another file there.
func physical(paths []string) (out []string) {
	for _, path := range paths {
		for _, p := range []string{path, filepath.Dir(path)} {
			out = append(out, p)
			if real, err := filepath.EvalSymlinks(p); err == nil {
				out = append(out, real)
			}
		}
		if dir, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
			out = append(out, filepath.Join(dir, filepath.Base(path)))
		}
	}
	return out
}

// Clients are the processes that hubs serve, now or once.
func (s *Store) Clients() ([]Client, error) {
	if !s.Keeps() {
		return nil, nil
	}
	all, err := s.reaches()
	var out []Client
	for _, l := range all {
		if l.client.PID > 1 {
			out = append(out, l.client)
		}
	}
	return out, err
}

// ended reports whether the hub of a Reach has.
func (s *Store) ended(name string) bool {
	lock := flock.New(filepath.Join(s.dir, reach, name+lockedName), flock.SetPermissions(0o600))
	held, err := lock.TryLock()
	if held {
		_ = lock.Unlock()
	}
	return err == nil && held
}

// over are the Reaches of hubs that have ended.
func (s *Store) over() (names []string, err error) {
	all, err := s.reaches()
	for _, l := range all {
		if s.ended(l.name) {
			names = append(names, l.name)
		}
	}
	return names, err
}

// tidy removes what hubs that have ended left and no accepted Item waits for: those that
// it could have written were accepted since.
func (s *Store) tidy() {
	all, err := s.reaches()
	items, err2 := s.all(accepted)
	if err != nil || err2 != nil {
		return
	}
	places := make([][]string, len(items))
	for i, k := range items {
		places[i] = physical(k.Paths)
	}
	for _, l := range all {
		waits, settled := false, false
		for i, k := range items {
			if _, held := l.holds(places[i]); held && len(k.Paths) > 0 {
				is := slices.Contains(k.Settled, l.name)
				waits, settled = waits || !is, settled || is
			}
		}
		if settled && !waits && s.ended(l.name) {
			s.remove(l.name)
		}
	}
}

func (s *Store) remove(name string) {
	_ = os.Remove(filepath.Join(s.dir, reach, name+recorded))
	_ = os.Remove(filepath.Join(s.dir, reach, name+lockedName))
}

// join makes one file of many that ended hubs left, so that they do not become ever
// more. What was settled for some Item stays by itself.
func (s *Store) join() {
	all, err := s.reaches()
	if err != nil || len(all) <= mostLeft {
		return
	}
	items, err := s.all(accepted)
	if err != nil {
		return
	}
	var joined []string
	var data []byte
	seen := map[string]bool{}
	for _, l := range all {
		settled := slices.ContainsFunc(items, func(k *kept) bool { return slices.Contains(k.Settled, l.name) })
		if l.damaged != nil || settled || !s.ended(l.name) {
			continue
		}
		joined = append(joined, l.name)
		for _, dir := range l.dirs {
			if !seen[dir] {
				seen[dir] = true
				text, _ := json.Marshal(line{Dir: dir}) // of strings
				data = append(append(data, text...), '\n')
			}
		}
	}
	if len(joined) < 2 {
		return
	}
	if err := os.WriteFile(filepath.Join(s.dir, reach, rand.Text()+recorded), data, 0o600); err != nil {
		return
	}
	for _, name := range joined {
		s.remove(name)
	}
}
