package consent

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/gofrs/flock"

	"mcphub/children/sandbox"
	"mcphub/internal/atomicfile"
)

// A ClientProcess is the process that a hub serves over stdio. What it starts answers nothing.
type ClientProcess struct {
	PID   int    `json:"client"`
	Start uint64 `json:"start"`
}

// line is one of a Reach's file.
type line struct {
	*ClientProcess
	Dir string `json:"dir,omitempty"`
}

// A Reach is what the servers of one hub may write, on record for all hubs.
type Reach struct {
	store   *Store
	mu      sync.Mutex
	client  ClientProcess
	clients []ClientProcess // all that are on record
	seen    map[string]bool
	file    *os.File // nil: it has not begun, or the Store keeps nothing
	copy    *os.File // in the folder of state; nil: there is none, or file lies there
	lock    *flock.Flock
}

const (
	reach      = "reach"
	reachEnd   = ".jsonl"
	lockedName = ".lock"
)

// maxLeft is how many files of hubs that have ended may lie about; more are made one.
const maxLeft = 16

// Reach returns the reach of this process. It begins with what it has on record first.
func (s *Store) Reach() *Reach { return &Reach{store: s, seen: map[string]bool{}} }

// Serves begins the Reach of a hub. client is the process that it serves; a hub of many says
// each.
func (r *Reach) Serves(client ClientProcess) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.file != nil {
		if slices.Contains(r.clients, client) {
			return nil
		}
		r.clients = append(r.clients, client)
		return r.append(line{ClientProcess: &client})
	}
	r.client, r.clients = client, []ClientProcess{client}
	return r.begin()
}

func (r *Reach) begin() error {
	s := r.store
	if !s.Keeps() || r.file != nil {
		return nil
	}
	s.mergeEnded()
	dir, err := s.MakeFolder()
	if err != nil {
		return err
	}
	name := rand.Text()
	f, err := create(dir, name)
	if err != nil {
		return err
	}
	lock := flock.New(filepath.Join(dir, reach, name+lockedName), flock.SetPermissions(FileMode))
	if held, err := lock.TryLock(); err != nil || !held {
		return errors.Join(fmt.Errorf("%s cannot be locked: %w", lock.Path(), err), f.Close(), os.Remove(f.Name()))
	}
	r.file, r.lock = f, lock
	if s.moved() {
		if r.copy, err = create(s.inState(), name); err != nil {
			r.copy = nil // it counts if the other is lost, and holds nothing up
		}
	}
	if err := r.append(line{ClientProcess: &r.client}); err != nil {
		r.end()
		return err
	}
	return nil
}

// create makes the file of a Reach.
func create(dir, name string) (*os.File, error) {
	if err := os.MkdirAll(filepath.Join(dir, reach), 0o700); err != nil {
		return nil, err
	}
	return os.OpenFile(filepath.Join(dir, reach, name+reachEnd), os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, FileMode)
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
	if err := r.begin(); err != nil {
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
	data = append(data, '\n')
	if r.copy != nil {
		_, _ = r.copy.Write(data)
	}
	_, err = r.file.Write(data) // one call: whole, or not at all
	return err
}

// Close ends the Reach with its hub. What it has on record stays, unless that is nothing.
func (r *Reach) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.file != nil {
		r.end()
	}
}

func (r *Reach) end() {
	_ = r.file.Close()
	if r.copy != nil {
		_ = r.copy.Close()
	}
	if len(r.seen) == 0 {
		r.store.remove(strings.TrimSuffix(filepath.Base(r.file.Name()), reachEnd))
	}
	_ = r.lock.Unlock()
	r.file, r.copy = nil, nil
}

// A reachRecord holds what the file of a Reach says.
type reachRecord struct {
	dir     string // in which its file lies
	name    string
	clients []ClientProcess
	dirs    []string
	damaged error // why the file cannot be read; it counts as one that names every directory
}

func (l *reachRecord) holds(paths []string) (dir string, held bool) {
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
// case and be the same, they are taken for the same. Of what cannot be told it does.
func holds(dir, path string) bool {
	if runtime.GOOS == "windows" || runtime.GOOS == "darwin" {
		dir, path = strings.ToLower(dir), strings.ToLower(path)
	}
	return sandbox.Contains(dir, path) || filepath.IsAbs(dir) != filepath.IsAbs(path)
}

// reachFolders returns the folders in which files of a Reach lie. Of two with one name the
// first counts.
func (s *Store) reachFolders() ([]string, error) {
	dir, err := s.Folder()
	if err != nil || !s.moved() {
		return []string{dir}, err
	}
	return []string{dir, s.inState()}, nil
}

// reachRecords reads the files of all hubs.
func (s *Store) reachRecords() ([]reachRecord, error) {
	dirs, err := s.reachFolders()
	if err != nil {
		return nil, err
	}
	return reachRecordsIn(dirs)
}

// reachRecordsIn reads the files of all hubs in some folders. If one goes meanwhile, another hub may have merged
// it into one that was not there yet when the folder was listed. So all are read again.
func reachRecordsIn(dirs []string) (out []reachRecord, err error) {
	const tries = 10
	for i := 1; ; i++ {
		out, gone, err := listedRecords(dirs)
		if !gone || err != nil || i == tries {
			return out, err
		}
	}
}

// listedRecords reads the files that are there now. gone: one of them is not there by the time it is read, and
// counts as damaged.
func listedRecords(dirs []string) (out []reachRecord, gone bool, err error) {
	seen := map[string]bool{}
	for _, dir := range dirs {
		files, err := os.ReadDir(filepath.Join(dir, reach))
		if missing(err) {
			continue
		}
		if err != nil {
			return nil, false, err
		}
		for _, e := range files {
			name, ok := strings.CutSuffix(e.Name(), reachEnd)
			if !ok || seen[name] {
				continue
			}
			data, err := readRecord(filepath.Join(dir, reach, e.Name()))
			gone = gone || missing(err)
			seen[name] = true
			l := reachRecord{dir: dir, name: name, damaged: err}
			l.read(data)
			out = append(out, l)
		}
	}
	return out, gone, nil
}

// maxRecord bounds the file of a Reach, in bytes.
const maxRecord = 16 << 20

// readRecord reads the file of a Reach. A server that is served the home folder may put something else
// instead of a copy: a pipe without a writer, or a file without an end.
func readRecord(path string) ([]byte, error) {
	f, err := atomicfile.Open(path, syscall.O_NONBLOCK)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if fi, err := f.Stat(); err != nil || !fi.Mode().IsRegular() || fi.Size() > maxRecord {
		return nil, cmp.Or(err, fmt.Errorf("%s is no record of where servers could write; remove it", path))
	}
	return io.ReadAll(io.LimitReader(f, maxRecord))
}

// read takes what a file says.
func (l *reachRecord) read(data []byte) {
	for text := range bytes.Lines(data) {
		var one line
		if l.damaged = cmp.Or(l.damaged, json.Unmarshal(text, &one)); l.damaged == nil {
			if one.ClientProcess != nil {
				l.clients = append(l.clients, *one.ClientProcess)
			}
			if one.Dir != "" {
				l.dirs = append(l.dirs, one.Dir)
			}
		}
	}
}

// CouldBeWritten reports for an Item whether a server could have written it since it was
// accepted last. dir is where it may write; "" if that cannot be told, which counts as could.
func (s *Store) CouldBeWritten(i Item) (dir string, could bool) {
	if !s.Keeps() || len(i.Paths) == 0 {
		return "", false
	}
	all, err := s.reachRecords()
	if err != nil {
		return "", true
	}
	k, err := s.read(accepted, i.ID)
	if err != nil {
		return "", true
	}
	paths := physicalPaths(i.Paths)
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

// physicalPaths adds to each path its folder, and where both lead without links: the one who
// may write the folder may put another file there.
func physicalPaths(paths []string) (out []string) {
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

// Clients returns the processes that hubs serve, now or once.
func (s *Store) Clients() ([]ClientProcess, error) {
	if !s.Keeps() {
		return nil, nil
	}
	all, err := s.reachRecords()
	var out []ClientProcess
	for _, l := range all {
		for _, c := range l.clients {
			if c.PID > 1 {
				out = append(out, c)
			}
		}
	}
	return out, err
}

// ended reports whether the hub of a Reach has.
func (l *reachRecord) ended() bool {
	lock := flock.New(filepath.Join(l.dir, reach, l.name+lockedName), flock.SetPermissions(FileMode), flock.SetFlag(os.O_CREATE|os.O_RDONLY|syscall.O_NONBLOCK))
	held, err := lock.TryLock()
	if held {
		_ = lock.Unlock()
	}
	return err == nil && held
}

// endedHubs lists the Reaches of hubs that have ended, by name.
func (s *Store) endedHubs() (names []string, err error) {
	all, err := s.reachRecords()
	for _, l := range all {
		if l.ended() {
			names = append(names, l.name)
		}
	}
	return names, err
}

func (s *Store) remove(name string) {
	dirs, _ := s.reachFolders() // what is left counts
	for _, dir := range dirs {
		_ = os.Remove(filepath.Join(dir, reach, name+reachEnd))
		_ = os.Remove(filepath.Join(dir, reach, name+lockedName))
	}
}

// mergeEnded makes one file of the many that ended hubs left, so that their number is
// bounded. Only those become one that the same Items have settled.
func (s *Store) mergeEnded() {
	all, err := s.reachRecords()
	if err != nil || len(all) <= maxLeft {
		return
	}
	items, err := s.all(accepted)
	if err != nil {
		return
	}
	groups := map[string][]reachRecord{} // by the Items that have settled them
	for _, l := range all {
		if l.damaged != nil || !l.ended() {
			continue
		}
		var by []string
		for _, k := range items {
			if slices.Contains(k.Settled, l.name) {
				by = append(by, k.ID)
			}
		}
		slices.Sort(by)
		key := strings.Join(by, "\x00")
		groups[key] = append(groups[key], l)
	}
	for _, group := range groups {
		if len(group) > 1 && s.merge(group, items) != nil {
			return
		}
	}
}

// merge makes one Reach of several that the same Items have settled. It removes none before the new
// one is written and settled.
func (s *Store) merge(group []reachRecord, items []*storedItem) error {
	var data []byte
	put := func(l line) {
		text, _ := json.Marshal(l) // of strings and numbers
		data = append(append(data, text...), '\n')
	}
	seen := map[string]bool{}
	for _, l := range group {
		for _, c := range l.clients {
			if c.PID > 1 && mayRun(c.PID) { // a client may outlive its hub
				put(line{ClientProcess: &c})
			}
		}
		for _, dir := range l.dirs {
			if !seen[dir] {
				seen[dir] = true
				put(line{Dir: dir})
			}
		}
	}
	dirs, err := s.reachFolders()
	if err != nil {
		return err
	}
	name := rand.Text()
	for i, dir := range dirs {
		if err := os.WriteFile(filepath.Join(dir, reach, name+reachEnd), data, FileMode); err != nil && i == 0 {
			return err
		}
	}
	merged := func(had string) bool {
		return slices.ContainsFunc(group, func(l reachRecord) bool { return l.name == had })
	}
	for _, was := range items {
		if !slices.ContainsFunc(was.Settled, merged) {
			continue
		}
		k, err := s.read(accepted, was.ID) // it may have been accepted again meanwhile
		if err != nil {
			return err
		}
		if k != nil && slices.ContainsFunc(k.Settled, merged) {
			k.Settled = append(slices.DeleteFunc(k.Settled, merged), name)
			if err := s.write(accepted, *k, atomicfile.WriteHint); err != nil {
				return err
			}
		}
	}
	for _, l := range group {
		s.remove(l.name)
	}
	return nil
}
