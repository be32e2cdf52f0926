package shell

import (
	"strings"
	"unicode"

	"mvdan.cc/sh/v3/syntax"

	"mcphub/internal/lazyregexp"
	"mcphub/validate/chars"
	"mcphub/validate/uri"
)

// Position is where a word of a shell string stands.
type Position uint8

const (
	Plain   Position = iota
	Command          // it is run
	Written          // after a redirection
)

// substituted stands in a word where a shell puts what a command prints.
const substituted = "\x01"

// A Word is one word as a program is handed it.
type Word struct {
	Text    string         // quotes removed and joined, escapes undone, variables as ${NAME}
	Pattern string         // the same, its quoted glob characters hidden
	loose   bool           // it may become several words, or an option
	split   bool           // it holds a variable or a substitution without quotes
	option  bool           // it may become an option
	nodes   []syntax.Node  // substitutions and arithmetic in it
	values  []*syntax.Word // what it may be instead: ${x:-/y}
	as      string         // by what the table knows it, "" if that is Text
	others  []string       // further texts that it may have
}

// name is by what the table knows the word.
func (word *Word) name() string {
	if word.as != "" {
		return word.as
	}
	return word.Text
}

// Spellings returns what a word with substitutions may be: what they print may be nothing, or the working directory.
func (word *Word) Spellings() []string {
	if !strings.Contains(word.Text, substituted) {
		return []string{word.Text}
	}
	bare := strings.ReplaceAll(word.Text, substituted, "")
	dotted := strings.ReplaceAll("/"+word.Text+"/", "/"+substituted+"/", "/./")
	dotted = strings.ReplaceAll(dotted[1:len(dotted)-1], substituted, "")
	if strings.HasPrefix(word.Text, substituted) && strings.IndexByte(strings.TrimLeft(bare, "/"), '/') < 0 && bare != "" && bare[0] == '/' {
		return []string{dotted} // $(root)/lib
	}
	return []string{bare, dotted}
}

// render forms the words that a shell makes of one: several where $IFS stands in it.
func (p *parser) render(w *syntax.Word, quoted bool) []Word {
	b := wordBuilder{part: p}
	b.parts(w.Parts, quoted)
	return append(b.done, b.end())
}

// wordBuilder forms a word of its parts.
type wordBuilder struct {
	part    *parser
	text    strings.Builder
	pattern strings.Builder
	word    Word
	done    []Word
}

func (b *wordBuilder) end() Word {
	w := b.word
	w.Text, w.Pattern = b.text.String(), b.pattern.String()
	b.part.Odd = b.part.Odd || history.MatchString(w.Text)
	name, _, _ := strings.Cut(w.Pattern, "=")
	w.loose = w.loose || w.Pattern != "" && w.Text != "[" && (HasMeta(w.Pattern[:1]) || w.Pattern[0] == '-' && HasMeta(name))
	b.text.Reset()
	b.pattern.Reset()
	b.word = Word{}
	return w
}

// put adds a text; what is quoted in it matches nothing but itself.
func (b *wordBuilder) put(s string, quoted bool) {
	b.text.WriteString(s)
	if !quoted {
		b.pattern.WriteString(s)
		return
	}
	for i := 0; i < len(s); i++ {
		if strings.IndexByte(metas, s[i]) >= 0 {
			b.pattern.WriteRune(hidden + rune(s[i]))
		} else {
			b.pattern.WriteByte(s[i])
		}
	}
}

// unknown adds what no one knows before the string runs.
func (b *wordBuilder) unknown(s string, quoted bool) {
	b.word.loose = b.word.loose || !quoted || b.text.Len() == 0
	b.word.split = b.word.split || !quoted
	b.text.WriteString(s)
	b.pattern.WriteString(s)
}

// history is what an interactive shell replaces by words of other commands.
var history = lazyregexp.New(`![$*^:!]`)

func (b *wordBuilder) parts(parts []syntax.WordPart, quoted bool) {
	if !b.part.enter() {
		return
	}
	for _, part := range parts {
		switch p := part.(type) {
		case *syntax.Lit:
			b.literal(p.Value, quoted)
		case *syntax.SglQuoted:
			if p.Dollar {
				b.put(chars.Ansi(p.Value), true)
			} else {
				b.put(p.Value, true)
			}
		case *syntax.DblQuoted:
			b.parts(p.Parts, true)
		case *syntax.ParamExp:
			b.variable(p, quoted)
		case *syntax.CmdSubst:
			b.substitution(p, quoted)
		case *syntax.ArithmExp:
			b.expression(p.X)
			b.put("0", true)
		case *syntax.ProcSubst:
			b.word.nodes = append(b.word.nodes, p)
			b.unknown(substituted, true)
		case *syntax.ExtGlob:
			b.put(p.Op.String()+p.Pattern.Value+")", false)
		}
	}
	b.part.depth--
}

// literal undoes the escapes of a text.
func (b *wordBuilder) literal(s string, quoted bool) {
	s = strings.ReplaceAll(s, substituted, "")
	for s != "" {
		i := strings.IndexByte(s, '\\')
		if i < 0 || i+1 == len(s) {
			break
		}
		b.put(s[:i], quoted)
		switch c := s[i+1]; {
		case c == '\n':
		case quoted && strings.IndexByte("\\\"$`", c) < 0:
			b.put(s[i:i+2], true)
		default:
			b.put(s[i+1:i+2], true)
		}
		s = s[i+2:]
	}
	b.put(s, quoted)
}

// raw returns what stands in the string for a node.
func (b *wordBuilder) raw(n syntax.Node) string {
	source := b.part.source
	begin, end := int(n.Pos().Offset()), int(n.End().Offset())
	return strings.ReplaceAll(source[min(begin, len(source)):max(begin, min(end, len(source)))], substituted, "")
}

// variable adds the value of one: its name, or the directory above if that is what is cut out of $PWD.
func (b *wordBuilder) variable(p *syntax.ParamExp, quoted bool) {
	name := ""
	if p.Param != nil {
		name = p.Param.Value
	}
	b.expression(p.Index)
	if p.Slice != nil {
		b.expression(p.Slice.Offset)
		b.expression(p.Slice.Length)
	}
	if p.Repl != nil {
		b.nested(p.Repl.Orig, false)
		b.nested(p.Repl.With, true)
	}
	if p.Exp != nil {
		switch p.Exp.Op {
		case syntax.RemSmallPrefix, syntax.RemLargePrefix, syntax.RemSmallSuffix, syntax.RemLargeSuffix:
			b.nested(p.Exp.Word, false)
		default:
			b.nested(p.Exp.Word, true)
		}
	}
	b.part.Odd = b.part.Odd || name == "_" || strings.HasPrefix(name, "BASH_")
	plain := !p.Excl && !p.Length && p.Index == nil && p.Slice == nil && p.Repl == nil && p.Exp == nil && p.Names == 0
	cut := p.Slice != nil || p.Repl != nil || p.Exp != nil && (p.Exp.Op == syntax.RemSmallSuffix || p.Exp.Op == syntax.RemLargeSuffix)
	switch {
	case name == "IFS" && !quoted && !p.Length:
		if w := b.end(); w.Text != "" {
			b.done = append(b.done, w)
		}
	case p.Length || strings.Contains("#?$!-", name) && plain && name != "":
		b.put("0", true)
	case name == "PWD" && cut:
		b.unknown("../", true)
	case plain && syntax.ValidName(name) && quoted && !b.part.given[name]:
		b.word.option = b.word.option || b.text.Len() == 0
		b.text.WriteString("${" + name + "}")
		b.pattern.WriteString("${" + name + "}")
	case plain && syntax.ValidName(name):
		b.unknown("${"+name+"}", quoted)
	case plain && len(name) == 1:
		b.unknown("$"+name, quoted)
	default:
		b.unknown(b.raw(p), quoted)
	}
}

// expression and nested keep what may hold substitutions.
func (b *wordBuilder) expression(x syntax.ArithmExpr) {
	if x != nil {
		b.word.nodes = append(b.word.nodes, x)
	}
}

func (b *wordBuilder) nested(w *syntax.Word, value bool) {
	switch {
	case w == nil:
	case value:
		b.word.values = append(b.word.values, w)
	default:
		b.word.nodes = append(b.word.nodes, w)
	}
}

// isHere and isAbove print the working directory, and the one above.
var (
	isHere  = lazyregexp.New("^(?:\\$\\(|`)\\s*pwd\\s*[)`]$")
	isAbove = lazyregexp.New("^(?:\\$\\(|`)\\s*dirname\\s+(?:--\\s+)?\"?(?:\\$PWD|\\$\\{PWD\\}|\\$\\(pwd\\)|`pwd`)\"?\\s*[)`]$")
)

// substitution adds what a command prints: the working directory, the one above, or no one knows what.
func (b *wordBuilder) substitution(p *syntax.CmdSubst, quoted bool) {
	b.word.nodes = append(b.word.nodes, p)
	text := substituted
	switch raw := b.raw(p); {
	case isHere.MatchString(raw):
		text = "${PWD}"
	case isAbove.MatchString(raw):
		text = ".."
	}
	b.unknown(text, quoted)
}

// readingSigns begin and end a text in a word that some program may take for a value of its own.
var readingSigns = chars.ByteSet("=@:,;|&+'\"`<>()[]{}%")

// listSigns are the signs that end a URL as well, and remoteSigns the ones that end what belongs to user@host:.
var (
	listSigns   = chars.ByteSet(",;|'\"`<> ()[]")
	remoteSigns = chars.ByteSet(",;|'\"`<> ()[]=")
)

// Head is the sign that the beginnings of a word follow.
const Head = '#'

const maxHeads = 8 // beginnings of a word that are yielded

// EachReading yields every text in a word that some program may take for a value of its own, and the sign that it follows. Such a text
// begins behind a sign: --a=x, HEAD:x, @x, a,x, (x. It also begins behind the letter of a short option, -ox, and at a ".." that is glued
// to letters, -xf../x. It goes on to the next sign, and to the end of the word. The first text follows the sign 0. What stands before a
// line, an anchor or a query (a.go:1:2, a.go#L3) follows the sign Head. The word itself is not yielded. The parts of a URL, and what follows user@host:, belong to another machine, and a ${...} stays whole.
func EachReading(word string, yield func(text string, sign byte)) {
	begin, host, heads := 0, 0, 0
	var elsewhere *[256]bool // the signs that end what belongs to another machine; nil: nothing does
	sign := byte(0)
	part := func(from, to int, after byte) {
		text := word[from:to]
		if text == "" || len(text) == len(word) || IsEscape(text) {
			return
		}
		if len(text) <= maxLoneSlash && strings.Trim(text, loneSlash) == "" && !isRoot(word, from, to, after) {
			return
		}
		yield(text, after)
	}
	head := func(to int) {
		if heads++; heads <= maxHeads {
			part(0, to, Head)
		}
	}
	if len(word) > 2 && word[0] == '-' && (chars.IsLetter(word[1]) || chars.IsDigit(word[1])) {
		part(2, len(word), '-')
		if i := strings.IndexAny(word, "/~.$"); i > 2 && word[i] != '/' && strings.IndexByte(word[:i], '=') < 0 {
			part(i, len(word), '-')
		}
	}
	for i := 0; i < len(word); i++ {
		c := word[i]
		switch {
		case c == '$' && i+1 < len(word) && word[i+1] == '{':
			_, _, n := DollarName(word[i:])
			i += max(0, n-1)
		case c == '.':
			if i > begin && startsClimb(word, i) {
				part(i, len(word), '-')
			}
		case elsewhere != nil && !elsewhere[c]:
		case c == '!' && i == 0:
			part(1, len(word), c)
		case c == '#', c == '?':
			head(i)
		case !readingSigns[c]:
		case c == ':' && elsewhere == nil && isURL(word[begin:], i-begin):
			elsewhere = &listSigns
		case c == ':' && elsewhere == nil && uri.IsRemote(word[host:i]):
			elsewhere = &remoteSigns
		default:
			elsewhere = nil
			part(begin, i, sign)
			if begin > 0 && strings.IndexByte(":(@", c) >= 0 {
				head(i)
			}
			if begin, sign = i+1, c; c != '@' {
				host = begin
			}
			part(begin, len(word), sign)
		}
	}
}

// loneSlash are the signs of a text that is nothing but a slash, and may end in the ones that close a quotation or a list.
const loneSlash = "/\\\"'`)];,"

// maxLoneSlash is how long such a text is at most. A long one is read like any other, which costs no second look at each of its signs.
const maxLoneSlash = 16

// isRoot reports a slash in a word that stands for the root directory: the value of an option, or what a function gets first that is
// none of texts, listdir("/").
func isRoot(word string, from, to int, after byte) bool {
	switch {
	case strings.IndexByte("=@-", after) >= 0:
		return true
	case after == ':':
		return to == len(word) || word[to] == ':'
	}
	if from < 2 || word[from-2] != '(' || strings.HasPrefix(word[min(to+1, len(word)):], ".") {
		return false
	}
	function := word[:from-2]
	function = function[strings.LastIndexFunc(function, func(r rune) bool { return !unicode.IsLetter(r) })+1:]
	return !textFunctions[strings.ToLower(function)]
}

// textFunctions take a character, and open nothing.
var textFunctions = chars.WordSet("split rsplit join replace replaceall strip lstrip rstrip startswith endswith indexof lastindexof includes find index count partition rpartition print log puts")

// startsClimb reports a "../" at i that is glued to what stands before it.
func startsClimb(word string, i int) bool {
	return strings.HasPrefix(word[i:], "../") && (chars.IsLetter(word[i-1]) || chars.IsDigit(word[i-1]))
}

// maxScheme is the longest scheme that is known to begin a URL.
const maxScheme = 64

// isURL reports a text with "://" at i that belongs to another machine.
func isURL(text string, i int) bool {
	if i == 0 || i > maxScheme || !strings.HasPrefix(text[i:], "://") {
		return false
	}
	kind, _ := uri.Read(text[:min(len(text), i+maxScheme)]) // its kind shows at its beginning
	return kind == uri.Other
}

// IsEscape reports a word that begins with an escaped character, \; or \.\./: a backslash is no separator to a shell.
func IsEscape(w string) bool {
	return w != "" && w[0] == '\\' && (strings.Trim(w, `\`) == "" || !chars.IsLetter(w[1]) && !chars.IsUNC(w))
}

// IsSubstitution reports s|x|y| of sed that neither reads nor writes.
func IsSubstitution(s string) bool {
	file, ok := sedWrites(s)
	return ok && file == ""
}

// sedWrites reads s|x|y|w FILE of sed.
func sedWrites(s string) (file string, ok bool) {
	s = strings.TrimLeft(s, "0123456789,$")
	if len(s) < 4 || s[0] != 's' || chars.IsLetter(s[1]) || chars.IsDigit(s[1]) || chars.IsBlank(rune(s[1])) {
		return "", false
	}
	parts := strings.SplitN(s[2:], s[1:2], 3)
	if len(parts) < 3 {
		return "", false
	}
	flags := strings.TrimLeft(parts[2], "gIiMmp0123456789")
	if rest := strings.TrimLeft(flags, "; \n"); rest != flags && rest != "" {
		return sedWrites(rest)
	}
	file, ok = strings.CutPrefix(flags, "w")
	return strings.TrimSpace(file), ok || flags == ""
}

// directive is what a format has instead of what it does not say itself: of date, find, stat, printf, git.
var directive = lazyregexp.New(`%x[0-9a-fA-F]{2}|%[-+ 0#_^:*.\d]*(?:\([^)]*\))?[A-Za-z@%]`)

// Printed returns what a program prints that is told to print s, as far as s says so.
func Printed(s string) string {
	s = directive.ReplaceAllStringFunc(chars.Ansi(strings.TrimPrefix(s, "+")), func(d string) string {
		switch {
		case d == "%%":
			return "%"
		case d[1] == 'x':
			return chars.DecodePercent("%" + d[2:])
		}
		return substituted
	})
	if strings.Trim(s, substituted+"/:-_, \n\t|") == "" && strings.Contains(s, substituted) {
		return "" // a date, the owner and the group
	}
	return s
}

// separated is the sign by which a script of sed separates.
var separated = lazyregexp.New(`s([^\w\s\\])`)

// addsText is a script of sed that does nothing but add one line of text.
var addsText = lazyregexp.New(`^(?:[0-9]+|\$|/[^/\\\n]*/)?\s*[aic]\\[^\n\\]*$`)

// SplitSedScript returns a script of sed cut at that sign: what it puts instead of what it finds is among the words.
func SplitSedScript(s string) string {
	if m := separated.FindStringSubmatch(s); m != nil {
		s = strings.NewReplacer(`\`+m[1], m[1], m[1], " ").Replace(s)
	}
	return s
}
