package seatbelttest

import (
	"errors"
	"fmt"
	"strings"
)

// maxString is what the reader of sandbox-exec takes of a string.
const maxString = 1023

// quoted is a string of the language. Words are Go strings, and lists are slices.
type quoted string

// readForms reads all forms of a text.
func readForms(text string) (forms []any, err error) {
	for {
		form, rest, err := readForm(text)
		if err != nil || form == nil {
			return forms, err
		}
		forms, text = append(forms, form), rest
	}
}

// readForm reads one form; nil at the end.
func readForm(text string) (form any, rest string, err error) {
	text = strings.TrimLeft(text, " \t\r\n")
	switch {
	case text == "":
		return nil, "", nil
	case text[0] == ';':
		_, rest, _ := strings.Cut(text, "\n")
		return readForm(rest)
	case text[0] == '(':
		list := []any{}
		for text = text[1:]; ; {
			text = strings.TrimLeft(text, " \t\r\n")
			if strings.HasPrefix(text, ")") {
				return list, text[1:], nil
			}
			form, rest, err := readForm(text)
			if err != nil || form == nil {
				return nil, "", errors.Join(err, errors.New("a list does not end"))
			}
			list, text = append(list, form), rest
		}
	case text[0] == ')':
		return nil, "", errors.New("a list ends that has not begun")
	case text[0] == '"':
		return readString(text[1:])
	}
	end := strings.IndexAny(text, " \t\r\n()\";")
	if end < 0 {
		end = len(text)
	}
	return text[:end], text[end:], nil
}

// readString reads a string whose quote was read.
func readString(text string) (form any, rest string, err error) {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '"':
			if b.Len() > maxString {
				return nil, "", fmt.Errorf("a string of %d bytes", b.Len())
			}
			return quoted(b.String()), text[i+1:], nil
		case '\\':
			if i++; i == len(text) {
				return nil, "", errors.New("a string does not end")
			}
			switch text[i] {
			case 'n':
				b.WriteByte('\n')
			case 'r':
				b.WriteByte('\r')
			case 't':
				b.WriteByte('\t')
			case '"', '\\':
				b.WriteByte(text[i])
			default:
				return nil, "", fmt.Errorf(`\%c in a string`, text[i])
			}
		default:
			b.WriteByte(c)
		}
	}
	return nil, "", errors.New("a string does not end")
}
