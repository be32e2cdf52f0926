package search

import (
	"strings"
	"sync"
	"unicode"

	"mcphub/internal/spelling"
)

// splitWords calls yield with the words of a text in lower case, split at capitals
// (readFile), at everything that is no letter or digit, and at apostrophes.
func splitWords(text string, yield func(string)) {
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

// splitStems calls yield with the stems of the words of a text, without stop words.
func splitStems(text string, yield func(string)) {
	splitWords(text, func(w string) {
		if !stopWords()[w] {
			yield(cutEndings(w))
		}
	})
}

// cutEndings cuts the common endings of English off a word, so that lists, listed and
// listing are one word. It need not be right, only the same for both sides.
func cutEndings(w string) string {
	w = strings.Map(stripAccent, w)
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

// stripAccent takes the accent off a letter, as people leave it out.
func stripAccent(r rune) rune {
	if r < 0x80 {
		return r
	}
	for _, alike := range []string{"aàáâãäå", "cç", "eèéêë", "iìíîï", "nñ", "oòóôõöø", "sß", "uùúûü", "yýÿ"} {
		if strings.ContainsRune(alike, r) {
			return rune(alike[0])
		}
	}
	return r
}

// undouble makes run of runn, but leaves install.
func undouble(w string) string {
	n := len(w)
	if n > 3 && w[n-1] == w[n-2] && !strings.ContainsRune("lsz", rune(w[n-1])) {
		return w[:n-1]
	}
	return w
}

// isNear reports whether one or two typing errors make b of a: a letter too many,
// too few, another one, or two exchanged. Short words must begin alike.
func isNear(a, b string) bool {
	most := 1
	if len(a) >= 8 {
		most = 2
	}
	if len(a)-len(b) > most || len(b)-len(a) > most || a[0] != b[0] {
		return false
	}
	return spelling.Distance([]byte(a), []byte(b)) <= most
}

var stopWords = lazySet(`a an the of to in on for with and or my me i is are am was were be been it its that this these those
	there here what which how do does did we you your our us they their he she by from at as can could would should will
	have has had please want need some any if then than so not no just about into s t m re ve ll let get got thing stuff
	tool tools something somebody someone`)

// fillers are words that a question holds and that say nothing, in the languages that
// the table knows. Tools may mean something by them.
var fillers = lazySet(`also again really now currently kindly everything anything nothing whose whom myself d one
	last yet ever even still too very much lot bit kind maybe oops ok somewhere else anybody anyone only own
	up out down off over under
	der die das dem den des ein eine einen einem einer mein meine meinen meinem meiner dies diese dieser dieses diesen diesem
	ich mir mich du wir uns er sie es und oder ist sind habe hat haben wie wo wann auf aus bei mit von vom zu zum zur im am um für über bitte
	le la les un une du de et ou est sont je moi mon ma mes ce cette ces dans sur pour avec par au aux qui que quoi il elle nous vous l svp
	el los las una unos unas del y o son yo mi mis su sus este esta estos estas en con por para al como lo se`)

// lazySet reads a list when it is first asked: most starts ask for none.
func lazySet(list string) func() map[string]bool {
	return sync.OnceValue(func() map[string]bool {
		m := map[string]bool{}
		for _, w := range strings.Fields(list) {
			m[w] = true
		}
		return m
	})
}
