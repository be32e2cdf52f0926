package validate

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"mcphub/rootsmgr/guard"
	"mcphub/validate/access"
	"mcphub/validate/chars"
	"mcphub/validate/detect"
	"mcphub/validate/machine"
	"mcphub/validate/shell"
)

// A root may be called [x], $HOME, %41 or {a,b}: names that some children read as a pattern, a variable or an escape. Every path
// below such a root has readings that lie outside, so none could be sent. Therefore the root's text at the beginning of a path
// is read only as it stands, as long as nothing exists at any other reading of it. The rest of the path is read in every way,
// as always. Words of shell strings and SQL are excepted: there the other reading is the likely one.

// oddRoot is a root whose name can be read otherwise.
type oddRoot struct {
	dir    string
	others []string // the other readings; nothing exists there
}

// oddRootOf returns the root that a text begins with, nil if there is none, its name can be read in one way only, or
// something else is there by another reading.
func (j *judge) oddRootOf(text string) *oddRoot {
	if j.roots.Snapshot == nil || j.container != nil || isOneWay(text) {
		return nil
	}
	longest := ""
	try := func(dir string) {
		if _, ok := machine.Below(dir, text); ok && len(dir) > len(longest) && !isOneWay(dir) {
			longest = dir
		}
	}
	for _, r := range j.roots.Snapshot.Roots() {
		try(r.Path)
		try(r.Given)
	}
	for _, dir := range j.callCtx.Served {
		try(dir)
	}
	if longest == "" {
		return nil
	}
	tail := "" // what is dropped at the end of a path stays within one
	if len(text) > len(longest) {
		tail = "/x"
	}
	return j.oddRoots.Get(longest+tail, func() *oddRoot { return j.newOddRoot(longest, tail) })
}

func isOneWay(s string) bool { return machine.IsPlainText(s) && !strings.ContainsAny(s, "*?[{(") }

// newOddRoot looks at the other readings of a root's text with a tail behind it.
func (j *judge) newOddRoot(dir, tail string) *oddRoot {
	own, err := guard.Resolve(j.FS, dir)
	if err != nil {
		return nil
	}
	o := &oddRoot{dir: dir}
	texts, allVariants := j.Variants(dir + tail)
	if !allVariants {
		return nil
	}
	for _, text := range texts {
		text = strings.TrimSuffix(text, tail)
		alternatives, ok := shell.WrittenOut(text)
		if !ok {
			return nil
		}
		for _, alt := range alternatives {
			bare := shell.WithoutLoneBraces(alt)
			alternatives = append(alternatives, bare, shell.PlainText(alt), shell.PlainText(bare))
		}
		for _, alt := range append(alternatives, text) {
			if alt == dir && !shell.HasMeta(alt) || strings.IndexByte(alt, 0) >= 0 {
				continue // itself; or what nothing can open
			}
			if j.otherThan(own.Path, alt) {
				return nil
			}
			if alt != dir {
				o.others = append(o.others, alt)
			}
		}
	}
	return o
}

// otherThan reports whether something other than the directory own is at a path, or is matched by it.
func (j *judge) otherThan(own, text string) bool {
	if !shell.HasMeta(text) {
		place, err := guard.Resolve(j.FS, text)
		return err != nil || place.Exists && place.Path != own
	}
	return j.matchesOther(own, strings.Split(j.Platform.Clean(text), "/"), "/")
}

// matchesOther reports whether a pattern matches anything below dir other than the directory own, "**" as "*", or that it
// cannot be told.
func (j *judge) matchesOther(own string, parts []string, dir string) bool {
	for len(parts) > 0 && (parts[0] == "" || !shell.HasMeta(parts[0])) {
		dir, parts = j.Platform.Join(dir, parts[0]), parts[1:]
	}
	if len(parts) == 0 {
		if _, err := j.FS.Lstat(dir); err != nil {
			return !errors.Is(err, fs.ErrNotExist)
		}
		place, err := guard.Resolve(j.FS, dir)
		return err != nil || place.Path != own
	}
	entries, err := j.listDirectory(dir)
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist)
	}
	pattern := strings.ReplaceAll(parts[0], "[!", "[^")
	return slices.ContainsFunc(entries, func(e fs.DirEntry) bool {
		ok, _ := path.Match(pattern, e.Name())
		return (ok || e.Name() == parts[0]) && j.matchesOther(own, parts[1:], j.Platform.Join(dir, e.Name())) // what is called so matches a library's own reading
	})
}

// splitAtRoot splits a text, or one that stands for it, at the odd root that it begins with.
func (j *judge) splitAtRoot(f *detect.Finding, text string) (dir, rest string, ok bool) {
	if f.Form != detect.FormPath && f.Form != detect.FormURI || f.How == detect.HowShell || f.How == detect.HowLiteral {
		return "", "", false
	}
	if o := j.oddRootOf(text); o != nil {
		return o.dir, text[len(o.dir):], true
	}
	if f.Form != detect.FormPath {
		return "", "", false
	}
	for _, whole := range []string{f.Raw, chars.TrimEdges(f.Raw)} {
		if o := j.oddRootOf(whole); o != nil {
			for _, other := range o.others {
				if rest, ok := strings.CutPrefix(text, other); ok && (rest == "" || chars.IsSlash(rest[0])) {
					return o.dir, rest, true
				}
			}
		}
	}
	return "", "", false
}

const slashOrQuote = `/\"'`

// isWithinRootName reports a finding that is no part of a list and no tail behind a sign, but the end of one path. A root has a
// separator at the end of its name (/home/me/c:), and the finding begins in that name or directly behind it, and nowhere else in
// the text. Nothing exists at the finding itself.
func (j *judge) isWithinRootName(f *detect.Finding) bool {
	if f.How != detect.HowLiteral && (f.How != detect.HowList && f.How != detect.HowTail || f.Form != detect.FormPath) || j.roots.Snapshot == nil || chars.Climbs(f.Value) {
		return false
	}
	start := strings.LastIndex(f.Raw, f.Value)
	if start <= 0 || j.findFirstRoot(f.Raw, start, slashOrQuote) == "" {
		return false
	}
	texts, isFree := j.Variants(f.Value, f.Alts...)
	for _, text := range texts {
		j.yieldAbsolutes(f, text, func(s meaning) {
			if s.code == CodeForeignForm {
				return // nothing here is called so
			}
			place, err := guard.Resolve(j.FS, s.path)
			isFree = isFree && err == nil && !place.Exists && (f.Role == access.Read || !j.Creatable(place.Path, true))
		})
		isFree = isFree && !shell.HasMeta(text)
	}
	return isFree
}

// startsQuotedRoot reports a piece of a quoted word of a shell string that is no path by itself: it is the beginning of a root with a
// blank or another sign in its name ("/home/me/My Project/x"). The whole root stands in quotes wherever the piece occurs, and
// nothing exists at the piece.
func (j *judge) startsQuotedRoot(f *detect.Finding) bool {
	if f.How != detect.HowShell || f.Written || j.roots.Snapshot == nil || len(f.Raw) >= detect.MaxRaw || !j.Platform.IsAbs(f.Value) || chars.Climbs(f.Value) {
		return false
	}
	for start := 0; ; {
		i := strings.Index(f.Raw[start:], f.Value)
		if i < 0 {
			break
		}
		start += i
		dir := j.findFirstRoot(f.Raw[start:], len(f.Value)+1, slashOrQuote)
		if dir == "" || start > 0 && f.Raw[start-1] != '"' && f.Raw[start-1] != '\'' {
			return false
		}
		start += len(dir)
	}
	place, err := guard.Resolve(j.FS, f.Value)
	return err == nil && !place.Exists && strings.Contains(f.Raw, f.Value)
}

// findFirstRoot returns a root that a text begins with, and that is at least minLength bytes long, "" for none. Behind it stands nothing,
// or one of the signs.
func (j *judge) findFirstRoot(text string, minLength int, signs string) (dir string) {
	for _, r := range j.roots.Snapshot.Roots() {
		for _, d := range []string{r.Path, r.Given} {
			if rest, ok := strings.CutPrefix(text, d); ok && len(d) >= minLength && (rest == "" || strings.IndexByte(signs, rest[0]) >= 0) {
				return d
			}
		}
	}
	return ""
}

// yieldBelowRoot yields what a text behind an odd root may mean.
func (j *judge) yieldBelowRoot(f *detect.Finding, dir, rest string, yield func(meaning)) {
	if rest == "" {
		j.yieldMounted(meaning{text: dir, path: dir}, yield)
		return
	}
	texts, allVariants := j.Variants(rest)
	if !allVariants {
		yield(unresolvedMeaning(dir+rest, CodeBudget, "it can be spelled in more ways than are looked at"))
	}
	for _, text := range texts {
		if strings.Contains(text, "$(") && !f.Conditional() {
			yield(unresolvedMeaning(dir+text, CodeNoBase, "a command substitution, which only a shell can resolve"))
			continue
		}
		if !chars.IsSlash(text[0]) {
			text = "/" + text
		}
		j.yieldMounted(meaning{text: dir + text, path: dir + j.nameableText(text)}, yield)
		j.yieldGlobs(f, dir, text, yield)
	}
}
