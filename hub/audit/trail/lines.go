package trail

import (
	"bufio"
	"errors"
	"io"

	"mcphub/internal/atomicfile"
)

// eachLine hands out the lines of files as if they were one: a line that a
// rotation fell into goes on in the next file. whole is false for what stands
// behind the last line end.
func eachLine(paths []string, each func(path string, n int, b []byte, whole bool) bool) error {
	var rest []byte
	for i, path := range paths {
		f, err := atomicfile.Open(path, 0)
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
