package search

import (
	"cmp"
	"slices"
	"strings"
)

// Bounds of a question.
const (
	longestQuestion = 1 << 10
	mostWords       = 32
)

// What a word counts that stands for the one that was asked for.
const (
	asSynonym   = 0.75
	asMisspelt  = 0.6
	asBeginning = 0.7
)

// ofFirst is how much of the weight of a word comes of how rare its first variant is,
// which is the word itself where tools have it. The rest comes of all its variants.
const ofFirst = 0.3

// asUnknown is how much a word that finds nothing counts against all answers.
const asUnknown = 0.5

// Cut-offs: an answer explains at least this share of the question, and has at least
// this share of the best answer's score.
const (
	leastShare  = 0.18
	leastOfBest = 0.35
)

// Find returns the tools that fit a question, the best first, at most limit.
func (x *Index) Find(question string, limit int) []Hit {
	asked := x.ask(question)
	if x.tools == 0 || len(asked) == 0 || limit <= 0 {
		return nil
	}
	scores, best, all := make([]float64, x.tools), make([]float64, x.tools), 0.0
	for _, variants := range asked {
		if len(variants) == 0 {
			all += asUnknown * rarity(x.tools, 0)
			continue
		}
		clear(best)
		having := 0
		for _, v := range variants {
			for _, p := range x.terms[v.term] {
				if best[p.tool] == 0 {
					having++
				}
				best[p.tool] = max(best[p.tool], p.weight*v.weight)
			}
		}
		rare := (1-ofFirst)*rarity(x.tools, having) + ofFirst*rarity(x.tools, len(x.terms[variants[0].term]))
		all += rare
		for i, b := range best {
			scores[i] += rare * b
		}
	}
	top := slices.Max(scores)
	var hits []Hit
	for i, s := range scores {
		if share := s / all; s > 0 && share >= leastShare && s >= top*leastOfBest {
			hits = append(hits, Hit{i, share})
		}
	}
	slices.SortStableFunc(hits, func(a, b Hit) int { return cmp.Compare(b.Score, a.Score) })
	return hits[:min(limit, len(hits))]
}

// A variant is a term that a word of a question may be found by.
type variant struct {
	term   string
	weight float64
}

// ask reads a question: for each of its words, the terms that it may be found by.
func (x *Index) ask(question string) [][]variant {
	if len(question) > longestQuestion {
		question = question[:longestQuestion]
	}
	var plain []string
	words(question, func(w string) { plain = append(plain, w) })
	var asked [][]variant
	seen := map[string]bool{}
	for i := 0; i < len(plain) && len(asked) < mostWords; i++ {
		w := plain[i]
		if i+1 < len(plain) {
			pair := stem(w) + " " + stem(plain[i+1])
			if others := synonyms()[pair]; others != nil && !seen[pair] {
				seen[pair] = true
				asked = append(asked, x.variants("", others))
			}
		}
		s := stem(w)
		if seen[s] || len(s) > longestWord {
			continue
		}
		seen[s] = true
		others := synonyms()[s]
		if stopWords[w] {
			continue
		}
		asked = append(asked, x.variants(s, others))
	}
	return asked
}

// variants looks for the terms that a word may be found by.
func (x *Index) variants(s string, others []string) (found []variant) {
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
		switch {
		case len(term) > len(s) && strings.HasPrefix(term, s):
			add(term, asBeginning)
		case len(term) >= 4 && near(s, term):
			add(term, asMisspelt)
		}
	}
	return found
}
