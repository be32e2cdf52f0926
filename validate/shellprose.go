package validate

import (
	"regexp"
	"strings"
)

// withoutProse writes blanks over what a shell string writes into files or says to the reader: the bodies of
// here-documents that only cat, tee or a commit is given, and lines of comment. It is careful to do so only where
// nothing in the string could run that text or take it for names; the string is returned as it is wherever that cannot
// be told.
func withoutProse(s string) string {
	if strings.IndexByte(s, '\n') < 0 {
		return s
	}
	lines := strings.SplitAfter(s, "\n")
	var out, rest strings.Builder
	var at quoting
	bodies := false
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		switch {
		case at.within():
		case strings.HasPrefix(strings.TrimSpace(line), "#"):
			out.WriteString(blankLine(line))
			continue
		case strings.Contains(line, "<<"):
			head := strings.TrimRight(line, "\r\n")
			m, code := bodyHead.FindStringSubmatch(head), false
			if m == nil {
				m, code = codeHead.FindStringSubmatch(head), true
			}
			if m == nil {
				return s // a body that something may be done with
			}
			end := bodyEnd(lines, i+1, m)
			if end < 0 {
				return s
			}
			out.WriteString(line)
			if !code {
				rest.WriteString(line)
			}
			for _, l := range lines[i+1 : end+1] {
				if code {
					l = division.ReplaceAllStringFunc(l, func(op string) string { return strings.Repeat(" ", len(op)) })
				} else {
					l = blankLine(l)
				}
				out.WriteString(l)
			}
			i, bodies = end, bodies || !code
			continue
		}
		if at = at.line(line); at.lost {
			return s
		}
		out.WriteString(line)
		rest.WriteString(line)
	}
	left := rest.String()
	if at.within() || strings.Contains(left, "$(") || strings.IndexByte(left, '`') >= 0 || strings.Contains(left, "=(") || bodies && (feeds(left) || !leavesText(left)) {
		return s
	}
	return out.String()
}

// bodyEnd is the line that ends a here-document, -1 where there is none or the body is not taken as it stands.
func bodyEnd(lines []string, from int, head []string) int {
	cut := ""
	if head[1] != "" {
		cut = "\t"
	}
	for end := from; end < len(lines); end++ {
		if strings.TrimLeft(strings.TrimSuffix(lines[end], "\n"), cut) == head[3] {
			return end
		}
		if head[2] == "" && (strings.Contains(lines[end], "$(") || strings.ContainsAny(lines[end], "`\\")) {
			return -1
		}
	}
	return -1
}

func blankLine(line string) string {
	if n := len(line); n > 0 && line[n-1] == '\n' {
		return strings.Repeat(" ", n-1) + "\n"
	}
	return strings.Repeat(" ", len(line))
}

// quoting is the state at the end of a line.
type quoting struct {
	quote     byte
	continued bool // by a backslash
	lost      bool // shells disagree
}

func (q quoting) within() bool { return q.quote != 0 || q.continued }

// line follows the quotes of one line.
func (q quoting) line(line string) quoting {
	q.continued = false
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == '\\' && q.quote != '\'':
			if i++; i < len(line) && line[i] == '\n' {
				q.continued = true
			}
		case q.quote != 0:
			if c == q.quote {
				q.quote = 0
			}
		case c == '#' && (i == 0 || isBlank(rune(line[i-1]))):
			q.lost = q.lost || strings.ContainsAny(line[i:], "'\"\\")
			return q
		case c == '$' && i+1 < len(line) && line[i+1] == '\'':
			q.lost = true
		case c == '\'' || c == '"':
			q.quote = c
		}
	}
	return q
}

var (
	// bodyHead is a line that gives a here-document to cat, tee or a commit, and nothing else: its dash, its quote, its end.
	bodyHead = regexp.MustCompile(`^\s*(?:(?:cd|mkdir|mkdir -p)\s+[\w./-]+\s*&&\s*)*(?:(?:cat|tee)\b(?:\s+(?:-a|>{1,2}\s*["']?[\w./-]+["']?|[\w./-]+))*|git\s+commit(?:\s+-[\w-]+)*\s+(?:-F|--file)[ =]?-)\s*<<(-?)\s*(['"]?)([A-Za-z_]\w*)['"]?(?:\s+(?:>{1,2}\s*["']?[\w./-]+["']?|[\w./-]+))*\s*$`)

	// codeHead is one that gives it to another language.
	codeHead = regexp.MustCompile(`^\s*(?:python[0-9.]*|node|ruby|perl|php)(?:\s+-)?\s*<<(-?)\s*(['"]?)([A-Za-z_]\w*)['"]?\s*$`)
	division = regexp.MustCompile(`[ \t]//?[ \t]`)
)

// leaves are commands that neither run what is in a file nor take it for names.
var leaves = wordSet("cat tee mkdir echo printf ls cd git gh touch true test [ pwd rm cp mv head tail wc diff set go gofmt cargo rustc npm npx pnpm yarn tsc eslint prettier jest vitest " +
	"pytest ruff black mypy gcc g++ clang javac mvn gradle kubectl terraform helm exit")

// leavesText reports that no command of a shell string runs what another has written, or takes it for names.
func leavesText(s string) bool {
	if strings.Contains(s, "from") || strings.Contains(s, "stdin") || strings.Contains(s, "./") || strings.ContainsAny(s, "({") {
		return false
	}
	for command := range strings.FieldsFuncSeq(s, func(r rune) bool { return strings.ContainsRune(";&|\n", r) }) {
		words := strings.Fields(command)
		if len(words) > 0 && !leaves[words[0]] {
			return false
		}
		if strings.Contains(strings.Replace(command, "<<", "", 1), "<") {
			return false
		}
	}
	return true
}
