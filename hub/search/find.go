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
	asSynonym   = 0.6
	asMisspelt  = 0.7
	asBeginning = 0.7
)

// Cut-offs: an answer explains at least this share of the question, and has at least
// this share of the best answer's score.
const (
	leastShare  = 0.18
	leastOfBest = 0.35
)

// Find returns the tools that fit a question, the best first, at most limit.
func (x *Index) Find(question string, limit int) []Hit {
	asked := x.ask(question)
	if len(asked) == 0 || limit <= 0 {
		return nil
	}
	scores, best, all := make([]float32, x.tools), make([]float32, x.tools), 0.0
	for _, word := range asked {
		all += word.weight
		clear(best)
		for _, v := range word.variants {
			for _, p := range x.terms[v.term] {
				best[p.tool] = max(best[p.tool], p.weight*v.weight)
			}
		}
		for i, b := range best {
			scores[i] += b
		}
	}
	top := slices.Max(scores)
	var hits []Hit
	for i, s := range scores {
		if share := float64(s) / all; s > 0 && share >= leastShare && s >= top*leastOfBest {
			hits = append(hits, Hit{i, share})
		}
	}
	slices.SortStableFunc(hits, func(a, b Hit) int { return cmp.Compare(b.Score, a.Score) })
	return hits[:min(limit, len(hits))]
}

// A word of a question, and the terms that it may be found by.
type word struct {
	variants []variant
	weight   float64 // what it counts where it is found in the best of places
}

type variant struct {
	term   string
	weight float32
}

// ask reads a question.
func (x *Index) ask(question string) []word {
	if len(question) > longestQuestion {
		question = question[:longestQuestion]
	}
	var plain []string
	words(question, func(w string) { plain = append(plain, w) })
	var asked []word
	seen := map[string]bool{}
	for i := 0; i < len(plain) && len(asked) < mostWords; i++ {
		w := plain[i]
		if i+1 < len(plain) {
			pair := stem(w) + " " + stem(plain[i+1])
			if others := synonyms[pair]; others != nil && !seen[pair] {
				seen[pair] = true
				asked = append(asked, x.word("", others))
			}
		}
		s := stem(w)
		if seen[s] || len(s) > longestWord {
			continue
		}
		seen[s] = true
		others := synonyms[s]
		if stopWords[w] {
			continue
		}
		asked = append(asked, x.word(s, others))
	}
	return asked
}

// word looks for the terms that a word may be found by.
func (x *Index) word(s string, others []string) word {
	var w word
	add := func(term string, weight float32) {
		if list := x.terms[term]; list != nil {
			w.variants = append(w.variants, variant{term, weight})
			w.weight = max(w.weight, rarity(x.tools, len(list)))
		}
	}
	if s != "" {
		add(s, 1)
	}
	for _, o := range others {
		add(o, asSynonym)
	}
	if len(w.variants) == 0 && len(s) >= 4 {
		for _, term := range x.known {
			switch {
			case len(term) > len(s) && strings.HasPrefix(term, s):
				add(term, asBeginning)
			case len(term) >= 4 && near(s, term):
				add(term, asMisspelt)
			}
		}
	}
	if len(w.variants) == 0 {
		w.weight = x.rare
	}
	return w
}
