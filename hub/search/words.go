package search

import (
	"strings"
	"unicode"

	"mcphub/internal/spelling"
)

// words calls yield with the words of a text in lower case, split at capitals
// (readFile), at everything that is no letter or digit, and at apostrophes.
func words(text string, yield func(string)) {
	runes := []rune(text)
	from := 0
	flush := func(to int) {
		if to > from {
			yield(strings.ToLower(string(runes[from:to])))
		}
	}
	for i, r := range runes {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			flush(i)
			from = i + 1
			continue
		}
		if i > from && unicode.IsUpper(r) {
			lowerBefore := unicode.IsLower(runes[i-1])
			acronymEnds := unicode.IsUpper(runes[i-1]) && i+2 < len(runes) && unicode.IsLower(runes[i+1]) && unicode.IsLower(runes[i+2])
			if lowerBefore || acronymEnds { // readFile, HTTPServer; PRs and URLs stay whole
				flush(i)
				from = i
			}
		}
	}
	flush(len(runes))
}

// stems calls yield with the stems of the words of a text, without stop words.
func stems(text string, yield func(string)) {
	words(text, func(w string) {
		if !stopWords[w] {
			yield(stem(w))
		}
	})
}

// stem cuts the common endings of English off a word, so that lists, listed and
// listing are one word. It need not be right, only the same for both sides.
func stem(w string) string {
	n := len(w)
	if n < 4 || w[n-1] >= 0x80 {
		if n == 3 && w[2] == 's' && w[1] != 's' && !strings.ContainsRune("aiu", rune(w[1])) {
			return w[:2] // PRs
		}
		return w
	}
	switch {
	case strings.HasSuffix(w, "ies") && n > 4:
		w = w[:n-3] + "y"
	case strings.HasSuffix(w, "sses"), strings.HasSuffix(w, "xes"), strings.HasSuffix(w, "ches"), strings.HasSuffix(w, "shes"):
		w = w[:n-2]
	case w[n-1] == 's' && w[n-2] != 's' && w[n-2] != 'u' && w[n-2] != 'i':
		w = w[:n-1]
	}
	n = len(w)
	switch {
	case n > 5 && strings.HasSuffix(w, "ing"):
		w = undouble(w[:n-3])
	case n > 4 && strings.HasSuffix(w, "ed") && w[n-3] != 'e':
		w = undouble(w[:n-2])
	case n > 6 && (strings.HasSuffix(w, "tion") || strings.HasSuffix(w, "sion")):
		w = w[:n-3]
	}
	if n = len(w); n > 4 && w[n-1] == 'e' {
		w = w[:n-1]
	}
	return w
}

// undouble makes run of runn, but leaves install.
func undouble(w string) string {
	n := len(w)
	if n > 3 && w[n-1] == w[n-2] && !strings.ContainsRune("lsz", rune(w[n-1])) {
		return w[:n-1]
	}
	return w
}

// near reports whether one or two typing errors make b of a: a letter too many,
// too few, another one, or two exchanged. Short words must begin alike.
func near(a, b string) bool {
	most := 1
	if len(a) >= 8 {
		most = 2
	}
	if len(a)-len(b) > most || len(b)-len(a) > most || a[0] != b[0] {
		return false
	}
	return spelling.Distance([]byte(a), []byte(b)) <= most
}

var stopWords = set(`a an the of to in on for with and or my me i is are am was were be been it its that this these those
	there here what which how do does did we you your our us they their he she by from at as can could would should will
	have has had please want need some any if then than so not no just about into s t m re ve ll let get got thing stuff
	tool tools something somebody someone`)

func set(list string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(list) {
		m[w] = true
	}
	return m
}
