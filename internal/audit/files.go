package audit

import (
	"bufio"
	"cmp"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// logFiles lists the files of each log, in the order written.
func logFiles(dir string) (map[string][]string, error) {
	names, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	files := map[string][]string{}
	for _, n := range names {
		// A link, a folder or a pipe is none: Verify tells of it.
		if id, ok := logOf(n.Name()); ok && n.Type().IsRegular() {
			files[id] = append(files[id], n.Name())
		}
	}
	for id, list := range files {
		if len(list) == 1 {
			continue
		}
		first := map[string]uint64{}
		for _, name := range list {
			if first[name], err = firstNumber(filepath.Join(dir, name)); err != nil {
				return nil, err
			}
		}
		slices.SortFunc(list, func(a, b string) int {
			// The one that is written to comes last: it may hold no line yet.
			now := id + logEnding
			return cmp.Or(cmp.Compare(boolInt(a == now), boolInt(b == now)), cmp.Compare(first[a], first[b]), strings.Compare(a, b))
		})
	}
	return files, nil
}

// firstNumber reads the number of the first whole line of a file. The times in
// the names do not tell the order: the clock may have been set back.
func firstNumber(path string) (uint64, error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer func() { _ = f.Close() }()
	r := bufio.NewReaderSize(f, 64<<10)
	for range 100 {
		b, err := r.ReadBytes('\n')
		if err != nil {
			break
		}
		if e, err := readLine(b[:len(b)-1]); err == nil {
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

// eachLine hands out the lines of files as if they were one: a line that a
// rotation fell into goes on in the next file. whole is false for what stands
// behind the last line end.
func eachLine(paths []string, each func(path string, n int, b []byte, whole bool) bool) error {
	var rest []byte
	for i, path := range paths {
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		r := bufio.NewReaderSize(f, 256<<10)
		for n := 1; ; n++ {
			b, err := r.ReadBytes('\n')
			if rest != nil {
				b, rest = append(rest, b...), nil
			}
			if errors.Is(err, io.EOF) {
				if len(b) > 0 && i+1 < len(paths) {
					rest = b
				} else if len(b) > 0 {
					each(path, n, b, false)
				}
				break
			}
			if err != nil {
				_ = f.Close()
				return err
			}
			if !each(path, n, b[:len(b)-1], true) {
				return f.Close()
			}
		}
		if err := f.Close(); err != nil {
			return err
		}
	}
	return nil
}
