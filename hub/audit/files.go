package audit

import (
	"bufio"
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mcphub/internal/atomicfile"
)

// LogFiles lists the paths of the files of each log, in the order written.
func LogFiles(dir string) (map[string][]string, error) {
	names, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	files := map[string][]string{}
	for _, n := range names {
		// A link, a folder or a pipe is none: Verify tells about it.
		if id, ok := LogOf(n.Name()); ok && n.Type().IsRegular() {
			files[id] = append(files[id], filepath.Join(dir, n.Name()))
		}
	}
	for id, list := range files {
		if len(list) == 1 {
			continue
		}
		first := map[string]uint64{}
		list = slices.DeleteFunc(list, func(path string) bool {
			var e error
			if first[path], e = firstNumber(path); errors.Is(e, fs.ErrNotExist) {
				return true // RemoveFile has removed it meanwhile
			}
			err = errors.Join(err, e)
			return false
		})
		if err != nil {
			return nil, err
		}
		if files[id] = list; len(list) == 0 {
			delete(files, id)
		}
		slices.SortFunc(list, func(a, b string) int {
			// The one that is written to comes last: it may hold no line yet.
			now := filepath.Join(dir, id+LogEnding)
			return cmp.Or(cmp.Compare(boolInt(a == now), boolInt(b == now)), cmp.Compare(first[a], first[b]), strings.Compare(a, b))
		})
	}
	return files, nil
}

// firstNumber reads the number of the first whole line of a file. The times in
// the names do not tell the order: the clock may have been set back.
func firstNumber(path string) (uint64, error) {
	f, err := atomicfile.Open(path, 0)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	r := bufio.NewReader(f)
	for range 100 {
		b, err := r.ReadBytes('\n')
		if err != nil {
			return 0, nil
		}
		if e, err := ReadLine(b[:len(b)-1]); err == nil {
			return e.Number, nil
		}
	}
	return 0, nil
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// HasLock reports whether the lock of a log is there: its process lives, or had
// no time to close it.
func HasLock(dir, id string) bool {
	_, err := os.Lstat(filepath.Join(dir, id+LockEnding))
	return err == nil
}
