package validate

import (
	"path"
	"slices"
	"strings"

	"mcphub/internal/lazyregexp"
	"mcphub/rootsmgr/guard"
	"mcphub/validate/access"
	"mcphub/validate/budget"
	"mcphub/validate/chars"
	"mcphub/validate/detect"
	"mcphub/validate/machine"
	"mcphub/validate/shell"
	"mcphub/validate/uri"
)

// meaning is one absolute path that a value may mean, or why there is none.
type meaning struct {
	text string // the spelling it came from
	path string
	base string // the directory a relative one was read from
	code string // where path is "": why
	err  string
	glob string // the component to match below path, for a glob's fixed prefix
	weak bool   // the child works in another directory by then: it counts only if something exists there
	led  bool   // base is the directory that a cd led to
}

// oldWorkdir begins a path in a directory that the string was in before.
const oldWorkdir = "${OLDPWD}/"

// unresolvedMeaning returns the meaning of a text that is no path here, and why.
func unresolvedMeaning(text, code, err string) meaning {
	return meaning{text: text, code: code, err: err}
}

// nameableText returns a text in which each wildcard has become a letter. Nothing on Windows is called * or ?, so the other names
// in a pattern decide where it leads. A pattern with alternatives in round brackets stays, and is refused.
func (j *judge) nameableText(text string) string {
	if _, remote := j.Platform.Remote(text); !j.Windows || remote || extended.MatchString(text) {
		return text
	}
	return wildcards.Replace(text)
}

// extended begins alternatives in round brackets.
var extended = lazyregexp.New(`[@+?*!]\(`)

var wildcards = strings.NewReplacer("*", "_", "?", "_")

// yieldAbsolutes turns one spelling into every absolute path it may mean.
func (j *judge) yieldAbsolutes(f *detect.Finding, text string, yield func(meaning)) {
	text = j.nameableText(text)
	if home, rest, ok := j.UserHome(text); ok {
		yield(meaning{text: text, path: home + chars.ToSlash(rest)})
	}
	switch {
	case text == "~" || strings.HasPrefix(text, "~/") || strings.HasPrefix(text, `~\`):
		if j.Home == "" {
			yield(unresolvedMeaning(text, CodeNoHome, "the home folder is not known"))
			return
		}
		yield(meaning{text: text, path: j.Home + text[1:]})
		if j.secondPass && f.Conditional() {
			j.yieldRelative(f, text[min(2, len(text)):], yield) // another directory was made the home folder
		}
	case strings.HasPrefix(text, "~-/") || text == "~-":
		yield(unresolvedMeaning(text, CodeNoBase, "~- is the shell's previous directory, which only the child knows"))
	case strings.HasPrefix(text, "~+/") || text == "~+":
		j.yieldRelative(f, "."+text[2:], yield)
	case strings.HasPrefix(text, oldWorkdir):
		own := *f
		own.Course.Sure = shell.SureNot
		j.yieldRelative(&own, "./"+text[len(oldWorkdir):], yield)
	}
	if j.Windows {
		j.yieldWindowsForms(f, text, yield)
	}
	if strings.Contains(text, "$(") && !f.Conditional() {
		yield(unresolvedMeaning(text, CodeNoBase, "a command substitution, which only a shell can resolve"))
		return
	}
	switch {
	case !j.Windows && (chars.IsDrive(text) || chars.IsUNC(text)):
		yield(unresolvedMeaning(text, CodeForeignForm, "a Windows path, which no root on this machine contains"))
	case j.Platform.IsAbs(text):
		j.yieldMounted(meaning{text: text, path: text}, yield)
	case j.Windows && chars.IsSlash(text[0]):
		j.yieldFromVolume(f, text, yield)
	case j.Windows && startsOnDrive(text) && !chars.Climbs(text):
		// Below the directory of the drive, which yieldWindowsForms yields. Elsewhere it names a stream of a file there.
	default:
		j.yieldRelative(f, text, yield)
	}
}

// yieldFromVolume yields what a text with a separator at its beginning means on Windows: a path on the volume that the child works on.
func (j *judge) yieldFromVolume(f *detect.Finding, text string, yield func(meaning)) {
	p := j.Platform
	if _, remote := p.Remote(text); remote || j.container != nil {
		j.yieldMounted(meaning{text: text, path: text}, yield) // half a UNC path, or a path of the container
		return
	}
	isOption := f.Conditional() && len(text) == 2 && (f.Role != access.Delete || f.Course.Native) // cmd /c, but not rm -r /c
	if drive := p.FromMSYS(chars.ToSlash(text)); p.IsAbs(drive) && !isOption {
		yield(meaning{text: text, path: drive})
	}
	bases := j.baseDirectories()
	if j.callCtx.Cwd != "" {
		bases = []string{j.callCtx.Cwd}
	}
	hasVolume := false
	for _, base := range bases {
		if n := p.RootLen(p.FromSlash(base)); n > 0 {
			hasVolume = true
			yield(meaning{text: text, path: p.Join(p.Clean(base[:n]), strings.TrimLeft(text, `/\`))})
		}
	}
	if !hasVolume {
		j.yieldRelative(f, text, yield)
	}
}

// yieldMounted yields a meaning, or what a container's mounts make of its path.
func (j *judge) yieldMounted(s meaning, yield func(meaning)) {
	if j.container != nil && !machine.IsDevice(path.Clean(s.path)) { // every container has its own
		host, ok := j.container.ToHost(s.path, j.callCtx.Cwd)
		if !ok {
			s.code, s.err = CodeUnmapped, "the container mounts nothing of this machine at "+path.Clean(s.path)
		}
		s.path = host
	}
	yield(s)
}

// yieldRelative yields text below every directory it may start from.
func (j *judge) yieldRelative(f *detect.Finding, text string, yield func(meaning)) {
	bases := j.baseDirectories()
	if own, ok := j.declaredBase(f); ok {
		bases = own
	}
	if len(bases) == 0 {
		yield(unresolvedMeaning(text, CodeNoBase, "a relative path, and no directory is known that it starts from"))
		return
	}
	moved, certain := j.movedDirectories(f), 0
	for _, base := range bases {
		if dir, ok := j.certainDirectory(f, base); ok {
			certain++
			j.yieldMounted(meaning{text: text, path: j.Platform.Join(dir, text), base: dir, led: true}, yield)
			continue
		}
		weak := j.callSetsWorkdir // what is only read has to be there
		if j.secondPass {
			weak = f.Form != detect.FormWord || !slices.Contains(j.ownDirs, base)
		}
		j.yieldMounted(meaning{text: text, path: j.Platform.Join(base, text), base: base, weak: weak && !f.Written && !f.Makes}, yield)
	}
	if certain == len(bases) {
		return
	}
	for _, base := range moved {
		j.yieldMounted(meaning{text: text, path: j.Platform.Join(base, text), base: base, led: true}, yield)
	}
	if f.Course.Lost && j.container == nil {
		if !f.Relative() {
			j.yieldFromBelow(f, bases, text, yield)
		}
		j.yieldFromAbove(f, bases, text, yield)
	}
}

// yieldFromAbove yields what is protected below a base and that a text names if it starts in a directory on the way there. For a typed text it
// also yields what is in the directories of rules.
func (j *judge) yieldFromAbove(f *detect.Finding, bases []string, text string, yield func(meaning)) {
	clean := path.Clean(chars.ToSlash(text))
	for start := 0; start < len(clean); start++ {
		name, after, _ := strings.Cut(clean[start:], "/")
		if j.checker.search.Guards(name) {
			for _, list := range j.checker.guardedDirectories(f.Typed) {
				for _, place := range list {
					if !j.work.Spend(budget.ReadSteps) {
						return
					}
					isInside := slices.ContainsFunc(bases, func(base string) bool { return j.Holds(base, place) })
					if isInside && strings.HasSuffix(j.Fold(chars.ToSlash(place)), j.Fold("/"+clean[:start+len(name)])) {
						j.yieldMounted(meaning{text: text, path: strings.TrimSuffix(j.Platform.Join(place, after), "/"), base: j.Platform.Parent(place)}, yield)
					}
				}
			}
		}
		start += len(name)
	}
}

// yieldFromBelow yields what a text with ".." means if it starts in an unknown directory below a base: the rest of the text, in the
// base and in every directory above that it can climb to.
func (j *judge) yieldFromBelow(f *detect.Finding, bases []string, text string, yield func(meaning)) {
	rest := path.Clean(chars.ToSlash(text))
	ups := 0
	for ; rest == ".." || strings.HasPrefix(rest, "../"); ups++ {
		rest = strings.TrimPrefix(rest[2:], "/")
	}
	for _, dir := range bases {
		dir = j.Platform.Clean(dir) // of /p/src/.. the directory above is not /p/src
		for n := 1; n < ups; n++ {
			above := j.Platform.Clean(j.Platform.Parent(dir))
			if above == dir || !j.work.Spend(budget.ReadSteps) {
				break
			}
			dir = above
			j.yieldMounted(meaning{text: text, path: j.Platform.Join(dir, rest), base: dir, weak: !f.Written && !f.Makes}, yield)
		}
	}
}

// movedDirectories returns the directories that a cd before the word leads to and that are there.
func (j *judge) movedDirectories(f *detect.Finding) []string {
	if f.Course.Dir == "" || j.container != nil {
		return nil
	}
	var list []string
	for dir := range strings.SplitSeq(f.Course.Dir, "\x00") {
		for _, text := range append(j.Expand(dir), dir) {
			if text == "~" || strings.HasPrefix(text, "~/") {
				text = j.Home + text[1:]
			}
			for _, base := range j.baseDirectories() {
				list = append(list, j.resolveBelow(base, text))
			}
		}
	}
	return slices.DeleteFunc(list, func(dir string) bool {
		where, err := guard.Resolve(j.FS, dir)
		return err != nil || !where.Dir
	})
}

// worksElsewhere reports a call that names the directory it works in (cwd, workdir), one that is there and inside.
func (j *judge) worksElsewhere(findings []detect.Finding) bool {
	if j.container != nil || j.guard == nil {
		return false
	}
	for i := range findings {
		if f := &findings[i]; f.Context && f.Form == detect.FormPath && j.Platform.IsAbs(f.Value) {
			if where, err := j.guard.Check(f.Value); err == nil && where.Dir {
				return true
			}
		}
	}
	return false
}

// certainDirectory returns where a cd led from base; ok is false if anything else may have happened.
func (j *judge) certainDirectory(f *detect.Finding, base string) (dir string, ok bool) {
	if f.Course.Sure == shell.SureNot || j.container != nil || j.Getenv("CDPATH") != "" {
		return "", false
	}
	list := strings.Split(f.Course.Dir, "\x00")
	for i, to := range list {
		dir = j.resolveBelow(base, to)
		where, err := guard.Resolve(j.FS, dir)
		if err != nil || !where.Dir && (f.Course.Sure != shell.SureDone || where.Exists || i < len(list)-1) {
			return "", false
		}
	}
	return dir, true
}

// declaredBase returns the directory that the declared base of a finding names, the only one that the finding starts from.
// ok is false where none is declared, or it is not absolute, so that the ordinary directories count.
func (j *judge) declaredBase(f *detect.Finding) (dirs []string, ok bool) {
	v := chars.TrimEdges(f.BaseDir)
	if kind, texts := uri.Read(v); kind == uri.File {
		paths, err := j.Platform.ReadURI(texts[0])
		return paths, err == nil
	}
	if v == "~" || strings.HasPrefix(v, "~/") {
		v = j.Home + v[1:]
	}
	if !j.Platform.IsAbs(v) {
		return nil, false
	}
	return []string{v}, true
}

// yieldGlobs yields the further paths a glob stands for: its alternatives, the fixed prefix of each, and a refusal if a later
// component can climb. The literal reading is the caller's. dir stands before the text, and is no pattern; it may be "".
func (j *judge) yieldGlobs(f *detect.Finding, dir, text string, yield func(meaning)) {
	if !shell.HasMeta(text) || len(text) > chars.MaxPath {
		return // it is too long to be opened, and refused as it stands
	}
	if j.Windows {
		text = chars.ToSlash(text)
	}
	list, ok := shell.ExpandBraces(text)
	if !ok {
		yield(unresolvedMeaning(text, CodeGlob, "too many alternatives in braces"))
		return
	}
	for _, alt := range list {
		if alt == "" {
			continue
		}
		if alt != text {
			j.yieldAbsolutes(f, dir+alt, yield)
		}
		if !shell.HasMeta(alt) {
			continue
		}
		if shell.GlobClimbs(chars.ToSlash(alt)) && !(f.Content && shell.IsOneClass(alt)) {
			yield(unresolvedMeaning(alt, CodeGlob, "a component after the wildcard can be \"..\""))
			continue
		}
		if j.Windows {
			own := *f
			own.Glob = dir + alt
			j.yieldGlobWord(&own, yield) // the links that it matches: no child can read it as a name
		}
		prefix := shell.FixedPrefix(alt)
		component, _, _ := strings.Cut(alt[len(prefix):], "/")
		if prefix == "" {
			continue // the directory it starts from, which the literal reading goes through
		}
		j.yieldAbsolutes(f, dir+prefix, func(s meaning) {
			s.glob = component
			yield(s)
		})
	}
}
