package learn

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"mcphub/children/sandbox"
)

// A Recording is what a run that the kernel held would have opened beyond its profile, as a
// person is asked about it.
type Recording struct {
	Shown []sandbox.RecordedPath // a person decides on them
	Own   []sandbox.RecordedPath // no one is asked: installed packages in which its own program lies
	Left  []Left                 // what it is not given
}

// maxShown bounds how many paths of one kind a person is asked about, and longestShown how long each is with its pattern. The
// rest stays closed: no one says yes to what a line has no room for.
const (
	maxShown     = 8
	longestShown = 300
)

// Record makes a Recording of Facts.
func Record(f Facts) Recording {
	p := &proposer{Facts: f, looked: map[folder]string{}, fresh: freshIn(f.Uses)}
	r := &recorder{proposer: p}
	for _, u := range f.Uses {
		r.noteUse(u)
	}
	for _, path := range p.foldFiles(&p.read) {
		kind := &r.Shown
		if r.ofProgram(path) {
			kind = &r.Own
		}
		*kind = append(*kind, sandbox.RecordedPath{Path: path, Use: sandbox.Reads})
	}
	for _, path := range keepOutermost(p.write.whole, nil) {
		r.Shown = append(r.Shown, sandbox.RecordedPath{Path: path, Use: sandbox.Writes})
	}
	r.joinSiblings()
	r.joinTemporary()
	r.Left = append(r.Left, p.left...)
	r.finishPaths()
	return r.Recording
}

type recorder struct {
	*proposer
	Recording
	beside []string // files that are written
}

// noteUse reports by which path a use is allowed.
func (r *recorder) noteUse(u sandbox.Use) {
	leave := func(why string) { r.Left = append(r.Left, Left{u.Path, u.Access, why}) }
	writes := u.Access&sandbox.Write != 0
	why := r.neverReason(u.Path)
	if why == "" && r.Never != nil {
		why = r.Never(u.Path)
	}
	if dir, named := r.stateFolder(u.Path); dir != "" {
		whyDir := r.reservedPaths().Why(dir)
		if r.Never != nil {
			whyDir = cmp.Or(whyDir, r.Never(dir))
		}
		if sandbox.Loaded(dir) {
			whyDir = cmp.Or(whyDir, "shells, git, ssh or an editor load it")
		}
		_, err := os.Lstat(dir)
		rel, _ := filepath.Rel(dir, u.Path) // it lies there
		switch {
		case whyDir != "":
		case named && (err == nil || writes): // what looks like a key there is its own
			r.Shown = append(r.Shown, sandbox.RecordedPath{Path: dir, Use: sandbox.Keeps})
			return
		case why == "" && sandbox.IsKey(filepath.Join(r.Home, settingsOf, rel)):
			why = "it looks like a key or a credential of another program"
		case why != "" || !writes:
		case err != nil && u.Folder && u.Path == dir, err == nil && r.tooWide(dir, true) == "":
			r.Shown = append(r.Shown, sandbox.RecordedPath{Path: dir, Use: sandbox.Keeps})
			return
		}
		why = cmp.Or(why, whyDir)
	}
	fi, err := os.Stat(u.Path)
	switch {
	case why != "":
	case slices.ContainsFunc(r.fresh, func(top string) bool { return sandbox.Contains(top, u.Path) }):
		why = "it was made among everybody's temporary files"
	case writes && sandbox.Loaded(u.Path):
		why = "shells, git, ssh or an editor load it"
	case err != nil && u.Folder:
		if why = r.reservedPaths().Why(u.Path); why == "" {
			r.Shown = append(r.Shown, sandbox.RecordedPath{Path: u.Path, Use: sandbox.Keeps})
		}
	case err != nil && u.Made:
		r.beside = append(r.beside, u.Path)
	case err != nil: // gone, and what is not there needs no rule
	case fi.IsDir():
		if why = r.tooWide(u.Path, writes); why == "" && writes {
			r.write.whole = append(r.write.whole, u.Path)
		} else if why == "" {
			r.read.whole = append(r.read.whole, u.Path)
		}
	case !fi.Mode().IsRegular():
		why = "it is no file and no folder"
	case writes:
		r.beside = append(r.beside, u.Path)
	default:
		r.read.paths = append(r.read.paths, u.Path)
	}
	if why != "" {
		leave(why)
	}
}

// settingsOf is a folder of settings: a file that another program keeps counts as one in it.
const settingsOf = ".config/x"

// stateFolder returns the folder of one program's state that a path is or lies in, and whether it
// has a name of the server's own program; "" for none.
func (r *recorder) stateFolder(path string) (dir string, named bool) {
	rel, err := filepath.Rel(r.Home, path)
	if r.Home == "" || err != nil || !filepath.IsLocal(rel) {
		return "", false
	}
	parts := strings.Split(filepath.ToSlash(rel), "/")
	n, name := 1, strings.TrimPrefix(parts[0], ".")
	for _, home := range sandbox.StateFolders {
		if k := strings.Count(home, "/") + 1; len(parts) > k && strings.Join(parts[:k], "/") == home {
			n, name = k+1, parts[k]
		}
	}
	if n == 1 && (!strings.HasPrefix(parts[0], ".") || slices.Contains(own, parts[0])) || slices.Contains(own, strings.Join(parts[:n], "/")) {
		return "", false
	}
	return filepath.Join(r.Home, filepath.Join(parts[:n]...)), slices.Contains(r.Names, name)
}

// ofProgram reports whether a path is an installed package, or the folder of these, in which the server's
// own program lies. A project is none: it holds more than the program.
func (r *recorder) ofProgram(path string) bool {
	installed := slices.ContainsFunc([]string{"node_modules", "site-packages", "dist-packages"}, func(name string) bool {
		return strings.Contains(filepath.ToSlash(path)+"/", "/"+name+"/")
	})
	return r.Profile != nil && installed && slices.ContainsFunc(r.Profile.Rules, func(rule sandbox.Rule) bool {
		return rule.Access&(sandbox.Execute|sandbox.Write) == sandbox.Execute && sandbox.Contains(path, rule.Path)
	})
}

// joinSiblings joins files that are written to those for whose sake they are: their names begin with the
// name of another one.
func (r *recorder) joinSiblings() {
	files := keepOutermost(r.beside, nil)
	isSibling := func(path, of string) bool {
		return filepath.Dir(path) == filepath.Dir(of) && sandbox.IsSibling(filepath.Base(path), filepath.Base(of))
	}
	for i, path := range files {
		for _, named := range r.Named { // what the entry names stands for its temporary files
			if isSibling(path, named) && !sandbox.IsDir(named) {
				files[i] = named
			}
		}
	}
	files = keepOutermost(files, nil)
	for _, path := range files {
		if !slices.ContainsFunc(files, func(of string) bool { return isSibling(path, of) }) {
			r.Shown = append(r.Shown, sandbox.RecordedPath{Path: path, Use: sandbox.Writes, Beside: true})
		}
	}
}

// joinTemporary joins a file whose name is another one at each start to the file that it is renamed onto: the one file in its folder
// that the entry names. Of another one nothing can be given, because no one knows its next name.
func (r *recorder) joinTemporary() {
	var joined []sandbox.RecordedPath
	r.Shown = slices.DeleteFunc(r.Shown, func(p sandbox.RecordedPath) bool {
		pattern := r.temporaryPattern(p)
		if pattern == "" {
			return false
		}
		if onto := r.onlyNamedBeside(p.Path); onto != "" {
			joined = append(joined, sandbox.RecordedPath{Path: onto, Use: sandbox.Writes, Beside: true, Temporary: pattern})
		} else {
			r.Left = append(r.Left, Left{p.Path, sandbox.Write, "it has another name at each start: give the file that it is for a folder of its own"})
		}
		return true
	})
	r.Shown = append(r.Shown, joined...)
}

// onlyNamedBeside returns the file that the entry names in the folder of a path; "" if it names none or several.
func (r *recorder) onlyNamedBeside(path string) (file string) {
	for _, named := range r.Named {
		switch {
		case filepath.Dir(named) != filepath.Dir(path) || named == file || slices.Contains(r.Tried, named) || sandbox.IsDir(named):
		case file != "":
			return ""
		default:
			file = named
		}
	}
	return file
}

// temporaryPattern returns the pattern of the names that a written file and one of an earlier start have; "" if there is none.
func (r *recorder) temporaryPattern(p sandbox.RecordedPath) string {
	for _, tried := range r.Tried {
		if p.Use == sandbox.Writes && filepath.Dir(tried) == filepath.Dir(p.Path) {
			if pattern := patternOf(filepath.Base(tried), filepath.Base(p.Path)); pattern != "" {
				return pattern
			}
		}
	}
	return ""
}

// Bounds of a pattern: what chance has made in a name, and what is the same in all.
const (
	leastChance = 6
	leastSame   = 3
)

// patternOf returns the pattern of two names that differ in one part of letters and digits alone, which is equally long in both.
func patternOf(a, b string) string {
	begin, end := 0, 0
	for begin < min(len(a), len(b)) && a[begin] == b[begin] {
		begin++
	}
	for end < min(len(a), len(b))-begin && a[len(a)-1-end] == b[len(b)-1-end] {
		end++
	}
	n := len(a) - begin - end
	if len(a) != len(b) || n < leastChance || begin+end < leastSame || strings.ContainsAny(a[:begin]+a[len(a)-end:], `*?[\`) || !isChance(a[begin:begin+n]) || !isChance(b[begin:begin+n]) {
		return ""
	}
	return a[:begin] + strings.Repeat("?", n) + a[len(a)-end:]
}

func isChance(part string) bool {
	return strings.Trim(part, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == ""
}

// finishPaths leaves each path once, by the most that is done there, and no more than a person can read.
func (r *recorder) finishPaths() {
	r.Own = dropInner(r.Own, nil)
	r.Shown = dropInner(r.Shown, r.Own)
	n := map[sandbox.RecordedUse]int{}
	r.Shown = slices.DeleteFunc(r.Shown, func(p sandbox.RecordedPath) bool {
		if n[p.Use]++; n[p.Use] > maxShown || len(strconv.Quote(p.Path+p.Temporary)) > longestShown {
			r.Left = append(r.Left, Left{p.Path, sandbox.Read, "it opens more than a person can be asked about at a time"})
			return true
		}
		return false
	})
	r.Left = slices.DeleteFunc(r.Left, func(l Left) bool { // a folder in which a file is renamed that is given to it
		return slices.ContainsFunc(slices.Concat(r.Own, r.Shown), func(p sandbox.RecordedPath) bool {
			return p.Use != sandbox.Reads && filepath.Dir(p.Path) == l.Path
		})
	})
	slices.SortFunc(r.Left, func(a, b Left) int { return cmp.Compare(a.Path, b.Path) })
}

// dropInner leaves out what other paths give as well.
func dropInner(paths, beside []sandbox.RecordedPath) (out []sandbox.RecordedPath) {
	slices.SortStableFunc(paths, func(a, b sandbox.RecordedPath) int {
		return cmp.Or(cmp.Compare(useOrder[b.Use], useOrder[a.Use]), cmp.Compare(a.Path, b.Path))
	})
	for _, p := range paths {
		if !slices.ContainsFunc(slices.Concat(beside, out), func(o sandbox.RecordedPath) bool { return Covers(o, p) }) {
			out = append(out, p)
		}
	}
	return out
}

var useOrder = map[sandbox.RecordedUse]int{sandbox.Reads: 1, sandbox.Writes: 2, sandbox.Keeps: 3}

// Covers reports whether one path gives what another one does.
func Covers(o, p sandbox.RecordedPath) bool {
	return sandbox.Contains(o.Path, p.Path) && (o.Use != sandbox.Reads || p.Use == sandbox.Reads) && (!p.Beside || o.Beside || o.Path != p.Path) && (p.Temporary == "" || o.Temporary == p.Temporary)
}

// Lines returns in at most three lines what paths give.
func Lines(paths []sandbox.RecordedPath, short func(path string) string) (lines []string) {
	for _, use := range []sandbox.RecordedUse{sandbox.Reads, sandbox.Writes, sandbox.Keeps} {
		var texts []string
		for _, p := range paths {
			if p.Use == use {
				text := short(p.Path)
				if p.Beside {
					text += " and beside it"
				}
				if p.Temporary != "" {
					text += " as " + p.Temporary
				}
				texts = append(texts, text)
			}
		}
		if len(texts) > 0 {
			word := string(use)
			if use == sandbox.Keeps {
				word += " in"
			}
			lines = append(lines, word+" "+strings.Join(texts, ", "))
		}
	}
	return lines
}
