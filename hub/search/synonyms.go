package search

import (
	_ "embed"
	"slices"
	"strings"
	"sync"
)

// A table says by what else the words of a question are found.
type table struct {
	of    map[string][]string // by the stems of one to three words: stems that tools may have in its place
	words []string            // the single stems among its keys, sorted: misspelt words are looked for in them
}

// synonyms reads the table at the first question.
var synonyms = sync.OnceValue(func() table { return readTable(synonymLines) })

func readTable(text string) table {
	t := table{of: map[string][]string{}}
	for line := range strings.Lines(text) {
		left, right, ok := strings.Cut(line, ":")
		if !ok || line[0] == '#' {
			continue
		}
		to := stemsOf(strings.Fields(right)...)
		for from := range strings.SplitSeq(left, ",") {
			k := strings.Join(stemsOf(strings.Fields(from)...), " ")
			t.of[k] = append(t.of[k], to...)
		}
	}
	for k := range t.of {
		if !strings.Contains(k, " ") {
			t.words = append(t.words, k)
		}
	}
	slices.Sort(t.words)
	return t
}

func stemsOf(words ...string) (list []string) {
	for _, w := range words {
		list = append(list, cutEndings(w))
	}
	return list
}

//go:embed synonyms.txt
var synonymLines string
