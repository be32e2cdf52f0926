package reference

import (
	"fmt"
	"net/url"
	"strings"

	"mcphub/internal/lazyregexp"
)

// A Kind is a place in which a value is looked for.
type Kind string

// The kinds.
const (
	Keyring Kind = "keyring" // a secret that is kept by `mcphub secret set`
	Input   Kind = "input"   // likewise; the list inputs of hub.json states what to ask for
	File    Kind = "file"    // the text of a file

	// EnvFile is the text of a whole env file. It is never written as a reference:
	// the key envFile names it.
	EnvFile Kind = "envFile"
)

// maxName bounds the name of a secret, in bytes.
const maxName = 128

// A Ref is one reference.
type Ref struct {
	Kind Kind
	Name string // of the secret; of a File its path
}

// String returns the reference as hub.json has it.
func (r Ref) String() string { return "${" + string(r.Kind) + ":" + r.Name + "}" }

// Mark returns what stands in a text instead of the reference. Its name is
// escaped, so that no one who looks into the text for paths or placeholders
// finds any.
func (r Ref) Mark() string { return "\x00" + string(r.Kind) + ":" + url.QueryEscape(r.Name) + "\x00" }

// KindOf returns what kind of reference the text between "${" and "}" begins.
func KindOf(body string) (k Kind, name string, ok bool) {
	before, name, ok := strings.Cut(body, ":")
	switch k := Kind(before); k {
	case Keyring, Input, File:
		return k, name, ok
	}
	return "", "", false
}

// begun matches the beginning of a reference that is not escaped.
var begun = lazyregexp.New(`(?:^|[^$])\$\{(?:keyring|input|file):`)

// Written reports whether a text that was not read yet holds a reference.
func Written(s string) bool { return begun.MatchString(s) }

var secretName = lazyregexp.New(`^[A-Za-z0-9_][A-Za-z0-9_./-]*$`)

// CheckName returns what is wrong with the name of a secret, or "".
func CheckName(name string) string {
	switch {
	case !secretName.MatchString(name):
		return "is no name of a secret: it is made of A-Z a-z 0-9 _ . / -"
	case len(name) > maxName:
		return fmt.Sprintf("is no name of a secret: it is longer than %d characters", maxName)
	}
	return ""
}

// parseMark reads what stands between the NULs of a mark.
func parseMark(s string) (Ref, bool) {
	k, name, ok := KindOf(s)
	if !ok {
		return Ref{}, false
	}
	name, err := url.QueryUnescape(name)
	return Ref{k, name}, err == nil
}

// Has reports whether a text holds a mark.
func Has(s string) bool { return strings.IndexByte(s, 0) >= 0 }

// Valid reports whether every NUL of a text belongs to a mark.
func Valid(s string) bool {
	_, err := Replace(s, func(Ref) (string, error) { return "", nil })
	return err == nil
}

// All lists the references in a text, in order.
func All(s string) []Ref {
	var out []Ref
	_, _ = Replace(s, func(r Ref) (string, error) { // of what is no mark nothing is known
		out = append(out, r)
		return "", nil
	})
	return out
}

// Replace puts a value instead of each mark. The error is the error of value, or
// reports that a NUL belongs to no mark.
func Replace(s string, value func(Ref) (string, error)) (string, error) {
	if !Has(s) {
		return s, nil
	}
	parts := strings.Split(s, "\x00")
	if len(parts)%2 == 0 {
		return "", fmt.Errorf("it holds a NUL character")
	}
	for i := 1; i < len(parts); i += 2 {
		r, ok := parseMark(parts[i])
		if !ok {
			return "", fmt.Errorf("it holds a NUL character")
		}
		v, err := value(r)
		if err != nil {
			return "", err
		}
		parts[i] = v
	}
	return strings.Join(parts, ""), nil
}

// Blank puts a word instead of each mark, for the caller that judges the rest.
func Blank(s, word string) string {
	out, err := Replace(s, func(Ref) (string, error) { return word, nil })
	if err != nil {
		return s
	}
	return out
}

// marked matches a mark, as it stands and as Go quotes it.
var marked = lazyregexp.New(`(?:\x00|\\x00)((?:keyring|input|file):[A-Za-z0-9%._~+-]*)(?:\x00|\\x00)`)

// Show writes a text for people: each reference as hub.json has it.
func Show(s string) string {
	return marked.ReplaceAllStringFunc(s, func(m string) string {
		r, ok := parseMark(marked.FindStringSubmatch(m)[1])
		if !ok {
			return m
		}
		return r.String()
	})
}
