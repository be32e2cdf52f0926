package gitconfig

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
)

// A Line is one variable of a file.
type Line struct {
	Section string // in lower case; with a dot in it, if the file has [a.b]
	Sub     string // the part in quotes; valid if HasSub
	HasSub  bool
	Key     string // in lower case
	Value   string // valid if Has
	Has     bool   // there is a value; without "=" a variable is true
	Number  int    // of the line in the file, from 1
}

// Name returns how the variable is called, without the part in quotes, which may be an address with a password.
func (l Line) Name() string { return l.Section + "." + l.Key }

// A Comment is the text behind # or ; in a file, or what is in quotes in the head of a section, which may have no variable.
type Comment struct {
	Text   string
	Number int
}

// reader gives the bytes of a text as git reads them: the end of a line is one byte, and the text ends with one.
type reader struct {
	text []byte
	at   int
	end  bool // the newline that follows the text was read
	line int
}

func (r *reader) nextByte() byte {
	if r.at == len(r.text) {
		r.end = true
		r.line++
		return '\n'
	}
	c := r.text[r.at]
	r.at++
	if c == '\r' && r.at < len(r.text) && r.text[r.at] == '\n' {
		r.at++
		c = '\n'
	}
	if c == '\n' {
		r.line++
	}
	return c
}

// Parse reads a file. After an error nothing more is known of the file.
func Parse(text []byte) (lines []Line, comments []Comment, err error) {
	if bytes.IndexByte(text, 0) >= 0 {
		return nil, nil, errors.New("it holds a zero byte")
	}
	r := &reader{text: bytes.TrimPrefix(text, []byte("\xef\xbb\xbf")), line: 1}
	p := parser{r: r}
	for !r.end {
		number := r.line
		c := r.nextByte()
		switch {
		case isSpace(c):
		case c == '#' || c == ';':
			p.skipComment()
		case c == '[':
			err = p.parseHeader()
		case isAlpha(c) && p.section != "":
			err = p.parseVariable(c, number)
		default:
			err = errors.New("it is neither a section, nor a variable of one, nor a comment")
		}
		if err != nil {
			return p.lines, p.comments, fmt.Errorf("line %d: %w", number, err)
		}
	}
	return p.lines, p.comments, nil
}

type parser struct {
	r            *reader
	section, sub string
	hasSub       bool
	lines        []Line
	comments     []Comment
}

// skipComment reads to the end of the line.
func (p *parser) skipComment() {
	from, number := p.r.at, p.r.line
	for p.r.nextByte() != '\n' {
	}
	p.comments = append(p.comments, Comment{strings.TrimRight(string(p.r.text[from:p.r.at]), "\r\n"), number})
}

var errHeader = errors.New("the section has no end, or a name that git does not read")

// parseHeader reads what follows [.
func (p *parser) parseHeader() error {
	p.section, p.sub, p.hasSub = "", "", false
	for {
		c := p.r.nextByte()
		switch {
		case c == ']' && p.section != "":
			return nil
		case (c == ' ' || c == '\t' || c == '\r') && p.section != "":
			return p.parseQuoted(c)
		case isKey(c) || c == '.':
			p.section += string(lowerByte(c))
		default:
			return errHeader
		}
	}
}

// parseQuoted reads the part of a header that is in quotes.
func (p *parser) parseQuoted(c byte) error {
	for isSpace(c) {
		if c == '\n' {
			return errHeader
		}
		c = p.r.nextByte()
	}
	if c != '"' {
		return errHeader
	}
	var sub []byte
	for {
		switch c = p.r.nextByte(); c {
		case '\n':
			return errHeader
		case '"':
			if p.r.nextByte() != ']' {
				return errHeader
			}
			p.sub, p.hasSub = string(sub), true
			p.comments = append(p.comments, Comment{p.sub, p.r.line})
			return nil
		case '\\':
			if c = p.r.nextByte(); c == '\n' {
				return errHeader
			}
		}
		sub = append(sub, c)
	}
}

// parseVariable reads a key that begins with c, and its value.
func (p *parser) parseVariable(c byte, number int) error {
	l := Line{Section: p.section, Sub: p.sub, HasSub: p.hasSub, Number: number}
	for ; isKey(c); c = p.r.nextByte() {
		l.Key += string(lowerByte(c))
	}
	for c == ' ' || c == '\t' {
		c = p.r.nextByte()
	}
	if c == '=' {
		value, err := p.parseValue()
		if err != nil {
			return err
		}
		l.Value, l.Has = value, true
	} else if c != '\n' {
		return errors.New("something other than = follows the name of a variable")
	}
	p.lines = append(p.lines, l)
	return nil
}

func (p *parser) parseValue() (string, error) {
	var value, blanks []byte
	quoted := false
	for {
		c := p.r.nextByte()
		switch {
		case c == '\n' && quoted:
			return "", errors.New("a quote has no end")
		case c == '\n':
			return string(value), nil
		case isSpace(c) && !quoted:
			if len(value) > 0 {
				blanks = append(blanks, c)
			}
			continue
		case !quoted && (c == ';' || c == '#'):
			p.skipComment()
			return string(value), nil
		}
		value, blanks = append(value, blanks...), nil
		switch c {
		case '"':
			quoted = !quoted
			continue
		case '\\':
			switch c = p.r.nextByte(); c {
			case '\n':
				continue
			case 't':
				c = '\t'
			case 'b':
				c = '\b'
			case 'n':
				c = '\n'
			case '\\', '"':
			default:
				return "", errors.New("a backslash is followed by a character that git does not know there")
			}
		}
		value = append(value, c)
	}
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }
func isAlpha(c byte) bool { return 'a' <= lowerByte(c) && lowerByte(c) <= 'z' }
func isKey(c byte) bool   { return isAlpha(c) || '0' <= c && c <= '9' || c == '-' }

func lowerByte(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		c += 'a' - 'A'
	}
	return c
}

var (
	escapes    = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`, "\b", `\b`)
	subEscapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`)
)

// Append writes a line with its section, which reads as it was read. A value with a carriage return is written as it is.
func Append(to []byte, l Line) []byte {
	to = append(append(to, '['), l.Section...)
	if l.HasSub {
		to = append(append(append(to, ` "`...), subEscapes.Replace(l.Sub)...), '"')
	}
	to = append(append(to, "]\n\t"...), l.Key...)
	if l.Has {
		to = append(append(append(to, ` = "`...), escapes.Replace(l.Value)...), '"')
	}
	return append(to, '\n')
}
