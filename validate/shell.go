package validate

import (
	"path"
	"regexp"
	"strings"
)

// maxDollars bounds the dollar-quoted literals of one SQL string that are taken apart.
const maxDollars = 256

// sqlVerbs begin a query that is SQL and not prose.
var sqlVerbs = wordSet("select insert update delete with copy load attach detach create drop alter pragma explain call exec execute " +
	"begin set install import backup restore bulk checkpoint pivot unpivot start export describe show from values merge replace truncate grant do vacuum analyze use summarize table declare prepare")

// isSQL reports whether s begins with an SQL verb, behind blanks, parentheses and comments.
func isSQL(s string) bool {
	for range 64 {
		s = strings.TrimLeft(s, " \t\r\n\f\v(;\ufeff\u00a0")
		switch {
		case strings.HasPrefix(s, "--"), strings.HasPrefix(s, "#"):
			_, rest, ok := strings.Cut(s, "\n")
			if !ok {
				return false
			}
			s = rest
		case strings.HasPrefix(s, "/*"):
			_, rest, ok := strings.Cut(s[2:], "*/")
			if !ok {
				return false
			}
			s = rest
		default:
			end := strings.IndexFunc(s, func(r rune) bool { return r >= 0x80 || !isLetter(byte(r)) })
			if end < 0 {
				end = len(s)
			}
			verb := strings.ToLower(s[:end])
			return sqlVerbs[verb] && end < len(s) && sqlShape(verb, strings.ToLower(s[end:min(len(s), end+maxShape)]))
		}
	}
	return false
}

const maxShape = 1 << 16 // of a query, in which the words that make it SQL are looked for

// importable is what SQL imports.
var importable = wordSet("database table into foreign external")

// sqlShape reports whether what follows a verb that other languages have too makes it SQL.
func sqlShape(verb, rest string) bool {
	words := func(yield func(string) bool) {
		for w := range strings.FieldsFuncSeq(rest, func(r rune) bool { return r < 0x80 && !isLetter(byte(r)) && r != '_' }) {
			if !yield(w) {
				return
			}
		}
	}
	switch verb {
	case "import":
		for w := range words {
			return importable[w]
		}
		return false
	case "from": // python: from x import y
		for w := range words {
			if w == "import" {
				return false
			}
		}
	case "with", "use":
		for w := range words {
			switch w {
			case "select", "insert", "update", "delete", "merge", "values", "attach", "copy", "load", "create", "table":
				return true
			}
		}
		return false
	}
	return true
}

func lastWord(t *tree, key int32) string {
	if key < 0 {
		return ""
	}
	list := t.room.split(t.name(key))
	if len(list) == 0 {
		return ""
	}
	return string(list[len(list)-1])
}

// shell scans a shell string, or an element of one given as an array.
func (d *detector) shell(id int32, s string, p place) {
	if u, ok := d.inVector(id, p); ok {
		d.element(id, s, u, p)
		return
	}
	d.uris(id, s, p, false)
	d.commands(id, s, p)
}

// commands judges the words of a shell string.
func (d *detector) commands(id int32, s string, p place) {
	r := readShell(s, d.c.depth, d.work)
	if r.fault != "" {
		d.refuse(id, r.fault)
		return
	}
	d.inShell, d.variables = true, variablesOf(s)
	for i := range r.items {
		item := &r.items[i]
		prints := !item.captured && !(item.filed && r.reads)
		d.course, d.inWords = item.course, item.text != s
		d.item(id, item, !r.odd && (item.kind != usePrint || prints), p)
	}
	d.course, d.inShell, d.inWords, d.variables = course{}, false, false, nil
	if d.c.windows && strings.IndexByte(s, '\\') >= 0 {
		d.words(id, s, false, p) // a backslash is a separator there
	}
}

// refuse refuses a call whose shell string cannot be read to its end.
func (d *detector) refuse(id int32, why string) {
	if d.refused == nil {
		d.refused = &ArgumentsError{Code: CodeArgsTooDeep, Pointer: d.t.pointer(id), Message: "a shell string that holds " + why + "; send less in one call, or a script as a file"}
	}
}

// item judges one word of a command line by what a program makes of it. Where nobody can rely on that it is a path.
func (d *detector) item(id int32, item *shellItem, rely bool, p place) {
	u := item.use
	if !rely && u.kind != useAssign && u.kind != useCommand && u.kind != useCode {
		if u.at = 0; u.kind != useCd {
			u.kind = usePath
		}
		if u.role == RoleRead && item.seat == seatPlain && !item.redirect {
			u.role = RoleNone
		}
	}
	d.cmd = u
	defer func() { d.cmd = use{} }()
	for _, text := range item.spellings() {
		text, ok := u.local(text)
		switch {
		case !ok, u.kind == useAssign && d.assignment(id, text, p):
		case u.kind == useSed && text == item.text[u.at:], u.kind == useCode, item.crude:
			d.words(id, text, !item.crude, p)
		case item.whole:
			d.word(id, text, item.seat, p, HowShell)
		default:
			d.word(id, text, item.seat, p, HowShell)
			if text == item.text { // what stands behind an option or a sign is not written out
				d.shellGlob(id, item.pattern, p)
			}
			if hasBlank(text) {
				d.words(id, text, false, p)
			} else {
				d.pieces(id, text, p)
			}
		}
	}
}

// pieces judges what other programs may read out of a word.
func (d *detector) pieces(id int32, s string, p place) {
	if kind, _ := readScheme(s); kind == schemeOther {
		return
	}
	eachPiece(s, func(w string) {
		if w != s {
			d.word(id, w, seatPlain, p, HowShell)
		}
	})
}

// words judges the words of a text that is no shell string: of another language, or of nobody knows what. In code a slash
// divides, and begins a pattern.
func (d *detector) words(id int32, s string, code bool, p place) {
	if code {
		d.word(id, s, seatPlain, p, HowShell)
	}
	for token := range strings.FieldsFuncSeq(s, isBlank) {
		if !d.work.spend(wordSteps + len(token)/byteSteps) {
			d.refuse(id, "more words than can be judged")
			return
		}
		if kind, _ := readScheme(token); kind == schemeOther || isSubstitution(strings.Trim(token, `'"`)) && token != s {
			continue
		}
		for _, w := range []string{token, unquote(token)} {
			if code && strings.Trim(w, "/~") == "" || isEscape(w) {
				continue
			}
			d.word(id, w, seatPlain, p, HowShell)
		}
		d.pieces(id, token, p)
	}
}

// assignment judges NAME=VALUE where the name says what the value is; it reports whether that was all.
func (d *detector) assignment(id int32, s string, p place) bool {
	name, value, ok := strings.Cut(s, "=")
	switch {
	case !ok:
		return false
	case name == "IFS":
		return len(value) <= 1
	case name == "PATH":
		for part := range strings.SplitSeq(value, ":") {
			if part != "$PATH" && part != "${PATH}" && !d.c.holdsPrograms(part) {
				d.word(id, part, seatPlain, p, HowShell)
				d.link(id, part, p, false)
			}
		}
		return true
	}
	return false
}

// word keeps one word of a shell string as a candidate: Judge decides whether it exists, and where it leads.
func (d *detector) word(id int32, w string, at wordSeat, p place, how string) {
	written := at == seatWritten
	if len(w) > maxRaw {
		if w = trimEdges(w); len(w) > maxRaw {
			d.longWord(id, w, p, how)
			return
		}
	}
	if w == "" {
		return
	}
	if strings.IndexByte(w, 0) >= 0 {
		for piece := range strings.SplitSeq(w, "\x00") {
			d.word(id, piece, at, p, how)
		}
	}
	kind, texts := readScheme(w)
	switch kind {
	case schemeOther:
		if at != seatCommand {
			d.urlWord(id, w, p, how)
		}
		return
	case schemeFile:
		if rest, ok := strings.CutPrefix(texts[0], "file:"); ok && rest != "" && !isSlash(rest[0]) {
			d.word(id, rest, at, p, how) // a package's: npm i file:../x
			d.link(id, w, p, false)
			return
		}
		d.add(Finding{Value: texts[0], How: how, form: formURI, seat: id}, p)
		d.link(id, w, p, false)
		return
	case schemePath:
		d.add(Finding{Value: texts[0], alts: texts[1:], How: how, form: formWord, seat: id}, p)
		return
	}
	if d.isProgramWord(w, at) || d.isListVariable(w, at) {
		return
	}
	d.bareWord(id, w, at, p, how)
	if rest, ok := d.afterPATH(w); ok {
		for part := range strings.SplitSeq(rest, ":") {
			d.word(id, part, seatPlain, p, how)
		}
		return
	}
	if _, ok := d.look(w, false); ok {
		d.add(Finding{Value: w, How: how, form: formWord, written: written, seat: id}, p)
		if strings.IndexByte(w, ':') < 0 && w[0] != '$' {
			return
		}
	}
	if i := strings.IndexByte(w, ':'); i > 0 && !isRemote(w[:i]) {
		for part := range strings.SplitSeq(w, ":") {
			d.word(id, part, seatPlain, p, how)
		}
	}
	for i := 0; i+1 < len(w); i++ {
		if c := w[i]; (c == '=' || c == '@' || c == ':' && !isRemote(w[:i])) && strings.ContainsRune(`/~.$`, rune(w[i+1])) {
			if _, ok := d.afterPATH(w[i+1:]); ok {
				d.word(id, w[i+1:], seatPlain, p, how)
			} else if _, ok := d.look(w[i+1:], false); ok && !d.isListVariable(w[i+1:], seatPlain) && !d.isProgramWord(w[i+1:], seatPlain) {
				d.add(Finding{Value: w[i+1:], How: how, form: formWord, seat: id}, p)
			}
		}
	}
	if len(w) > 2 && w[0] == '-' && w[1] != '-' {
		i := bundle(w)
		if i < 3 && strings.ContainsRune(`/~.$`, rune(w[2])) {
			i = 2
		}
		if i >= 2 {
			if _, ok := d.look(w[i:], false); ok {
				d.add(Finding{Value: w[i:], How: how, form: formWord, seat: id}, p)
			}
		}
	}
	d.glued(id, w, p, how, false)
	d.wordNames(id, w, at, p)
}

// wordNames keeps what a word may be where only a link leads it out.
func (d *detector) wordNames(id int32, w string, at wordSeat, p place) {
	if at == seatCommand {
		if strings.IndexByte(w, '/') > 0 && len(w) <= maxRaw { // to run what a link leads to is fine, to name a document is not
			d.add(Finding{Value: w, How: HowLink, form: formLink, runs: true, seat: id}, p)
		}
		return
	}
	d.writes = at == seatWritten
	defer func() { d.writes = false }()
	if hasBlank(w) {
		if strings.IndexByte(w, '/') > 0 {
			d.link(id, w, p, false)
		}
		return
	}
	d.vectorNames(id, w, p)
	for i := 1; i+1 < len(w); i++ {
		if c := w[i]; (c == '=' || c == '@' || c == ':') && strings.IndexByte(w[i+1:], '/') > 0 {
			d.link(id, w[i+1:], p, false)
		}
	}
}

// isProgramWord reports a program that is run or read: nobody but the administrator can have put it there.
func (d *detector) isProgramWord(w string, at wordSeat) bool {
	return at != seatWritten && d.cmd.role != RoleWrite && d.cmd.role != RoleDelete && d.c.isCommand(w)
}

// bareWord judges a word as it is where its variables hold the working directory, or nothing.
func (d *detector) bareWord(id int32, w string, at wordSeat, p place, how string) {
	if dotted := dotVariables(w); dotted != w {
		seat := seatPlain
		if at == seatWritten {
			seat = at
		}
		d.word(id, dotted, seat, p, how)
	}
	if d.variables == nil {
		return
	}
	bare, ok := d.c.withoutVariables(w, d.variables)
	if bare == "" && d.cmd.kind == useCd {
		bare = "~"
	}
	if ok {
		d.word(id, bare, at, p, how)
	}
}

// urlWord judges a URL as the name that a program without URLs takes it for: it climbs above where it starts, or a link
// is called "https:".
func (d *detector) urlWord(id int32, w string, p place, how string) {
	if len(w) > maxRaw {
		return
	}
	head, _, _ := strings.Cut(w, "?")
	if up := path.Clean(head); climbs(head) && (up == ".." || strings.HasPrefix(up, "../")) {
		d.add(Finding{Value: head, How: how, form: formWord, seat: id}, p)
	}
	d.urlLink(id, w, p, false)
}

// longWord judges a word that the kernel would not open as it stands, but a child that cleans it first would.
func (d *detector) longWord(id int32, w string, p place, how string) {
	if hasBlank(w) {
		return // a text; its words are looked at by themselves
	}
	if _, ok := d.look(w, false); ok {
		d.add(Finding{Value: w, How: how, seat: id}, p)
	}
}

// sql scans the literals of an SQL string, and the words of a client's dot command (.read FILE).
func (d *detector) sql(id int32, s string, p place) {
	d.uris(id, s, p, false)
	if isClientCommand(s) {
		d.words(id, s, false, p)
		return
	}
	dollars := maxDollars
	var files *bool
	opens := func() bool {
		if files == nil {
			found := sqlFiles.MatchString(s)
			files = &found
		}
		return *files
	}
	eachSQLLiteral(s, &dollars, func(lit string) {
		v := trimEdges(lit)
		if v != "" && strings.Count(strings.Trim(v, "/"), "/") == 0 && (v[0] == '/' || strings.Trim(v, `\`) == "") && d.c.isNoFile(v) && !opens() {
			return // a separator, or a route: nothing in the statement opens directories
		}
		d.sqlWord(id, v, p)
		if hasBlank(v) || strings.ContainsAny(v, ",;") {
			for part := range strings.FieldsFuncSeq(v, func(r rune) bool { return isBlank(r) || strings.ContainsRune(",;|<>()'\"", r) }) {
				d.sqlWord(id, part, p)
			}
		}
	})
}

// sqlFiles are what a statement that touches files has in it.
var sqlFiles = regexp.MustCompile(`(?i)\b(?:pg_\w+|lo_\w+|xp_\w+|sp_\w+|utl_\w+|dbms_\w+)\b|\b\w*(?:file|dir|glob|read|scan|load|csv|parquet|json|blob|xlsx|excel|delta|iceberg|sniff|open|url|disk|shell|system|exec|writefile|edit|fileio|extension)\w*\s*\(|\b(?:copy|attach|load|import|export|install|backup|restore|bulk|infile|outfile|dumpfile|program|directory|pragma|detach|create\s+(?:database|external|server|extension|tablespace)|location|checkpoint|vacuum)\b|(?:from|join|table|describe|summarize|pivot|unpivot|use|into)\s*['"]`)

// clientCommand begins what a database's client does itself: .read of sqlite, \i of psql, source of mysql.
var clientCommand = regexp.MustCompile(`(?i)^[\s;(]*(?:\.[a-z]+\s|\\[a-z!]+\s?|@|source\s|start\s+[^t\s])`)

// dotCommand is one that a query in no other language begins with.
var dotCommand = regexp.MustCompile(`^\s*(?:\.(?:read|import|open|output|once|save|backup|restore|load|cd|log|excel|shell|system|clone)\s|\\(?:copy|i|ir|o|g|w|cd|lo_import|lo_export|!)\s)`)

func isClientCommand(s string) bool { return clientCommand.MatchString(s[:min(len(s), 256)]) }

func (d *detector) sqlWord(id int32, v string, p place) {
	if len(v) > maxRaw {
		d.longWord(id, v, p, HowSQL)
		return
	}
	if strings.IndexByte(v, 0) >= 0 {
		for piece := range strings.SplitSeq(v, "\x00") {
			d.sqlWord(id, piece, p)
		}
	}
	if v == "" {
		return
	}
	kind, texts := readScheme(v)
	switch kind {
	case schemeFile:
		d.add(Finding{Value: texts[0], How: HowSQL, form: formURI, seat: id}, p)
	case schemePath:
		d.add(Finding{Value: texts[0], alts: texts[1:], How: HowSQL, form: formWord, seat: id}, p)
	case schemeNone:
		if _, ok := d.look(v, false); ok {
			d.add(Finding{Value: v, How: HowSQL, form: formWord, seat: id}, p)
		} else if !hasBlank(v) {
			d.name(id, v, p, false)
		}
	}
}

// eachSQLLiteral yields every quoted piece of an SQL text: '...', "...", `...` and $tag$...$tag$. Comments are not
// skipped: what is a comment in one dialect runs in another.
func eachSQLLiteral(s string, dollars *int, yield func(string)) {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case '[':
			if end := strings.IndexByte(s[i:], ']'); end > 1 && end < maxTail {
				yield(s[i+1 : i+end])
			}
		case '\'', '"', '`':
			lit, n := sqlQuoted(s[i:], c)
			yield(lit)
			i += n - 1
		case '$':
			j := strings.IndexByte(s[i+1:min(len(s), i+66)], '$')
			if j < 0 || *dollars <= 0 || strings.ContainsFunc(s[i+1:i+1+j], func(r rune) bool { return r < 0x80 && !isLetter(byte(r)) && !isDigit(byte(r)) && r != '_' }) {
				continue
			}
			*dollars--
			tag := s[i : i+j+2]
			body := s[i+len(tag):]
			if end := strings.Index(body, tag); end >= 0 {
				yield(body[:end])
				eachSQLLiteral(body[:end], dollars, yield)
				i += len(tag)*2 + end - 1
			}
		}
	}
}

// sqlQuoted reads a literal from its quote on and returns how much of s it took. An unclosed one runs to the end.
func sqlQuoted(s string, q byte) (string, int) {
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		if s[i] == q {
			if i+1 < len(s) && s[i+1] == q {
				b.WriteByte(q)
				i++
				continue
			}
			return b.String(), i + 1
		}
		b.WriteByte(s[i])
	}
	return b.String(), len(s)
}
