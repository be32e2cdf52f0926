package retention

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"slices"
	"time"

	"github.com/rs/zerolog"

	"mcphub/hub/audit"
	"mcphub/hub/audit/trail"
)

// Bounds limit a record. The zero value keeps all.
type Bounds struct {
	Age  time.Duration // lines of so long ago at most; 0: of any age
	Size int64         // so many bytes at most; 0: any number
}

// A Keeper keeps the record in a folder within bounds.
type Keeper struct {
	Dir    string
	Bounds Bounds
	Log    zerolog.Logger
}

// every is how often Run looks for what is too old or too much.
const every = 10 * time.Minute

// Run removes what is too old or too much, now and then, until ctx ends.
func (k *Keeper) Run(ctx context.Context) {
	if k.Bounds == (Bounds{}) {
		return
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	told := ""
	for {
		removed, err := Sweep(ctx, k.Dir, k.Bounds, time.Now())
		if len(removed) > 0 {
			last := removed[len(removed)-1]
			k.Log.Info().Int("files", len(removed)).Str("last", last.Path).Msg("old files of the audit log were removed (audit.keep); chain.jsonl has a statement of each")
		}
		if err != nil && err.Error() != told {
			told = err.Error()
			k.Log.Error().Err(err).Msg("old files of the audit log could not be removed (audit.keep); ask mcphub audit verify")
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// oldFile is a file that may be removed, if those of its log before it are.
type oldFile struct {
	log, path string
	size      int64
	end       time.Time // of its last line, and not before that of the files before it
}

// Sweep removes the files that are beyond the bounds, the oldest first. The errors are of logs of which nothing could be removed.
func Sweep(ctx context.Context, dir string, b Bounds, now time.Time) (removed []*audit.Removal, err error) {
	all, total, err := listOld(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var chain *trail.Chain
	blocked := map[string]bool{}
	for _, f := range all {
		tooOld := b.Age > 0 && now.Sub(f.end) > b.Age
		if !tooOld && (b.Size <= 0 || total <= b.Size) || ctx.Err() != nil {
			break // the later ones are younger
		}
		if blocked[f.log] {
			continue
		}
		if chain == nil {
			if chain, err = trail.ReadChain(dir); err != nil {
				return nil, err
			}
		}
		r, e := chain.CheckOldest(f.log, f.path)
		if e == nil {
			e = audit.RemoveFile(dir, r)
		}
		if e != nil {
			blocked[f.log] = true
			if !errors.Is(e, trail.ErrUntold) { // the next look may find it
				err = errors.Join(err, e)
			}
			continue
		}
		chain.NoteRemoved(r)
		removed, total = append(removed, r), total-f.size
	}
	return removed, err
}

// listOld lists the files that may be removed, the oldest first, and returns how much all files of logs take.
func listOld(dir string) (all []oldFile, total int64, err error) {
	files, err := audit.LogFiles(dir)
	if err != nil {
		return nil, 0, err
	}
	for id, paths := range files {
		may := audit.Removable(dir, id, len(paths))
		var before time.Time
		for i, path := range paths {
			size, end, err := trail.EndOf(path)
			if errors.Is(err, fs.ErrNotExist) {
				continue // another hub has removed it
			}
			if err != nil {
				return nil, 0, err
			}
			if before.After(end) {
				end = before
			}
			if before, total = end, total+size; i < may {
				all = append(all, oldFile{id, path, size, end})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b oldFile) int { return cmp.Or(a.end.Compare(b.end), cmp.Compare(a.log, b.log)) })
	return all, total, nil
}
