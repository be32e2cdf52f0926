package pin

import (
	"maps"
	"slices"
	"strings"
	"unicode"

	"mcphub/internal/lazyregexp"
	"mcphub/internal/printable"
)

// This file finds in text what a person does not see, or what tells a model what to do.

// compareProse reports characters and wording that the texts have now and had not before. If there is none and the texts differ,
// otherwise is reported; "" for nothing.
func (d *differences) compareProse(was, now []string, otherwise string) {
	before := len(d.changes)
	old := strings.Join(was, "\n")
	text := strings.Join(now, "\n")
	if odd := newRunes(old, text); odd != "" {
		d.grow("its text has characters that are not seen: %s", odd)
	}
	if words := newWords(old, text); len(words) > 0 {
		d.grow("its text mixes letters that look alike: %s", quoteAll(words[:min(len(words), 3)]))
	}
	if script := newScript(old, text); script != "" && old != "" {
		d.grow("its text has words in letters that it did not have before: %s", script)
	}
	if sentences := newOrders(was, now); len(sentences) > 0 {
		d.grow("its text tells a model what to do: %s", quoteAll(sentences[:min(len(sentences), 2)]))
	}
	if len(d.changes) == before && otherwise != "" {
		d.differ("%s", otherwise)
	}
}

// newRunes names the first hidden character of which a text has more than before.
func newRunes(was, now string) string {
	had := map[rune]int{}
	for _, r := range unseenRunes(was) {
		had[r]++
	}
	for _, r := range unseenRunes(now) {
		if had[r]--; had[r] < 0 {
			return printable.Rune(r)
		}
	}
	return ""
}

// unseenRunes returns the characters of a text that are not seen, or change how others are. Blanks are seen, and what joins emoji is a
// part of them.
func unseenRunes(text string) (unseen []rune) {
	runes := []rune(text)
	joins := func(i int) bool {
		return i >= 0 && i < len(runes) && (unicode.In(runes[i], unicode.So, unicode.Sk) || runes[i] == '\ufe0f')
	}
	for i, r := range runes {
		switch r {
		case '\n', '\r', '\t', '\u00a0', '\u202f':
			continue
		case '\u200d', '\ufe0f':
			if joins(i - 1) {
				continue
			}
		}
		if printable.Hidden(r) {
			unseen = append(unseen, r)
		}
	}
	return unseen
}

// newWords returns the words that mix scripts and were not in the text before.
func newWords(was, now string) (words []string) {
	for word := range strings.FieldsFuncSeq(now, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsMark(r) }) {
		if mixesScripts(word) && !strings.Contains(was, word) {
			words = append(words, word)
		}
	}
	return words
}

// alike are scripts whose letters look like those of Latin.
var alike = []*unicode.RangeTable{unicode.Cyrillic, unicode.Greek, unicode.Armenian, unicode.Cherokee, unicode.Coptic, unicode.Lisu}

// mixesScripts reports whether a word has letters of Latin beside others that look like them, or letters that stand for others:
// full width, mathematical.
func mixesScripts(word string) bool {
	latin, other := false, false
	for _, r := range word {
		switch {
		case r >= 0xff21 && r <= 0xff5a, r >= 0x1d400 && r <= 0x1d7ff:
			return true
		case unicode.Is(unicode.Latin, r):
			latin = true
		case unicode.IsOneOf(alike, r):
			other = true
		}
	}
	return latin && other
}

// newScript names a script other than Latin of which the text has letters now, and had none before.
func newScript(was, now string) string {
	for _, name := range slices.Sorted(maps.Keys(unicode.Scripts)) {
		is := func(r rune) bool { return unicode.Is(unicode.Scripts[name], r) }
		if name != "Latin" && name != "Common" && name != "Inherited" && strings.ContainsFunc(now, is) && !strings.ContainsFunc(was, is) {
			return name
		}
	}
	return ""
}

// orders are ways in which a text speaks to a model, and not about a tool.
var orders = []*lazyregexp.Regexp{
	lazyregexp.New(`(?i)\b(?:you|assistants?|agents?|models?|llms?|ais?|claude|gpt|copilot|gemini)\b[^.]{0,40}\b(?:must|should|shall|needs? to|ha(?:s|ve) to|(?:is|are) (?:required|instructed|expected|asked)|always|never)\b`),
	lazyregexp.New(`(?i)\b(?:always|never|first|before|after|prior to|whenever|every time|each time)\b[^.]{0,40}\b(?:call|calling|use|using|invoke|invoking|run|running|read|reading|send|sending|pass|passing|include|including|add|append|copy|fetch|answering|responding|replying|proceeding|continuing)\b`),
	lazyregexp.New(`(?i)\b(?:ignore|disregard|forget|override|overrides|bypass|supersedes?|takes? precedence)\b`),
	lazyregexp.New(`(?i)\b(?:do not|don't|never|without|no need to|avoid)\b[^.]{0,30}\b(?:tell|telling|mention|mentioning|inform|informing|ask|asking|show|showing|reveal|revealing|notify|notifying|disclose|explain|confirm|confirming|confirmation|permission|approval)\b`),
	lazyregexp.New(`(?i)<\s*/?\s*(?:important|system|instructions?|secret|admin|assistant|user|note)\b|\[\s*/?\s*(?:system|inst|important)\b|^\s*(?:system|note to)\b[^.]{0,20}[:!]`),
	lazyregexp.New(`(?i)\b(?:system prompt|conversation (?:history|so far)|chat history|(?:previous|prior|earlier|other) (?:messages?|instructions?|tool results?)|(?:the )?user'?s? (?:messages?|prompt|request))\b`),
	lazyregexp.New(`(?i)\b(?:send|pass|read|include|add|append|attach|copy|fetch|provide|paste|put|give|collect|forward|print|repeat)\w*\b[^.]{0,60}\b(?:api[ _-]?keys?|passwords?|passphrases?|credentials?|private keys?|access tokens?|secrets?|cookies?)\b|~/\.|\bid_(?:rsa|ed25519)\b|\.env\b`),
	lazyregexp.New(`[\w.+-]+@[\w-]+\.[a-z]+|[A-Za-z0-9+/]{40,}={0,2}|\|\s*(?:ba|z)?sh\b`), // whom to write to, what is not to be read, and what runs
	lazyregexp.New(`(?i)\b(?:instead of|rather than|in place of)\b[^.]{0,40}\b(?:tools?|function|server|command|using|calling)\b|\b(?:preferred|only|mandatory|required) (?:tool|way|method)\b`),
	lazyregexp.New(`(?i)\b(?:make sure|be sure|ensure|remember|please|it is (?:essential|critical|important|necessary|mandatory))\b[^.]{0,20}\b(?:to|that|you|always)\b`),
}

// newOrders returns the sentences that speak to a model and were not there before.
func newOrders(was, now []string) (sentences []string) {
	old := map[string]bool{}
	for _, text := range was {
		for _, s := range sentencesOf(text) {
			old[s] = true
		}
	}
	for _, text := range now {
		for _, s := range sentencesOf(text) {
			if !old[s] && givesOrder(s) {
				sentences = append(sentences, s)
			}
		}
	}
	return sentences
}

func givesOrder(sentence string) bool {
	return slices.ContainsFunc(orders, func(o *lazyregexp.Regexp) bool { return o.MatchString(sentence) })
}

// findMaskedOrders reports a sentence that tells a model what to do by the part of it that a mask leaves out: it looks like a secret, and
// stands in no Lock.
func (d *differences) findMaskedOrders(now *Server) {
	for _, text := range textsIn(now.whole[Thing{d.of, d.name}]) {
		for _, s := range sentencesOf(text) {
			if masked := now.mask.text(s); masked != s && givesOrder(s) && !givesOrder(masked) {
				d.grow("its text tells a model what to do in what looks like a secret: %s", quoteAll([]string{s}))
				return
			}
		}
	}
}

// sentencesOf splits a text; blanks within a sentence are one blank, and so is the end of a line. An empty line ends a sentence.
func sentencesOf(text string) (sentences []string) {
	start := 0
	end := func(at, next int) {
		if s := strings.Join(strings.Fields(text[start:at]), " "); s != "" {
			sentences = append(sentences, s)
		}
		start = next
	}
	for i, r := range text {
		switch {
		case strings.HasPrefix(text[i:], "\n\n"), strings.ContainsRune(".!?", r) && (i+1 == len(text) || unicode.IsSpace(rune(text[i+1]))):
			end(i, i+1)
		}
	}
	end(len(text), len(text))
	return sentences
}
