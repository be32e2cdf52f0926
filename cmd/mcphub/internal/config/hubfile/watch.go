package hubfile

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	// watchQuiet is how long a file must be left alone before it is looked at:
	// editors truncate, write and rename.
	watchQuiet = 200 * time.Millisecond
	// watchMost bounds that for one that is never left alone.
	watchMost = 2 * time.Second
	// watchPoll is how often it is looked at without any event: network
	// filesystems have none, and a folder may be moved away with all in it.
	watchPoll = 5 * time.Second
	// openTries bounds how often folders that come and go are looked for; then
	// the poll sees what happens in them.
	openTries = 8
)

// A Change reports that the file is another than it was told last.
type Change struct {
	Sum   string // of the content; "" if it cannot be read
	Trail Trail  // how the path leads to it now
	Err   error  // why it cannot be read; nil if it can
}

func (c Change) sameAs(o Change) bool {
	return c.Sum == o.Sum && c.Trail.RealPath() == o.Trail.RealPath() && (c.Err == nil) == (o.Err == nil)
}

// A Watcher tells when a file becomes another: written in place, truncated,
// renamed over, deleted and created, or reached through links that now lead
// elsewhere. It watches folders and compares content, so a save that changes
// nothing is no change.
type Watcher struct {
	path    string
	known   Change
	trouble func(error)
	changes chan Change
	quiet   time.Duration
	poll    time.Duration
}

// NewWatcher watches for the file at path to become another than it was when it was read, which is
// known. It starts nothing. trouble hears of events that cannot be had, in which case the file is
// looked at every few seconds; nil: no one does.
func NewWatcher(path string, known Change, trouble func(error)) *Watcher {
	if trouble == nil {
		trouble = func(error) {}
	}
	return &Watcher{
		path: path, known: known, trouble: trouble,
		changes: make(chan Change, 1), quiet: watchQuiet, poll: watchPoll,
	}
}

// Changes holds the latest change that no one has taken yet.
func (w *Watcher) Changes() <-chan Change { return w.changes }

// Run watches until ctx ends, and returns nil then. It must be called once.
func (w *Watcher) Run(ctx context.Context) error {
	var events chan fsnotify.Event
	var failures chan error
	folders := &folderWatch{watched: map[string]bool{}}
	notify, err := fsnotify.NewWatcher()
	if err != nil {
		w.trouble(err)
	} else {
		defer notify.Close()
		folders.notify, events, failures = notify, notify.Events, notify.Errors
	}
	settle := time.NewTimer(0) // the file may have changed since it was read
	defer settle.Stop()
	poll := time.NewTicker(w.poll)
	defer poll.Stop()
	var first time.Time // of the events that have not settled
	for {
		select {
		case <-ctx.Done():
			return nil
		case e := <-events:
			if !folders.isWatched(e.Name) {
				continue
			}
		case err := <-failures: // some events were lost
			w.trouble(err)
		case <-poll.C:
			if w.compareFile(folders) {
				continue
			}
		case <-settle.C:
			first = time.Time{}
			if w.compareFile(folders) {
				continue
			}
		}
		now := time.Now()
		if first.IsZero() {
			first = now
		}
		settle.Reset(min(w.quiet, time.Until(first.Add(watchMost))))
	}
}

// compareFile compares the file with what was told last. Folders are watched before
// it is read, so whatever happens later is seen as well. It tells nothing and is
// false if the links changed meanwhile: content and Trail would not belong
// together.
func (w *Watcher) compareFile(f *folderWatch) bool {
	trail, err := Follow(w.path)
	if werr := f.watchFolders(trail); werr != nil {
		w.trouble(werr)
	}
	now := Change{Trail: trail, Err: err}
	if err == nil {
		var data []byte
		if data, now.Err = ReadRegular(w.path); now.Err == nil {
			now.Sum = Sum(data)
		}
		if again, err := Follow(w.path); err != nil || !again.equalTo(trail) {
			return false
		}
	}
	if now.sameAs(w.known) {
		return true
	}
	w.known = now
	select {
	case <-w.changes: // no one took it, and it is old now
	default:
	}
	w.changes <- now
	return true
}

// A folderWatch watches the folders through which one path leads.
type folderWatch struct {
	notify  *fsnotify.Watcher // nil: there are no events
	watched map[string]bool
	names   []string // events of others in the same folders are nothing to us
	failed  map[string]error
}

func (f *folderWatch) isWatched(name string) bool {
	return slices.Contains(f.names, filepath.Clean(name))
}

// watchFolders watches the folders of a trail and no others. If one does not exist,
// the nearest that does is watched for the way to it.
func (f *folderWatch) watchFolders(t Trail) error {
	if f.notify == nil {
		return nil
	}
	var want map[string]bool
	var failed map[string]error
	for range openTries {
		want, f.names = watchedFor(t)
		failed = map[string]error{}
		vanished := false
		for dir := range want {
			// Again each time: one that was deleted and made again has lost its watch.
			if err := f.askSystem(f.notify.Add, dir); err != nil {
				failed[dir] = err
				vanished = vanished || errors.Is(err, fs.ErrNotExist)
			}
		}
		// A folder that came or went before it could be watched tells no one.
		if again, _ := watchedFor(t); !vanished && maps.Equal(again, want) {
			break
		}
	}
	var errs []error
	for dir, err := range failed {
		if f.failed[dir] == nil { // once is enough
			errs = append(errs, err)
		}
	}
	f.failed = failed
	for dir := range f.watched {
		if !want[dir] {
			_ = f.askSystem(f.notify.Remove, dir) // gone already, as often as not
		}
	}
	f.watched = want
	return errors.Join(errs...)
}

// askSystem has the system watch a folder, or watch it no longer. On Windows one goroutine of fsnotify does that, and it waits for each event to be
// taken. What happens meanwhile tells nothing: the file is read afterwards.
func (f *folderWatch) askSystem(do func(string) error, dir string) error {
	done := make(chan error, 1)
	go func() { done <- do(dir) }()
	for {
		select {
		case err := <-done:
			return err
		case <-f.notify.Events:
		case <-f.notify.Errors:
		}
	}
}

// watchedFor gives the folders to watch for a trail, and the names in them, and
// of them, whose events matter.
func watchedFor(t Trail) (dirs map[string]bool, names []string) {
	dirs = map[string]bool{}
	for _, name := range t.All() {
		dir := filepath.Dir(name)
		for !isDir(dir) && dir != filepath.Dir(dir) {
			name, dir = dir, filepath.Dir(dir)
		}
		dirs[dir] = true
		names = append(names, name, dir)
	}
	return dirs, names
}

func isDir(path string) bool {
	fi, err := os.Stat(path)
	return err == nil && fi.IsDir()
}
