package main

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"html"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/text/unicode/norm"
)

// maxSpellings bounds what one call is made to open.
const maxSpellings = 3000

// spellings are the paths that one string, or one document of JSON, can be read as.
type spellings struct {
	home string
	list []string
	seen map[string]bool
}

func (s *spellings) add(texts ...string) {
	for _, text := range texts {
		text, _, _ = strings.Cut(text, "\x00") // where a program in C ends it
		if text != "" && len(text) < 4096 && !s.seen[text] && len(s.list) < maxSpellings {
			s.seen[text] = true
			s.list = append(s.list, text)
		}
	}
}

// collect takes every string of a document, keys too, and what is a document in a string.
func (s *spellings) collect(document []byte, depth int) {
	d := json.NewDecoder(bytes.NewReader(document))
	for {
		token, err := d.Token()
		if err != nil {
			if err != io.EOF {
				s.add(string(document))
			}
			return
		}
		text, ok := token.(string)
		if !ok {
			continue
		}
		s.add(text)
		if trimmed := strings.TrimSpace(text); depth < 4 && trimmed != "" && strings.ContainsRune(`{["`, rune(trimmed[0])) {
			s.collect([]byte(trimmed), depth+1)
		}
	}
}

var (
	separators = regexp.MustCompile("[\\s,;:|<>()\"'`=@&{}\\[\\]*?#!$^]+")
	escaped    = regexp.MustCompile(`\\(x[0-9A-Fa-f]{1,2}|u[0-9A-Fa-f]{4}|[0-7]{1,3})`)
	quoting    = regexp.MustCompile(`\\(.)`)
	fileURI    = regexp.MustCompile(`(?i)file:(//[^/\\]*)?([/\\].*)?`)
	braces     = regexp.MustCompile(`\{([^{}]*,[^{}]*)\}`)
	words      = regexp.MustCompile("[^\\s,;|<>()\"'`]+")
)

// respell adds all that is read into one text.
func (s *spellings) respell(text string) {
	s.add(strings.TrimFunc(text, func(r rune) bool { return r <= ' ' }), strings.Trim(text, " \t\r\n\"'`<>()[]"))
	for _, decode := range []func(string) (string, error){url.PathUnescape, url.QueryUnescape, unbase64, unhex} {
		if plain, err := decode(text); err == nil {
			s.add(plain)
		}
	}
	s.add(html.UnescapeString(text), norm.NFKC.String(text), strings.ReplaceAll(text, `\`, "/"), os.ExpandEnv(text))
	s.add(escaped.ReplaceAllStringFunc(text, unescape), quoting.ReplaceAllString(text, "$1"), strings.NewReplacer(`"`, "", "'", "", "`", "").Replace(text))
	for _, uri := range fileURI.FindAllStringSubmatch(text, 8) {
		s.add(uri[2], strings.TrimPrefix(uri[1], "//")+uri[2])
	}
	if m := braces.FindStringSubmatchIndex(text); m != nil {
		for part := range strings.SplitSeq(text[m[2]:m[3]], ",") {
			s.add(text[:m[0]] + part + text[m[1]:])
		}
	}
	for i := range len(text) - 1 { // the tail after each sign: --out=/x, user@/x, HEAD:/x, -o/x, a path in a sentence
		if strings.IndexByte("=@:;, \t\n\"'(<>|-", text[i]) >= 0 && strings.IndexByte("/~.$", text[i+1]) >= 0 {
			s.add(text[i+1:])
		}
	}
	if i := strings.IndexByte(text, '/'); i > 0 {
		s.add(text[i:])
	}
	if i := strings.Index(text, "~"); i >= 0 {
		name, rest, _ := strings.Cut(text[i+1:], "/")
		if name == "" || name == "root" {
			s.add(filepath.Join(s.home, rest))
		}
	}
	if len(text) < 1000 {
		s.add(separators.Split(text, -1)...)
		s.add(words.FindAllString(text, -1)...)
	}
	if strings.ContainsAny(text, "*?[") && strings.Count(text, "*") < 3 {
		found, _ := filepath.Glob(text)
		s.add(found[:min(len(found), 20)]...)
	}
}

func unescape(code string) string {
	base, digits := 8, code[1:]
	if code[1] == 'x' || code[1] == 'u' {
		base, digits = 16, code[2:]
	}
	n, err := strconv.ParseUint(digits, base, 32)
	switch {
	case err != nil:
		return code
	case code[1] == 'u':
		return string(rune(n))
	}
	return string([]byte{byte(n)})
}

func unbase64(text string) (string, error) {
	if len(text) < 4 {
		return "", strconv.ErrSyntax
	}
	b, err := base64.StdEncoding.DecodeString(text)
	return string(b), err
}

func unhex(text string) (string, error) {
	b, err := hex.DecodeString(text)
	return string(b), err
}

// paths returns all paths that a document names, absolute ones. A relative one starts from the working directory, the home
// folder and each directory that the document names.
func (s *spellings) paths(document []byte, cwd string) []string {
	s.list, s.seen = nil, map[string]bool{}
	s.collect(document, 0)
	for round, from := 0, 0; round < 3; round++ { // what is encoded twice is read twice
		end := len(s.list)
		for ; from < end; from++ {
			s.respell(s.list[from])
		}
	}
	bases := []string{cwd, s.home, "/"}
	for _, text := range s.list {
		if fi, err := os.Stat(text); filepath.IsAbs(text) && err == nil && fi.IsDir() && len(bases) < 8 && !slices.Contains(bases, text) {
			bases = append(bases, text)
		}
	}
	var all []string
	for _, text := range s.list {
		if filepath.IsAbs(text) {
			all = append(all, text)
			continue
		}
		for _, base := range bases {
			all = append(all, base+"/"+text) // not cleaned: the kernel goes through links
		}
	}
	return all
}
