package spelling

import (
	"strings"
	"unicode/utf8"
)

// Suggest returns the candidate that word was most likely meant to be, or "".
func Suggest(word string, candidates []string) string {
	n := utf8.RuneCountInString(word)
	best, bestAt := "", 1+min(3, max(n/3, min(1, n/2))) // of one letter nothing is left
	for _, c := range candidates {
		if d := Distance([]rune(strings.ToLower(word)), []rune(strings.ToLower(c))); d < bestAt {
			best, bestAt = c, d
		}
	}
	return best
}

// short is the longest word that is compared without allocating.
const short = 40

// Distance counts the typing errors between two words: a letter too many, too few,
// another one, or two neighbours exchanged (optimal string alignment).
func Distance[E comparable](a, b []E) int {
	var rows [3][short + 1]int
	two, one, row := rows[0][:], rows[1][:], rows[2][:]
	if len(b) > short {
		two, one, row = make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	}
	for j := range len(b) + 1 {
		one[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(one[j]+1, row[j-1]+1, one[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], two[j-2]+1)
			}
		}
		two, one, row = one, row, two
	}
	return one[len(b)]
}
