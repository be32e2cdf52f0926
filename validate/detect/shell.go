package detect

import (
	"cmp"
	"strings"

	"mcphub/internal/lazyregexp"
	"mcphub/validate/access"
	"mcphub/validate/budget"
	"mcphub/validate/chars"
	"mcphub/validate/machine"
	"mcphub/validate/names"
	"mcphub/validate/shell"
	"mcphub/validate/strictjson"
	"mcphub/validate/text"
	"mcphub/validate/uri"
)

func (d *detector) lastWord(key int32) string {
	if key < 0 {
		return ""
	}
	return d.keys.LastWord(d.t.Name(key))
}

// searchShell scans a shell string.
func (d *detector) searchShell(id int32, s string, p slot) {
	d.searchURIs(id, s, p, false)
	d.searchCommands(id, s, p)
	input, joined := d.inputOf(id, s)
	if joined == "" {
		return
	}
	d.readCommands(id, joined, shell.Read(joined, d.s.Depth, d.work), p)
	if d.m.Windows && windowsShell.MatchString(s) {
		for _, r := range shell.ReadWindows(input, d.s.Depth, d.work, d.m.PublicVariable) {
			d.readCommands(id, input, r, p)
		}
	}
}

// windowsShell is the name of a shell of Windows, which may run what it reads.
var windowsShell = lazyregexp.New(`(?i)(?:^|[^\pL\pN_])(?:cmd|powershell|pwsh)(?:$|[^\pL\pN_])`)

// inputOf returns the text that the call gives a shell string as standard input. joined has both, with the text as a here-document; "" if
// there is none. Otherwise a shell could be given a script that was not searched as one.
func (d *detector) inputOf(id int32, s string) (input, joined string) {
	n := &d.t.Nodes[id]
	if !d.t.IsMember(id) || d.t.Nodes[n.Parent].Kind != strictjson.Object {
		return "", ""
	}
	for c := d.t.Nodes[n.Parent].First; c > 0; c = d.t.Nodes[c].Next {
		if c == id || d.t.Nodes[c].Kind != strictjson.String || !inputWords[d.lastWord(c)] {
			continue
		}
		end := "END"
		input = d.t.Str(c)
		for strings.Contains(input, end) || strings.Contains(s, end) {
			end += "D"
		}
		if strings.ContainsAny(s, ";&|()<>#\\\n") {
			s = "{\n" + s + "\n}" // any of the commands may read it
		}
		return input, s + " <<'" + end + "'\n" + input + "\n" + end + "\n"
	}
	return "", ""
}

// inputWords name what a command reads.
var inputWords = map[string]bool{"stdin": true, "input": true}

// searchCommands searches the words of a shell string.
func (d *detector) searchCommands(id int32, s string, p slot) {
	if d.m.Windows && strings.EqualFold(strings.TrimSpace(s), "cd") {
		return // it prints the directory that it is in
	}
	r := shell.Read(s, d.s.Depth, d.work)
	if !d.m.Windows || !r.Crude || strings.ContainsAny(s, "\r\n") { // a shell of Unix runs no part of one line that it cannot read
		d.readCommands(id, s, r, p)
	}
	if d.m.Windows {
		for _, r := range shell.ReadWindows(s, d.s.Depth, d.work, d.m.PublicVariable) {
			d.readCommands(id, s, r, p)
		}
	}
}

// readCommands searches the words that a reader has found in a shell string.
func (d *detector) readCommands(id int32, s string, r *shell.Reader, p slot) {
	if r.Fault != "" {
		d.refuseShell(id, r.Fault)
		return
	}
	d.inShell, d.variables = true, shell.VariablesOf(s)
	for i := range r.Items {
		item := &r.Items[i]
		prints := !item.Captured && !(item.Filed && r.Reads)
		switch {
		case prints:
		case item.Kind == shell.UsePrint:
			item.Text, item.At = shell.Printed(item.Text[item.At:]), 0
		case item.Kind == shell.UseSed:
			d.searchWords(id, shell.SplitSedScript(item.Text[item.At:]), false, p)
		}
		d.course, d.inWords = item.Course, item.Text != s
		d.course.Native = d.course.Native && d.m.Windows && len(item.Text) == 2 && item.Text[0] == '/'
		rely := !r.Odd && (item.Kind != shell.UsePrint || prints)
		d.searchItem(id, item, rely, p)
		if strings.IndexByte(item.Text, '$') >= 0 {
			list, ok := r.Expanded(item.Text)
			if !ok {
				d.refuseShell(id, "more words than can be judged")
				return
			}
			for _, item.Text = range list {
				item.Pattern = item.Text
				d.searchItem(id, item, rely, p)
			}
		}
	}
	d.course, d.inShell, d.inWords, d.variables = shell.Course{}, false, false, nil
}

// searchStream searches a text that is typed into a running program. Which program that is, and where it works by now, only the server
// knows. So every word counts, and a text with a line that begins with a known program is a shell string as well.
func (d *detector) searchStream(id int32, s string, p slot) {
	p.class = names.Shell
	d.searchURIs(id, s, p, false)
	for line := range text.Lines(s) {
		if first := strings.FieldsFunc(line, chars.IsBlank); len(first) > 0 && shell.IsKnown(first[0]) {
			d.searchCommands(id, s, p)
			break
		}
	}
	d.inShell, d.typed, d.course.Lost = true, true, true
	d.searchWords(id, s, true, p)
	if other := text.Unescaped(s, nil); other != s {
		d.searchWords(id, other, true, p)
	}
	for _, m := range goes.FindAllStringSubmatch(s, -1) {
		if m[2] != "" || strings.ContainsAny(m[1], "$`") && !strings.HasPrefix(m[1], "$OLDPWD") {
			d.addFinding(Finding{Value: cmp.Or(m[1], m[2]), How: HowShell, Goes: true, Node: id}, p)
		}
	}
	d.inShell, d.typed, d.course.Lost = false, false, false
}

// goes matches a typed text that goes to another directory, and finds that directory: cd x, Set-Location -Path x, and chdir(x) if x is no literal.
var goes = lazyregexp.New(`(?im)(?:^|[;&|({]|\b(?:do|then|else)\b)[ \t]*["']?[\\.:]?(?:cd|chdir|pushd|lcd|(?:set|push)-location)["']?(?:[ \t]+[-/]\w+)*[ \t]+("[^"\n]*"|[^\s;&|)]+)|chdir\(\s*([^'"\s)][^)\n]*)\)`)

// refuseShell refuses a call whose shell string cannot be read to its end.
func (d *detector) refuseShell(id int32, why string) {
	if d.refused == nil {
		d.refused = &strictjson.Error{Code: strictjson.CodeTooDeep, Pointer: d.t.Pointer(id), Message: "a shell string that holds " + why + "; send less in one call, or a script as a file"}
	}
}

// searchItem searches one word of a command line by what its program makes of it. Without rely that is uncertain, and the word is a path.
func (d *detector) searchItem(id int32, item *shell.Item, rely bool, p slot) {
	u := item.Use
	if !rely && u.Kind != shell.UseAssign && u.Kind != shell.UseCommand && u.Kind != shell.UseCode {
		if u.At = 0; u.Kind != shell.UseCd && u.Kind != shell.UsePath {
			u.Was, u.Kind = u.Kind, shell.UsePath
		}
		if u.Role == access.Read && item.Position == shell.Plain && !item.Redirect {
			u.Role = access.None
		}
	}
	d.cmd = u
	defer func() { d.cmd = shell.Use{} }()
	for _, text := range item.Spellings() {
		d.searchNamed(id, text[min(u.At, len(text)):], u, p)
		whole := text[min(u.At, len(text)):]
		text, ok := u.Local(text)
		switch {
		case u.Kind == shell.UseMade, u.Was == shell.UseMade:
			d.searchWords(id, shell.SplitSedScript(text), false, p)
		case !ok:
			if u.Kind == shell.UseText && strings.IndexByte(item.Pattern, '=') < 0 { // a shell makes several words of a pattern, and the program opens the others
				d.shellGlob(id, item.Pattern, p)
			}
			d.guardedText(id, whole, p)
			if u.IsName() {
				d.forgivenName(id, whole, p)
			}
		case u.Kind == shell.UseQuery, u.Kind == shell.UseSQL:
			d.shellGlob(id, item.Pattern, p)
		case (u.Kind == shell.UseAssign || u.IsName()) && d.searchAssignment(id, text, p):
		case u.Kind == shell.UseSed && text == item.Text[u.At:], u.Kind == shell.UseCode, item.Crude:
			d.searchWords(id, text, !item.Crude, p)
			d.shellGlob(id, item.Pattern, p)
		case item.Whole:
			d.keepWord(id, text, item.Position, p, HowShell)
		default:
			d.keepWord(id, text, item.Position, p, HowShell)
			if text == item.Text || u.Kind == shell.UseExtras { // what stands behind an option or a sign is not written out
				d.shellGlob(id, item.Pattern, p)
			}
			if chars.HasBlank(text) {
				d.searchWords(id, text, false, p)
			}
		}
	}
}

// searchWords searches the words of a text that is no shell string: of another or an unknown language. In code a slash may divide, or
// begin a pattern.
func (d *detector) searchWords(id int32, s string, code bool, p slot) {
	if code {
		d.keepWord(id, s, shell.Plain, p, HowShell)
	}
	for token := range strings.FieldsFuncSeq(s, chars.IsBlank) {
		if !d.work.Spend(budget.WordSteps + len(token)/budget.ByteSteps) {
			d.refuseShell(id, "more words than can be judged")
			return
		}
		if kind, _ := uri.Read(token); kind == uri.Other || shell.IsSubstitution(strings.Trim(token, `'"`)) && token != s {
			continue
		}
		for _, w := range []string{token, shell.Unquote(token)} {
			bare := strings.Trim(w, ";,'\"`")
			if code && strings.Trim(w, "/~") == "" || shell.IsEscape(w) || d.typed && bare != "" && bare[0] == '/' && chars.Components(bare) < 2 {
				continue
			}
			if code && isIdentifier.MatchString(w) && w == token { // without quotes it is a name of the language
				d.guardedText(id, w, p)
				continue
			}
			d.keepWord(id, w, shell.Plain, p, HowShell)
		}
	}
}

// isIdentifier is a name of most languages.
var isIdentifier = lazyregexp.New(`^[\pL\pN_]+$`)

// searchNamed searches the files that a program in another language names.
func (d *detector) searchNamed(id int32, s string, u shell.Use, p slot) {
	switch {
	case (u.Kind == shell.UseSed || u.Was == shell.UseSed) && !shell.IsSubstitution(s):
		d.sedFiles(id, s, p)
	case u.Kind == shell.UseQuery || u.Was == shell.UseQuery:
		d.keepLiterals(id, s, p)
	case u.Kind == shell.UseSQL || u.Was == shell.UseSQL:
		p.class = names.Query
		d.keepLiterals(id, s, p)
		d.sqlFiles(id, s, p)
	}
}

var (
	// isClientCommand begins a line that the client of a database obeys itself: .read x of sqlite3, \i x of psql, source x of mysql.
	isClientCommand = lazyregexp.New(`^\s*(?:[.\\]|(?i:source|system|tee|pager|edit)\b)`)
	// runsCommand begins one that runs a command.
	runsCommand = lazyregexp.New(`^\s*(?:\.(?:shell|system)|\\!|(?i:system)|[.\\]?\w+\s*\|)\s*`)
)

// sqlFile is a file that a statement of SQL reads or writes.
var sqlFile = lazyregexp.New(`(?i)\b(?:attach(?:\s+database)?|into|to|from|infile|outfile|dumpfile|(?:read|write)file\s*\()\s*'((?:[^']|'')+)'`)

const maxSQLFiles = 64

// sqlFiles searches the files of a query, and the commands in it that are for the client of a database. Each of their words may be a path,
// and one that is made.
func (d *detector) sqlFiles(id int32, s string, p slot) {
	for _, m := range sqlFile.FindAllStringSubmatch(s, maxSQLFiles) {
		d.keepWord(id, strings.ReplaceAll(m[1], "''", "'"), shell.Written, p, HowShell)
	}
	for line := range text.Lines(s) {
		if !isClientCommand.MatchString(line) {
			continue
		}
		for word := range strings.FieldsFuncSeq(line, chars.IsBlank) {
			if !d.work.Spend(budget.WordSteps) {
				return
			}
			d.keepWord(id, shell.Unquote(word), shell.Written, p, HowShell)
		}
		if begin := runsCommand.FindString(line); begin != "" {
			course, inShell, inWords, variables, cmd := d.course, d.inShell, d.inWords, d.variables, d.cmd
			d.searchCommands(id, line[len(begin):], p)
			d.course, d.inShell, d.inWords, d.variables, d.cmd = course, inShell, inWords, variables, cmd
		}
	}
}

// sedFiles searches a script of sed for commands that open a file or run a command, and for what they name.
func (d *detector) sedFiles(id int32, s string, p slot) {
	for line := range strings.Lines(s) {
		line = strings.TrimRight(line, "\n")
		for i := 0; i+1 < len(line) && len(line) <= chars.MaxPath; i++ {
			before := strings.TrimRight(line[:i], " \t")
			if strings.IndexByte("rRwWe", line[i]) < 0 || before != "" && chars.IsLetter(before[len(before)-1]) && (line[i] != 'w' || strings.IndexByte("gIiMmpe", before[len(before)-1]) < 0) {
				continue
			}
			file := strings.TrimLeft(line[i+1:], " \t")
			if !d.work.Spend(budget.WordSteps + len(file)/budget.ByteSteps) {
				d.refuseShell(id, "more words than can be judged")
				return
			}
			d.keepWord(id, file, shell.Plain, p, HowShell)
		}
	}
	if sedExecutes.MatchString(s) {
		d.searchWords(id, s, false, p)
	}
	if sedRuns.MatchString(s) {
		d.searchWords(id, strings.NewReplacer(`\/`, "/", "/", " ").Replace(s), false, p)
	}
}

// sedExecutes is the command e of sed, which runs what follows.
var sedExecutes = lazyregexp.New(`(?:^|[\s;{}/$0-9])e\s+\S`)

// sedRuns is the end of s/x/y/e, which runs what it has made.
var sedRuns = lazyregexp.New(`[^\\]/[gIiMmp\d]*e[gIiMmpw\d]*\s*(?:[;}\n]|$)`)

// settingWords, as the last word of a variable, report that its value is no path if it is not written as one: NODE_ENV=test.
var settingWords = chars.WordSet("env mode level branch version")

// searchAssignment searches NAME=VALUE if the name reports what the value is; it reports whether that was all.
func (d *detector) searchAssignment(id int32, s string, p slot) bool {
	name, value, ok := strings.Cut(s, "=")
	switch {
	case !ok:
		return false
	case name == "IFS":
		return len(value) <= 1
	case shell.IsName(value) && settingWords[d.keys.LastWord(name)]:
		d.guardedText(id, value, p)
		d.forgivenName(id, value, p)
		return true
	case value == "/":
		return name != "HOME" // a separator; if it is used as a path, it is judged
	case name == "PATH":
		for part := range strings.SplitSeq(value, ":") {
			if part != "$PATH" && part != "${PATH}" && !d.m.HoldsPrograms(part) {
				d.keepWord(id, part, shell.Plain, p, HowShell)
				d.keepLink(id, part, p, false)
			}
		}
		return true
	}
	return false
}

// keepWord keeps one word of a shell string for the judge, which looks whether the word exists and where it leads.
func (d *detector) keepWord(id int32, w string, at shell.Position, p slot, how string) {
	w = d.plainSpelling(w)
	if len(w) > MaxRaw {
		if w = chars.TrimEdges(w); len(w) > MaxRaw {
			if chars.HasBlank(w) {
				return // a text; its words are looked at by themselves
			}
			if _, ok := d.isPlainPath(w); ok { // too long for the kernel, but a child could open it after cleaning it
				d.addFinding(Finding{Value: w, How: how, Node: id}, p)
			}
			return
		}
	}
	if w == "" {
		return
	}
	if strings.IndexByte(w, 0) >= 0 {
		for piece := range strings.SplitSeq(w, "\x00") {
			d.keepWord(id, piece, at, p, how)
		}
	}
	if !d.keepReading(id, w, at, p, how) || !d.work.Spend(machine.DollarWork(w)) {
		return
	}
	blank := chars.HasBlank(w)
	shell.EachReading(w, func(text string, sign byte) {
		if sign == shell.Head || blank && (strings.IndexByte("=@:-", sign) < 0 || strings.IndexByte("/~.$", text[0]) < 0) {
			return // the words of a text are looked at by themselves
		}
		if d.work.Spend(budget.WordSteps/2 + len(text)/budget.ByteSteps) {
			d.keepReading(id, text, shell.Plain, p, how)
		}
	})
	d.keepGlued(id, w, p, how, false)
	d.gluedName(id, w, p)
}

// keepReading keeps one text of a word. It returns false if the text is one URI, a program or a list, and has no parts.
func (d *detector) keepReading(id int32, w string, at shell.Position, p slot, how string) bool {
	if len(w) > MaxRaw || d.namesNoShare(w) {
		return true
	}
	kind, texts := uri.Read(w)
	switch kind {
	case uri.Other:
		if at != shell.Command {
			d.urlName(w, p, Finding{How: how, Form: FormWord, Node: id})
			d.urlLink(id, w, p, false)
		}
		d.keepHostless(id, texts, p)
		d.keepWrapped(id, w, p)
		return false
	case uri.File:
		d.keepLink(id, w, p, false)
		if rest, ok := uri.Relative(texts[0]); ok {
			d.keepWord(id, rest, at, p, how) // a package's: npm i file:../x
			if i := strings.IndexAny(rest, "?#"); i > 0 {
				d.keepWord(id, rest[:i], at, p, how) // a database's: file:../x?mode=ro
			}
			return false
		}
		d.addFinding(Finding{Value: texts[0], How: how, Form: FormURI, Node: id}, p)
		return false
	case uri.Path:
		d.addFinding(Finding{Value: texts[0], Alts: texts[1:], How: how, Form: FormWord, Node: id}, p)
		return false
	}
	if d.isProgramWord(w, at) || d.isListVariable(w, at) {
		return false
	}
	d.bareWord(id, w, at, p, how)
	if rest, ok := d.afterPATH(w); ok {
		for part := range strings.SplitSeq(rest, ":") {
			d.keepWord(id, part, shell.Plain, p, how)
		}
		return false
	}
	if _, ok := d.isPlainPath(w); ok {
		d.addFinding(Finding{Value: w, How: how, Form: FormWord, Written: at == shell.Written, Node: id}, p)
	} else {
		d.wordNames(id, w, at, p)
	}
	return true
}

// wordNames keeps the names in a word that count only if a link leads them out.
func (d *detector) wordNames(id int32, w string, at shell.Position, p slot) {
	if at == shell.Command {
		if d.slash(w) > 0 && len(w) <= MaxRaw { // to run what a link leads to is fine, to name a document is not
			d.addFinding(Finding{Value: w, How: HowLink, Form: FormLink, Runs: true, Node: id}, p)
		}
		return
	}
	d.writes = at == shell.Written
	defer func() { d.writes = false }()
	if chars.HasBlank(w) {
		if d.slash(w) > 0 {
			d.keepLink(id, w, p, false)
		}
		return
	}
	d.keepName(id, w, p, false)
}

// isProgramWord reports a word that names a program of the system, where only the administrator can put files.
func (d *detector) isProgramWord(w string, at shell.Position) bool {
	return at != shell.Written && d.cmd.Role != access.Write && d.cmd.Role != access.Delete && d.m.IsCommand(w)
}

// bareWord searches a word as it reads if its variables hold the working directory, or nothing.
func (d *detector) bareWord(id int32, w string, at shell.Position, p slot, how string) {
	if strings.IndexByte(w, '$') >= 0 && !d.work.Spend(budget.WordSteps+machine.DollarWork(w)) {
		return
	}
	if dotted := shell.DotVariables(w); dotted != w {
		position := shell.Plain
		if at == shell.Written {
			position = at
		}
		d.keepWord(id, dotted, position, p, how)
	}
	if d.variables == nil {
		return
	}
	bare, ok := shell.WithoutVariables(w, d.variables, d.m.Getenv)
	if bare == "" && d.cmd.Kind == shell.UseCd {
		bare = "~"
	}
	if ok {
		d.keepWord(id, bare, at, p, how)
	}
}

// shellGlob keeps what a shell makes of a word with glob characters.
func (d *detector) shellGlob(id int32, pattern string, p slot) {
	if len(pattern) > MaxRaw || !shell.HasMeta(pattern) {
		return
	}
	cuts := "="
	if d.m.Windows {
		pattern, cuts = chars.ToSlash(pattern), "=,;+"
	}
	pattern = shell.RangeBraces.ReplaceAllString(pattern, "*")
	alternatives, ok := shell.ExpandBraces(pattern)
	if !ok {
		d.addFinding(Finding{Value: shell.Unhide.Replace(pattern), How: HowShell, Form: FormGlob, Node: id}, p)
		return
	}
	for _, alt := range alternatives {
		if alt != pattern {
			d.keepWord(id, shell.Unhide.Replace(alt), shell.Plain, p, HowShell)
		}
		for alt != "" && shell.HasMeta(alt) {
			d.addFinding(Finding{Value: shell.Unhide.Replace(alt), How: HowShell, Form: FormGlob, Glob: alt, Node: id}, p)
			if i := strings.IndexAny(alt, cuts); i >= 0 { // X=li*k; cat $X
				alt = alt[i+1:]
			} else {
				alt = ""
			}
		}
	}
}

// isListVariable reports $PATH, which is no path but a list of where programs are, and $SHELL if it is run.
func (d *detector) isListVariable(w string, at shell.Position) bool {
	if w[0] != '$' {
		return false
	}
	name, fallback, n := shell.DollarName(w)
	if n != len(w) || fallback != "" {
		return false
	}
	return name == "PATH" && strings.IndexByte(d.m.Getenv(name), ':') >= 0 || name == "SHELL" && at == shell.Command && d.m.IsCommand(d.m.Getenv(name))
}

// afterPATH returns what is added to $PATH: $PATH:bin.
func (d *detector) afterPATH(w string) (string, bool) {
	if w == "" || w[0] != '$' {
		return "", false
	}
	name, fallback, n := shell.DollarName(w)
	if name != "PATH" || fallback != "" || n >= len(w) || w[n] != ':' {
		return "", false
	}
	return w[n+1:], true
}
