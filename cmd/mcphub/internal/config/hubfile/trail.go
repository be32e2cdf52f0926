package hubfile

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A Trail is how a path leads to a file. The one who can change a name on it
// can change what the path means.
type Trail struct {
	Names []string // of the file itself: the path as given, absolute; each symbolic link to it; last where it lies
	Links []string // symbolic links to folders on the way, where they lie
}

// RealPath returns the place at which the file really lies, or would.
func (t Trail) RealPath() string {
	if len(t.Names) == 0 {
		return ""
	}
	return t.Names[len(t.Names)-1]
}

// All returns all names of a Trail.
func (t Trail) All() []string { return slices.Concat(t.Names, t.Links) }

func (t Trail) equalTo(o Trail) bool {
	return slices.Equal(t.Names, o.Names) && slices.Equal(t.Links, o.Links)
}

// maxHops bounds a chain of symbolic links, as Linux does.
const maxHops = 40

// Follow walks the path as the kernel does. What does not exist is no error: the
// rest of the path is then taken as it is written.
func Follow(path string) (Trail, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return Trail{}, err
	}
	t := Trail{Names: []string{abs}}
	top := filepath.VolumeName(abs) + string(filepath.Separator)
	at, todo := top, splitComponents(abs[len(filepath.VolumeName(abs)):])
	for hops := 0; len(todo) > 0; {
		step := todo[0]
		todo = todo[1:]
		if step == ".." {
			at = filepath.Dir(at)
			continue
		}
		next := filepath.Join(at, step)
		fi, err := os.Lstat(next)
		if err != nil {
			if !errors.Is(err, os.ErrNotExist) && !errors.Is(err, os.ErrPermission) {
				return t, err
			}
			at = filepath.Join(append([]string{next}, todo...)...)
			break
		}
		if fi.Mode()&os.ModeSymlink == 0 {
			at = next
			continue
		}
		if len(todo) == 0 {
			t.Names = appendNew(t.Names, next)
		} else {
			t.Links = appendNew(t.Links, next)
		}
		target, err := os.Readlink(next)
		if err != nil {
			return t, err
		}
		if hops++; hops > maxHops {
			return t, &os.PathError{Op: "follow", Path: path, Err: errors.New("too many symbolic links")}
		}
		if volume := filepath.VolumeName(target); filepath.IsAbs(target) {
			at = volume + string(filepath.Separator)
			target = target[len(volume):]
		}
		todo = append(splitComponents(target), todo...)
	}
	if at != t.RealPath() {
		t.Names = append(t.Names, at)
	}
	return t, nil
}

func appendNew(list []string, s string) []string {
	if slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}

// splitComponents splits a path without cleaning it: ".." behind a link is not what
// it looks like.
func splitComponents(path string) []string {
	var out []string
	for step := range strings.SplitSeq(filepath.ToSlash(path), "/") {
		if step != "" && step != "." {
			out = append(out, step)
		}
	}
	return out
}
