package service

import (
	"context"
	"os"
	"sync"

	"mcphub/cmd/mcphub/internal/config/hubfile"
)

// fileWatch is a Watcher at work.
type fileWatch struct {
	path    string
	watcher *hubfile.Watcher
	cancel  context.CancelFunc
	wg      sync.WaitGroup
}

// watchFile sees to it that the file in force is watched. What cannot be read twice
// is not.
func (r *reloader) watchFile(ctx context.Context) {
	path := r.loaded.Path
	if r.watched != nil && r.watched.path == path || path == "" {
		return
	}
	if fi, err := os.Stat(path); err == nil && !fi.Mode().IsRegular() {
		return
	}
	r.watched.stopWatch()
	ctx, cancel := context.WithCancel(ctx)
	w := &fileWatch{path: path, cancel: cancel}
	w.watcher = hubfile.NewWatcher(r.loaded.Path, hubfile.Change{Sum: r.loaded.Sum, Trail: r.loaded.Trail}, func(err error) {
		r.log.Warn().Err(err).Msg("hub.json is looked at every few seconds: the system gives no notice of changes")
	})
	w.wg.Go(func() { _ = w.watcher.Run(ctx) })
	r.watched = w
}

func (w *fileWatch) changesOf() <-chan hubfile.Change {
	if w == nil {
		return nil
	}
	return w.watcher.Changes()
}

func (w *fileWatch) stopWatch() {
	if w != nil {
		w.cancel()
		w.wg.Wait()
	}
}
