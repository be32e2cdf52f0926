package search

import (
	"cmp"
	"slices"
	"strings"
)

// Bounds of a question.
const (
	longestQuestion = 1 << 10
	maxWords        = 32
	longestPhrase   = 3
)

// What a word counts that stands for the one that was asked for.
const (
	asSynonym   = 0.7
	asMisspelt  = 0.6
	asBeginning = 0.7
)

// leastOfBest is the share of the best answer's score that the others reach.
const leastOfBest = 0.35

// What makes an answer more than the nearest one: its share of the question and perWord for each
// word of it that the tool has are at least strong. Several words seldom meet in one tool by chance.
const (
	strong  = 0.39
	perWord = 0.08
)

// Find returns the tools that are nearest to a question, the best first, at most limit.
// weak reports that none of them fits well. There are none if no tool has a word of the
// question, or one that may stand for it.
func (x *Index) Find(question string, limit int) (hits []Hit, weak bool) {
	asked := x.readQuestion(question)
	if x.tools == 0 || len(asked) == 0 || limit <= 0 {
		return nil, true
	}
	scores, met, whole := make([]float64, x.tools), make([]int, x.tools), 0.0
	best := make([]float64, x.tools)
	for _, variants := range asked {
		clear(best)
		whole += x.weighVariants(variants, best)
		for i, b := range best {
			if b > 0 {
				scores[i] += b
				met[i]++
			}
		}
	}
	top := slices.Max(scores)
	for i, s := range scores {
		if s > 0 && s >= top*leastOfBest {
			hits = append(hits, Hit{i, s / whole})
		}
	}
	slices.SortStableFunc(hits, func(a, b Hit) int { return cmp.Compare(b.Score, a.Score) })
	hits = hits[:min(limit, len(hits))]
	return hits, len(hits) == 0 || hits[0].Score+perWord*float64(met[hits[0].Tool]) < strong
}

// weighVariants puts into scores what a word of a question, by its best variant, tells for each tool.
// It returns how much it tells at most. Of two variants the one that few tools have tells
// more, and a word tells less the more tools have any of its variants.
func (x *Index) weighVariants(variants []variant, scores []float64) (most float64) {
	if len(variants) == 0 {
		return scoreRarity(x.tools, 0) // nothing explains it
	}
	having := 0
	for _, v := range variants {
		for _, p := range x.terms[v.term] {
			if scores[p.tool] == 0 {
				having++
			}
			scores[p.tool] = 1
		}
	}
	clear(scores)
	for _, v := range variants {
		tells := (scoreRarity(x.tools, having) + scoreRarity(x.tools, len(x.terms[v.term]))) / 2
		most = max(most, tells)
		for _, p := range x.terms[v.term] {
			scores[p.tool] = max(scores[p.tool], p.weight*v.weight*tells)
		}
	}
	return most
}

// A variant is a term that a word of a question may be found by.
type variant struct {
	term   string
	weight float64
}

// readQuestion reads a question: for each of its words, the terms that it may be found by.
func (x *Index) readQuestion(question string) [][]variant {
	if len(question) > longestQuestion {
		question = question[:longestQuestion]
	}
	var plain []string
	splitWords(question, func(w string) { plain = append(plain, w) })
	var asked [][]variant
	seen := map[string]bool{}
	for i := 0; i < len(plain) && len(asked) < maxWords; i++ {
		if n, phrase := phraseAt(plain[i:]); n > 0 {
			if !seen[phrase] {
				seen[phrase] = true
				asked = append(asked, x.findVariants("", synonyms().of[phrase]))
			}
			i += n - 1
			continue
		}
		w := plain[i]
		s := cutEndings(w)
		number := strings.Trim(w, "0123456789") == ""
		if seen[s] || len(s) > longestWord || number || stopWords()[w] || fillers()[w] {
			continue
		}
		seen[s] = true
		asked = append(asked, x.findVariants(s, synonyms().of[s]))
	}
	return asked
}

// phraseAt looks in the table for the longest phrase of several words that words begin with.
func phraseAt(words []string) (n int, phrase string) {
	for n := min(longestPhrase, len(words)); n > 1; n-- {
		if phrase := strings.Join(stemsOf(words[:n]...), " "); synonyms().of[phrase] != nil {
			return n, phrase
		}
	}
	return 0, ""
}

// findVariants looks for the terms that a word may be found by.
func (x *Index) findVariants(s string, others []string) (found []variant) {
	add := func(term string, weight float64) {
		if x.terms[term] != nil {
			found = append(found, variant{term, weight})
		}
	}
	if s != "" {
		add(s, 1)
	}
	for _, o := range others {
		add(o, asSynonym)
	}
	if len(found) > 0 || len(s) < 4 {
		return found
	}
	for _, term := range x.known {
		if w := scoreLikeness(s, term); w > 0 {
			add(term, w)
		}
	}
	for _, key := range synonyms().words {
		if w := scoreLikeness(s, key); w > 0 && len(key)-len(s) <= 2 {
			for _, o := range synonyms().of[key] {
				add(o, w*asSynonym)
			}
		}
	}
	return found
}

// scoreLikeness returns how much a word counts for a term that it may be the beginning,
// another ending, or a misspelling of; 0 if it is none.
func scoreLikeness(s, term string) float64 {
	switch {
	case len(term) > len(s) && strings.HasPrefix(term, s):
		return asBeginning
	case len(term) >= 5 && len(s)-len(term) <= 2 && strings.HasPrefix(s, term):
		return asBeginning
	case len(term) >= 4 && isNear(s, term):
		return asMisspelt
	}
	return 0
}
