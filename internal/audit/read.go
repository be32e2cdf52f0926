package audit

import (
	"path/filepath"
	"slices"
)

// Read hands out every entry of a folder's logs, log by log, until each
// returns false. Lines that are none are left out; Verify tells of them.
func Read(dir string, each func(Entry) bool) error {
	files, err := logFiles(dir)
	if err != nil {
		return err
	}
	ids := make([]string, 0, len(files))
	for id := range files {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for _, id := range ids {
		paths := make([]string, len(files[id]))
		for i, f := range files[id] {
			paths[i] = filepath.Join(dir, f)
		}
		more := true
		err := eachLine(paths, func(_ string, _ int, b []byte, _ bool) bool {
			if e, err := readLine(slices.Clone(b)); err == nil {
				more = each(e)
			}
			return more
		})
		if err != nil || !more {
			return err
		}
	}
	return nil
}
