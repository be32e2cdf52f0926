package results

import (
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// This file describes where texts are cut.

// A cut describes what of a text is left: text[:head] and text[tail:].
type cut struct {
	head, tail int
	note       string // how it was cut, as a sentence; "" for whole lines
}

// cutText cuts a text of more than most bytes to that many at most. Nothing is cut inside a character. JSON is cut between
// members or elements, other text between lines, as far as there are any if it is to be cut.
func cutText(text string, most int) cut {
	before, after := most/2, len(text)-(most-most/2) // the head ends there at the latest, and the tail begins there at the earliest
	if isJSON(text) {
		return cutJSON(text, before, after)
	}
	c := cut{head: lastLine(text, 0, before), tail: nextLine(text, after)}
	if c.head < 0 || c.tail < 0 {
		c.note = "It is cut inside a line."
	}
	return c.alignToRunes(text, before, after)
}

// alignToRunes puts places between characters if no better one was found.
func (c cut) alignToRunes(text string, before, after int) cut {
	if c.head < 0 {
		c.head = lastRune(text, 0, before)
	}
	if c.tail < 0 {
		for c.tail = after; c.tail < len(text) && !utf8.RuneStart(text[c.tail]); c.tail++ {
		}
	}
	return c
}

// lastLine returns the last end of a line of text[from:to], -1 if there is none.
func lastLine(text string, from, to int) int {
	if i := strings.LastIndexByte(text[from:to], '\n'); i >= 0 {
		return from + i + 1
	}
	return -1
}

// nextLine returns the first begin of a line in text[from:], -1 if there is none.
func nextLine(text string, from int) int {
	if from > 0 && text[from-1] == '\n' {
		return from
	}
	if i := strings.IndexByte(text[from:], '\n'); i >= 0 && from+i+1 < len(text) {
		return from + i + 1
	}
	return -1
}

// lastRune returns the last place of text[from:to] between two characters.
func lastRune(text string, from, to int) int {
	for to > from && to < len(text) && !utf8.RuneStart(text[to]) {
		to--
	}
	return to
}

func isJSON(text string) bool {
	start := strings.TrimLeft(text, " \t\r\n")
	return start != "" && (start[0] == '{' || start[0] == '[') && json.Valid([]byte(text))
}

// cutJSON cuts valid JSON behind commas. Of those in the half of the head, or of the tail, that is next to the cut it
// takes one that is nested least; else the nearest.
func cutJSON(text string, before, after int) cut {
	head, tail := best{to: before}, best{to: len(text)}
	depth, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch ch := text[i]; {
		case quoted && ch == '\\':
			i++
		case ch == '"':
			quoted = !quoted
		case quoted:
		case ch == '{' || ch == '[':
			depth++
		case ch == '}' || ch == ']':
			depth--
		case ch == ',':
			end := i + 1
			for end < len(text) && strings.IndexByte(" \t\r", text[end]) >= 0 {
				end++
			}
			if end == len(text) || text[end] != '\n' {
				end = i // the next member begins in the same line
			}
			end++
			switch {
			case end <= before:
				head.takePlace(end, depth, end > before/2, true)
			case end >= after:
				tail.takePlace(end, depth, end < after+(len(text)-after)/2, false)
			}
		}
	}
	c := cut{head: head.bestPlace(), tail: tail.bestPlace(), note: "It is JSON, cut between members: what is left is not valid by itself."}
	if c.head < 0 || c.tail < 0 {
		c.note = "It is JSON, cut inside a value: what is left is not valid by itself."
	}
	return c.alignToRunes(text, before, after)
}

// best is the best of the places that were seen.
type best struct {
	to           int
	place, depth int
	near         bool // it is in the half that counts
}

// takePlace looks at the next place. later: of two that are alike the later one is better.
func (b *best) takePlace(place, depth int, near, later bool) {
	switch {
	case b.place == 0, near && !b.near:
	case b.near && !near:
		return
	case near && (depth > b.depth || depth == b.depth && !later):
		return
	case !near && !later:
		return
	}
	b.place, b.depth, b.near = place, depth, near
}

// bestPlace returns the place, -1 if there was none.
func (b *best) bestPlace() int {
	if b.place == 0 || b.place > b.to {
		return -1
	}
	return b.place
}

// pageStarts returns the places where the pages of a text begin, each of at most size bytes, or of one character: they end with a
// line if one ends in them.
func pageStarts(text string, size int) []int {
	starts := []int{0}
	for from := 0; len(text)-from > size; {
		end := lastLine(text, from, from+size)
		if end < 0 {
			end = lastRune(text, from, from+size)
		}
		if end == from {
			_, n := utf8.DecodeRuneInString(text[from:])
			end += n
		}
		if end < len(text) {
			starts = append(starts, end)
		}
		from = end
	}
	return starts
}
