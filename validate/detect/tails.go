package detect

import (
	"strings"

	"mcphub/internal/lazyregexp"
	"mcphub/validate/budget"
	"mcphub/validate/chars"
	"mcphub/validate/shell"
	"mcphub/validate/text"
	"mcphub/validate/uri"
)

// tails searches what follows "=", "@", a ref's colon or a short flag, each to the end of the string and to the end of
// its word.
func (d *detector) tails(id int32, s string, p slot, member bool) {
	inURL, word, end := false, 0, 0
	flag := strings.HasPrefix(strings.TrimLeftFunc(s, chars.IsEdge), "-")
	d.pathspec(id, s, p, member)
	for i := 0; i+1 < len(s) && !d.work.Spent(); i++ {
		c := s[i]
		if chars.IsBlank(rune(c)) {
			inURL, word = false, i+1
			continue
		}
		if inURL || c != '=' && c != '@' && c != ':' {
			continue
		}
		if c == ':' {
			if strings.HasPrefix(s[i:], "://") && i > 0 && chars.IsLetter(s[i-1]) {
				inURL = true // https://host/?x=/etc is one URL; file: is looked for elsewhere
				continue
			}
			if i == word || text.IsRemote(s[word:i]) || i == word+1 && chars.IsDrive(s[word:]) {
				continue
			}
		}
		after := s[i+1:]
		if c == '@' && (after == "/*" || after == "/**") {
			continue // an alias: "@/*": ["./src/*"]
		}
		if c == '=' {
			after = strings.TrimLeft(after, "[(")
		}
		d.tail(id, after, p, member, c == ':')
		if c == '=' && flag {
			d.link(id, s[i+1:], p, member)
		}
		begin := len(s) - len(strings.TrimLeft(after, text.Quotes))
		for end = max(end, begin); end < len(s) && !tailEnds[s[end]]; {
			end++
		}
		if v := s[begin:end]; len(v) <= MaxRaw && strings.IndexByte(v, '/') > 0 {
			d.link(id, v, p, member)
		}
	}
	if s = strings.TrimLeftFunc(s, chars.IsEdge); len(s) > 2 && s[0] == '-' && s[1] != '-' && (chars.IsLetter(s[1]) || chars.IsDigit(s[1])) {
		d.tail(id, s[2:], p, member, false)
		if strings.IndexByte(s[2:], '/') > 0 {
			d.link(id, s[2:], p, member)
		} else {
			d.name(id, s[2:], p, member)
		}
		if i := strings.IndexAny(s, "/~.$"); i > 2 && s[i] != '/' {
			d.tail(id, s[i:], p, member, false)
		}
	}
	if flag {
		for word := range strings.FieldsFuncSeq(s, chars.IsBlank) {
			d.glued(id, word, p, HowTail, member)
		}
	}
}

// longFlags are options of one dash whose value may follow without a blank, even a directory of one component.
var longFlags = chars.WordSet("-isystem -iquote -idirafter -imacros -include -iprefix -isysroot -specs")

// gluedLetters may stand directly before a path and are no directory: commands of sed (1r/etc/passwd), bundled letters of tar
// (cf/etc/x.tar).
var gluedLetters = lazyregexp.New(`^(?:[$0-9,]*[rRwW]|[cxtru][zjJvpkahS]{0,4}f)$`)

// glued keeps an absolute path behind whatever stands directly before it: an option, a command of an editor (/x/Ir/etc/passwd). It
// counts if it exists, or could be made behind an option or gluedLetters, and the whole text is not a path itself.
func (d *detector) glued(id int32, w string, p slot, how string, member bool) {
	if w == "" || len(w) > MaxRaw || strings.HasPrefix(w, "./") || w[0] == '~' || w[0] == '/' && d.m.FirstExists(w) {
		return
	}
	for i := 1; i+2 < len(w) && !d.work.Spent(); i++ {
		if w[i] != '/' || chars.IsSlash(w[i-1]) || w[i+1] == '/' || chars.Components(w[i:]) < 2 && !longFlags[w[:i]] || shell.HasMeta(w[i:]) || !d.m.FirstExists(w[i:]) || d.isProgramWord(w[i:], shell.Plain) {
			continue
		}
		head := w[:i]
		f := Finding{Value: w[i:], How: how, Form: FormWord, Member: member, Node: id, Instead: strings.TrimLeft(head, "-")}
		f.MustExist = head[0] != '-' && !gluedLetters.MatchString(head)
		d.add(f, p)
	}
}

// pathspec searches a path of git that begins with a colon: :../x is in the index, :(top)../x a pathspec with magic.
func (d *detector) pathspec(id int32, s string, p slot, member bool) {
	v := chars.TrimEdges(s)
	if len(v) < 2 || len(v) > chars.MaxPath || v[0] != ':' {
		return
	}
	v = strings.TrimLeft(v[1:], "!^")
	if magic, rest, ok := strings.Cut(v, ")"); ok && strings.HasPrefix(magic, "(") {
		v = rest
	}
	switch {
	case chars.Climbs(v):
		d.add(Finding{Value: v, How: HowTail, Member: member, Node: id}, p)
	case strings.IndexByte(v, '/') > 0:
		d.link(id, v, p, member)
	}
}

// tailEnds end the word that a tail stands in.
var tailEnds = chars.ByteSet(" \t\n\r\v\f,;:|\"'`")

// tail searches one of them. Behind a colon an absolute one counts only if it exists, as behind a scheme.
func (d *detector) tail(id int32, s string, p slot, member, colon bool) {
	rest := strings.TrimLeft(s[:min(len(s), MaxValue)], "\"'`<")
	if rest == "" || !strings.ContainsRune(`/~.$\%`, rune(rest[0])) && !chars.IsDrive(rest) && !strings.EqualFold(rest[:min(5, len(rest))], "file:") {
		return
	}
	if !d.work.Spend(len(rest)/budget.ByteSteps + 4) {
		return
	}
	try := func(v string) {
		v = chars.TrimEdges(v)
		if kind, texts := uri.Read(v); kind == uri.File {
			d.add(Finding{Value: texts[0], How: HowTail, Form: FormURI, Member: member, Node: id}, p)
			return
		}
		v = text.Cleaned(v)
		if how, ok := d.broadly(v); ok {
			f := Finding{Value: v, How: HowTail, Member: member, Node: id}
			if colon && how == HowAbsolute {
				f.Form, f.MustExist = FormWord, true
			}
			d.add(f, p)
		}
	}
	end := 0
	for end < len(rest) && !tailEnds[rest[end]] {
		end++
	}
	try(rest)
	if end > 0 && end < len(rest) {
		try(rest[:end])
	}
}

// patterns searches a value that may be a glob: each of its alternatives, expanded.
func (d *detector) patterns(id int32, s string, p slot, member bool) {
	if chars.HasBlank(s) || !strings.ContainsAny(s, `[{(\`) || d.m.Windows {
		return
	}
	if !d.work.Spend(2*len(s)/budget.ByteSteps + budget.FindSteps) {
		return
	}
	alternatives, ok := shell.WrittenOut(s)
	if !ok {
		if chars.Climbs(s) || strings.Contains(s, "{/") || strings.Contains(s, ",/") || s[0] == '/' {
			d.add(Finding{Value: s, How: HowClimbs, Member: member, Node: id}, p)
		}
		return
	}
	for _, alt := range alternatives {
		if alt = shell.PlainText(alt); alt == s || alt == "" {
			continue
		}
		if how, ok := d.broadly(alt); ok {
			d.add(Finding{Value: alt, How: how, Member: member, Node: id}, p)
		}
		if fixed := shell.FixedPrefix(alt); strings.IndexByte(fixed, '/') > 0 {
			d.link(id, fixed, p, member)
		}
	}
}
