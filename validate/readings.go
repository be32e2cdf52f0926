package validate

import (
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"mcphub/rootsmgr"
	"mcphub/validate/budget"
	"mcphub/validate/chars"
	"mcphub/validate/shell"
)

const (
	maxVariants = 48
	maxDecodes  = 3
)

// variants are the spellings of one value that some child may arrive at before it opens anything: as sent, trimmed,
// with backslashes for slashes, percent-decoded, with look-alike dots and slashes made ASCII, with variables expanded
// (V5). The first is the value itself. Nearly every honest value has no other. all is false where there are more than
// anybody looks at.
func (c *Checker) variants(f *Finding) (list []string, all bool) {
	list = append(make([]string, 0, 4), f.Value)
	list = append(list, f.alts...)
	if len(list) == 1 && isPlainText(f.Value) && strings.IndexByte(f.Value, '[') < 0 && !strings.Contains(f.Value, "...") {
		return list, true
	}
	more := false
	add := func(s string) {
		switch {
		case s == "" || slices.Contains(list, s):
		case len(list) == maxVariants:
			more = true
		default:
			list = append(list, s)
		}
	}
	decodes := 0
	for i := 0; i < len(list); i++ {
		s := list[i]
		add(chars.TrimEdges(s))
		if !c.windows && strings.IndexByte(s, '\\') >= 0 {
			add(chars.Slashed(s))
		}
		if shell.HasMeta(s) {
			add(shell.PlainText(s))
		}
		if decodes < maxDecodes*4 {
			if d := chars.DecodePercent(s); d != s {
				decodes++
				add(d)
			}
		} else if chars.DecodePercent(s) != s {
			more = true
		}
		add(chars.Compatible(s))
		if t, ok := stripped(s); ok {
			add(t)
		}
		for _, e := range c.expand(s) {
			add(e)
		}
		if e, ok := shell.WithoutVariables(s, &shell.Variables{}, c.getenv); ok && (s[0] == '$' && c.platform.IsAbs(e) && c.opens(e) || chars.Climbs(e) && !chars.Climbs(s)) {
			add(e) // os.ExpandEnv and envsubst know nothing of variables that are not set
		}
		more = more || unread(s)
	}
	return list, !more
}

// dollarWork is what writing out the variables of s costs: each looks for the end of its braces.
func dollarWork(s string) int {
	return len(s)/budget.ByteSteps + strings.Count(s, "${")*(shell.MaxDollar/100)
}

// unread reports a variable with more in its braces than is read.
func unread(s string) bool {
	for i := 0; ; i += 2 {
		j := strings.Index(s[i:], "${")
		if j < 0 {
			return false
		}
		if i += j; len(s)-i > shell.MaxDollar {
			if _, _, n := shell.DollarName(s[i:]); n == 0 {
				return true
			}
		}
	}
}

// isPlainText reports a value that has one spelling only.
func isPlainText(s string) bool {
	if s == "" || s[0] == ' ' || s[len(s)-1] == ' ' {
		return false
	}
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c < ' ', c >= utf8.RuneSelf, c == 0x7f:
			return false
		case strings.IndexByte("%\\$\"'`<>", c) >= 0:
			return false
		}
	}
	return true
}

// expand writes out variables: $NAME, ${NAME}, ${NAME:-default}, %NAME%, $env:NAME. Names that are not set stay as
// they are: to a shell they would be empty, to everything else they are text, and routes are called $id.
func (c *Checker) expand(s string) []string {
	var out []string
	if strings.IndexByte(s, '$') >= 0 {
		if e, ok := c.expandDollar(s, true); ok {
			out = append(out, e)
		}
		if strings.Contains(s, "${") { // the defaults, whatever is set; once, or nested ones double at each level
			if e, ok := c.expandDollar(s, false); ok && (len(out) == 0 || e != out[0]) {
				out = append(out, e)
			}
		}
	}
	if i := strings.IndexByte(s, '%'); i >= 0 {
		if j := strings.IndexByte(s[i+1:], '%'); j > 0 {
			if v := c.getenv(s[i+1 : i+1+j]); v != "" {
				out = append(out, s[:i]+v+s[i+j+2:])
			}
		}
	}
	return out
}

func (c *Checker) expandDollar(s string, set bool) (string, bool) {
	var b strings.Builder
	changed := false
	for i := 0; i < len(s); {
		name, fallback, n := shell.DollarName(s[i:])
		if n == 0 {
			b.WriteByte(s[i])
			i++
			continue
		}
		v := ""
		if set {
			v = c.getenv(name)
		}
		if v == "" {
			v = fallback
		}
		if v == "" {
			b.WriteString(s[i : i+n])
		} else {
			b.WriteString(v)
			changed = true
		}
		i += n
	}
	return b.String(), changed
}

// spelled is one absolute path that a value may mean, or why there is none.
type spelled struct {
	text string // the spelling it came from
	path string
	base string // the directory a relative one was read from
	code string // where path is "": why
	err  string
	glob string // the component to match below path, for a glob's fixed prefix
	weak bool   // the child has gone elsewhere before it looks: it counts only for what is there
	led  bool   // base is where the child has gone
}

// absolutes turns one spelling into every absolute path it may mean.
func (j *judge) absolutes(f *Finding, text string, yield func(spelled)) {
	c := j.c
	if home, rest, ok := c.userHome(text); ok {
		yield(spelled{text: text, path: home + chars.Slashed(rest)})
	}
	switch {
	case text == "~" || strings.HasPrefix(text, "~/") || strings.HasPrefix(text, `~\`):
		if c.home == "" {
			yield(spelled{text: text, code: CodeNoHome, err: "the home folder is not known"})
			return
		}
		yield(spelled{text: text, path: c.home + text[1:]})
	case strings.HasPrefix(text, "~-/") || text == "~-":
		yield(spelled{text: text, code: CodeNoBase, err: "~- is the shell's previous directory, which only the child knows"})
	case strings.HasPrefix(text, "~+/") || text == "~+":
		j.relative(f, "."+text[2:], yield)
	}
	if strings.Contains(text, "$(") && !f.Conditional() {
		yield(spelled{text: text, code: CodeNoBase, err: "a command substitution, which only a shell can resolve"})
		return
	}
	switch {
	case !c.windows && (chars.IsDrive(text) || chars.IsUNC(text)):
		yield(spelled{text: text, code: CodeForeignForm, err: "a Windows path, which no root on this machine contains"})
	case c.platform.IsAbs(text):
		j.absolute(text, text, "", yield)
	case c.windows && chars.IsSlash(text[0]) && len(j.w.Cwd) > 1 && chars.IsLetter(j.w.Cwd[0]):
		yield(spelled{text: text, path: j.w.Cwd[:2] + text})
	default:
		j.relative(f, text, yield)
	}
}

// absolute yields p itself, or what a container's mounts make of it.
func (j *judge) absolute(text, p, base string, yield func(spelled)) {
	if j.container == nil || isDevice(path.Clean(p)) { // every container has its own
		yield(spelled{text: text, path: p, base: base})
		return
	}
	host, ok := j.container.toHost(p, j.w.Cwd)
	if !ok {
		yield(spelled{text: text, code: CodeUnmapped, err: "the container mounts nothing of this machine at " + path.Clean(p)})
		return
	}
	yield(spelled{text: text, path: host, base: base})
}

// relative yields text below every directory it may start from (V5).
func (j *judge) relative(f *Finding, text string, yield func(spelled)) {
	bases := j.bases()
	if f.Base != "" && f.BaseDir != "" {
		if own, ok := j.declaredBase(f.BaseDir); ok {
			bases = own
		}
	}
	if len(bases) == 0 {
		yield(spelled{text: text, code: CodeNoBase, err: "a relative path, and no directory is known that it starts from"})
		return
	}
	moved, certain := j.moved(f), 0
	for _, base := range bases {
		if dir, ok := j.certainly(f, base); ok {
			certain++
			j.absolute(text, j.c.platform.Join(dir, text), dir, func(s spelled) {
				s.led = true
				yield(s)
			})
			continue
		}
		j.absolute(text, j.c.platform.Join(base, text), base, func(s spelled) {
			s.weak = j.elsewhere // what is only read has to be there
			if j.again {
				s.weak = f.form != formWord || !slices.Contains(j.own, base)
			}
			s.weak = s.weak && !f.written && !f.makes
			yield(s)
		})
	}
	if certain == len(bases) {
		return
	}
	for _, base := range moved {
		j.absolute(text, j.c.platform.Join(base, text), base, func(s spelled) {
			s.led = true
			yield(s)
		})
	}
	if f.course.Lost && !f.relative() && j.container == nil {
		j.fromBelow(f, bases, text, yield)
	}
}

// fromBelow yields what a climbing text means to who starts from some directory below a base: the rest of it, in every
// directory above the base that it can climb to.
func (j *judge) fromBelow(f *Finding, bases []string, text string, yield func(spelled)) {
	rest := path.Clean(chars.Slashed(text))
	ups := 0
	for ; rest == ".." || strings.HasPrefix(rest, "../"); ups++ {
		rest = strings.TrimPrefix(rest[2:], "/")
	}
	for _, dir := range bases {
		for n := 1; n < ups; n++ {
			above := j.c.parent(dir)
			if above == dir || !j.work.Spend(budget.ReadSteps) {
				break
			}
			dir = above
			j.absolute(text, j.c.platform.Join(dir, rest), dir, func(s spelled) {
				s.weak = !f.written && !f.makes
				yield(s)
			})
		}
	}
}

// moved are the directories that a cd before the word leads to and that are there.
func (j *judge) moved(f *Finding) []string {
	if f.course.Dir == "" || j.container != nil {
		return nil
	}
	var list []string
	for dir := range strings.SplitSeq(f.course.Dir, "\x00") {
		for _, text := range append(j.c.expand(dir), dir) {
			if text == "~" || strings.HasPrefix(text, "~/") {
				text = j.c.home + text[1:]
			}
			if j.c.platform.IsAbs(text) {
				list = append(list, text)
				continue
			}
			for _, base := range j.bases() {
				list = append(list, j.c.platform.Join(base, text))
			}
		}
	}
	return slices.DeleteFunc(list, func(dir string) bool {
		where, err := rootsmgr.Resolve(j.c.fs, dir)
		return err != nil || !where.Dir
	})
}

// worksElsewhere reports a call that names the directory it works in (cwd, workdir), one that is there and inside.
func (j *judge) worksElsewhere(findings []Finding) bool {
	if j.container != nil || j.guard == nil {
		return false
	}
	for i := range findings {
		if f := &findings[i]; f.context && f.form == formPath && j.c.platform.IsAbs(f.Value) {
			if where, err := j.guard.Check(f.Value); err == nil && where.Dir {
				return true
			}
		}
	}
	return false
}

// certainly is where a cd led from base, where nothing else can have happened.
func (j *judge) certainly(f *Finding, base string) (dir string, ok bool) {
	if f.course.Sure == shell.SureNot || j.container != nil || j.c.getenv("CDPATH") != "" {
		return "", false
	}
	list := strings.Split(f.course.Dir, "\x00")
	for i, to := range list {
		if dir = to; !j.c.platform.IsAbs(to) {
			dir = j.c.platform.Join(base, to)
		}
		where, err := rootsmgr.Resolve(j.c.fs, dir)
		if err != nil || !where.Dir && (f.course.Sure != shell.SureDone || where.Exists || i < len(list)-1) {
			return "", false
		}
	}
	return dir, true
}

// declaredBase is the directory a declared base names; ok is false where it is not absolute, so that the ordinary
// directories count as well.
func (j *judge) declaredBase(value string) ([]string, bool) {
	v := chars.TrimEdges(value)
	if kind, texts := readScheme(v); kind == schemeFile {
		paths, err := j.c.platform.ReadURI(texts[0])
		return paths, err == nil && len(paths) > 0
	}
	if v == "~" || strings.HasPrefix(v, "~/") {
		v = j.c.home + v[1:]
	}
	if !j.c.platform.IsAbs(v) {
		return nil, false
	}
	return []string{v}, true
}

// hasOwnBase reports a finding whose declared base is the only directory it starts from.
func (j *judge) hasOwnBase(f *Finding) bool {
	if f.BaseDir == "" {
		return false
	}
	_, ok := j.declaredBase(f.BaseDir)
	return ok
}

// globs yields the further paths a glob stands for: its alternatives, the fixed prefix of each, and a refusal where a
// later component can climb (V6). The literal reading is the caller's.
func (j *judge) globs(f *Finding, text string, yield func(spelled)) {
	j.globsBelow(f, "", text, yield)
}

// globsBelow is globs for a text behind a directory, whose own name is no pattern.
func (j *judge) globsBelow(f *Finding, dir, text string, yield func(spelled)) {
	if !shell.HasMeta(text) || len(text) > chars.MaxPath {
		return // what is too long to be opened is refused as it stands
	}
	list, ok := shell.ExpandBraces(text)
	if !ok {
		yield(spelled{text: text, code: CodeGlob, err: "too many alternatives in braces"})
		return
	}
	for _, alt := range list {
		if alt == "" {
			continue
		}
		if alt != text {
			j.absolutes(f, dir+alt, yield)
		}
		if !shell.HasMeta(alt) {
			continue
		}
		if shell.GlobClimbs(chars.Slashed(alt)) {
			yield(spelled{text: alt, code: CodeGlob, err: "a component after the wildcard can be \"..\""})
			continue
		}
		prefix := shell.FixedPrefix(alt)
		component, _, _ := strings.Cut(alt[len(prefix):], "/")
		if prefix == "" {
			continue // the directory it starts from, which the literal reading goes through
		}
		j.absolutes(f, dir+prefix, func(s spelled) {
			s.glob = component
			yield(s)
		})
	}
}
