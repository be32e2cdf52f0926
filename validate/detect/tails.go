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

// searchTails searches the readings of each word in a string: the value of an option, what follows a sign, and what stands before a line, an
// anchor or a query. bare lets the beginning of a word count that has no slash.
func (d *detector) searchTails(id int32, s string, p slot, member, bare bool) {
	d.searchPathspec(id, s, p, member)
	flag := strings.HasPrefix(strings.TrimLeftFunc(s, chars.IsEdge), "-")
	for word := range func(yield func(string) bool) { wordsAndWhole(s, yield) } {
		word = strings.TrimLeftFunc(word, chars.IsEdge)
		if variables := strings.Count(word, "${"); variables > 0 && !d.work.Spend(variables*shell.DollarSteps) {
			return
		}
		shell.EachReading(word, func(text string, sign byte) {
			d.keepGuarded(id, text, p, member)
			begins := sign == 0 || sign == shell.Head
			value := strings.IndexByte("=@:-", sign) >= 0
			if !begins && !value || !d.work.Spend(1) {
				return
			}
			if len(text) <= MaxRaw && (begins || sign == '-' || sign == '=' && flag) {
				if strings.IndexByte(text, '/') >= 0 || sign == '=' {
					d.keepLink(id, text, p, member)
				} else if bare || sign == '-' {
					d.keepName(id, text, p, member)
				}
			}
			before := word[:len(word)-len(text)]
			if value && strings.HasSuffix(word, text) && before != ":" && !(len(before) == 2 && chars.IsDrive(word)) {
				d.searchTail(id, text, p, member, sign == ':')
			}
		})
		if flag {
			d.keepGlued(id, word, p, HowTail, member)
		}
	}
}

// wordsAndWhole yields the words of a string, and all of it if it is short and has several, since names may have blanks.
func wordsAndWhole(s string, yield func(string) bool) {
	n := 0
	for word := range strings.FieldsFuncSeq(s, chars.IsBlank) {
		if n++; !yield(word) {
			return
		}
	}
	if n > 1 && len(s) <= MaxRaw {
		yield(chars.TrimEdges(s))
	}
}

// longFlags are options of one dash whose value may follow without a blank, even a directory of one component.
var longFlags = chars.WordSet("-isystem -iquote -idirafter -imacros -include -iprefix -isysroot -specs")

// gluedLetters may stand directly before a path and are no directory: commands of sed (1r/etc/passwd), bundled letters of tar
// (cf/etc/x.tar).
var gluedLetters = lazyregexp.New(`^(?:[$0-9,]*[rRwW]|[cxtru][zjJvpkahS]{0,4}f)$`)

// keepGlued keeps an absolute path behind whatever stands directly before it: an option, a command of an editor (/x/Ir/etc/passwd). It
// counts if it exists, or could be made behind an option or gluedLetters, and the whole text is not a path itself.
func (d *detector) keepGlued(id int32, w string, p slot, how string, member bool) {
	if w == "" || len(w) > MaxRaw || strings.HasPrefix(w, "./") || w[0] == '~' || w[0] == '/' && d.m.FirstExists(w) {
		return
	}
	for i := 1; i+2 < len(w) && !d.work.Spent(); i++ {
		drive := d.m.Windows && chars.IsDrive(w[i:]) && chars.IsLetter(w[i-1]) && (w[0] == '/' || w[0] == '-') && !strings.HasPrefix(w[i+2:], "//") // cl /FoC:\x, but no URL
		if !drive && w[i] != '/' || chars.IsSlash(w[i-1]) || w[i+1] == '/' || chars.Components(w[i:]) < 2 && !drive && !longFlags[w[:i]] || shell.HasMeta(w[i:]) || !d.m.FirstExists(w[i:]) || d.isProgramWord(w[i:], shell.Plain) {
			continue
		}
		head := w[:i]
		f := Finding{Value: w[i:], How: how, Form: FormWord, Member: member, Node: id, Instead: strings.TrimLeft(head, "-")}
		f.MustExist = !drive && head[0] != '-' && !gluedLetters.MatchString(head)
		d.addFinding(f, p)
	}
}

// searchPathspec searches a path of git that begins with a colon: :../x is in the index, :(top)../x a pathspec with magic.
func (d *detector) searchPathspec(id int32, s string, p slot, member bool) {
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
		d.addFinding(Finding{Value: v, How: HowTail, Member: member, Node: id}, p)
	case strings.IndexByte(v, '/') > 0:
		d.keepLink(id, v, p, member)
	}
}

// tailEnds end the word that a tail stands in.
var tailEnds = chars.ByteSet(" \t\n\r\v\f,;:|\"'`")

// searchTail searches one of them. Behind a colon an absolute one counts only if it exists, as behind a scheme.
func (d *detector) searchTail(id int32, s string, p slot, member, colon bool) {
	if s == "/*" || s == "/**" {
		return // of an alias: "@/*": ["./src/*"]
	}
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
			d.addFinding(Finding{Value: texts[0], How: HowTail, Form: FormURI, Member: member, Node: id}, p)
			return
		}
		v = text.Cleaned(v)
		if how, ok := d.isBroadPath(v); ok {
			f := Finding{Value: v, How: HowTail, Member: member, Node: id}
			if colon && how == HowAbsolute {
				f.Form, f.MustExist = FormWord, true
			}
			d.addFinding(f, p)
		}
	}
	end := 0
	if d.m.Windows && chars.IsDrive(rest) {
		end = len("C:")
	}
	for end < len(rest) && !tailEnds[rest[end]] {
		end++
	}
	if d.m.Windows {
		rest = beforeStream(rest)
	}
	try(rest)
	if end > 0 && end < len(rest) {
		try(rest[:end])
	}
}

// searchPatterns searches a value that may be a glob: each of its alternatives, expanded.
func (d *detector) searchPatterns(id int32, s string, p slot, member bool) {
	if d.m.Windows {
		s = chars.ToSlash(s)
	}
	if chars.HasBlank(s) || !strings.ContainsAny(s, `[{(\`) {
		return
	}
	if !d.work.Spend(2*len(s)/budget.ByteSteps + budget.FindSteps) {
		return
	}
	alternatives, ok := shell.WrittenOut(s)
	if !ok {
		if chars.Climbs(s) || strings.Contains(s, "{/") || strings.Contains(s, ",/") || s[0] == '/' {
			d.addFinding(Finding{Value: s, How: HowClimbs, Member: member, Node: id}, p)
		}
		return
	}
	for _, alt := range alternatives {
		if alt = shell.PlainText(alt); alt == s || alt == "" {
			continue
		}
		if how, ok := d.isBroadPath(alt); ok {
			d.addFinding(Finding{Value: alt, How: how, Member: member, Node: id}, p)
		}
		if fixed := shell.FixedPrefix(alt); strings.IndexByte(fixed, '/') > 0 {
			d.keepLink(id, fixed, p, member)
		}
	}
}
