package results

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"mcphub/internal/jsonrpc"
)

// This file reads a raw result of tools/call, and puts one together of what is left of it.

// resourceLinkVersion is the first version of the protocol that has resource_link.
const resourceLinkVersion = "2025-06-18"

// A block is one element of content.
type block struct {
	raw  []byte
	at   []byte // the JSON string of its text, a part of raw; nil: it has no text
	text string
	from int // where its text begins in the result's
}

// A result is what a tool has answered.
type result struct {
	blocks     []block
	structured []byte           // structuredContent, raw; nil: none
	others     []jsonrpc.Member // but for content
	text       string           // of all blocks
}

// Cut returns an answer to tools/call as a client is to have it that takes no more than max bytes of text: a itself if that is so, or if
// max is 0. protocol is the version that the client speaks; by resource_link it is told about the whole if it knows that. of.Withheld
// is asked each time someone reads that; of is nil if nothing withholds it. The memory of a is released where another answer takes its place.
func (s *Store) Cut(a jsonrpc.Answer, max int, protocol string, of *Origin) jsonrpc.Answer {
	if max <= 0 || len(a.Result) <= max {
		return a
	}
	r := readResult(a.Result)
	cutsText := len(r.text) > max
	if !cutsText && len(r.structured) <= max {
		return a
	}
	var texts []string
	if cutsText {
		texts = append(texts, r.text)
	}
	if r.structured != nil {
		texts = append(texts, string(r.structured))
	}
	kept, ok := s.keepTexts(max, of, texts...)
	if !ok {
		return a
	}
	links := make([][]byte, 0, 2)
	var content [][]byte
	if cutsText {
		c := cutText(r.text, max)
		content = r.shortenedContent(c, s.cutNotice(r.text, c, kept[0]))
		links = append(links, kept[0].linkBlock("whole result"))
		kept = kept[1:]
	} else {
		for i := range r.blocks {
			content = append(content, r.blocks[i].raw)
		}
	}
	if r.structured != nil {
		content = append(content, textBlock(s.omissionNotice(kept[0])))
		links = append(links, kept[0].linkBlock("structuredContent"))
	}
	if protocol >= resourceLinkVersion {
		content = append(content, links...)
	}
	out := jsonrpc.Answer{Result: r.withContent(content)}
	a.Free()
	return out
}

// readResult reads a result, of which it looks at each byte as seldom as can be.
func readResult(raw []byte) (r result) {
	var content []byte
	_ = jsonrpc.Members(raw, func(name string, value []byte) bool {
		switch name {
		case "content":
			content = value
		case "structuredContent":
			r.structured = value
		default:
			r.others = append(r.others, jsonrpc.Member{Name: name, Value: value})
		}
		return true
	})
	var texts []string
	from := 0
	if content != nil {
		_ = jsonrpc.Elements(content, func(value []byte) bool {
			b := block{raw: value, at: textOf(value)}
			if b.at != nil {
				text, _ := jsontext.AppendUnquote(nil, b.at) // half a surrogate pair becomes U+FFFD
				b.text, b.from = string(text), from
				from += len(b.text) + len(blockSeparator)
				texts = append(texts, b.text)
			}
			r.blocks = append(r.blocks, b)
			return true
		})
	}
	r.text = strings.Join(texts, blockSeparator)
	return r
}

// blockSeparator stands between the texts of two blocks.
const blockSeparator = "\n"

// textOf returns the JSON string that is the text of a block, nil for one without.
func textOf(raw []byte) (at []byte) {
	var kind, text, resource []byte
	_ = jsonrpc.Members(raw, func(name string, value []byte) bool {
		switch name {
		case "type":
			kind = value
		case "text":
			text = value
		case "resource":
			resource = value
		}
		return true
	})
	switch kind, _ := jsonrpc.String(kind); kind {
	case "text":
		at = text
	case "resource":
		at = jsonrpc.Get(resource, "text")
	}
	if len(at) == 0 || at[0] != '"' {
		return nil
	}
	return at
}

// shortenedContent returns the blocks with what is left of their text: the notice stands in the first that lacks some. Of
// the others those are left out of which nothing is left.
func (r *result) shortenedContent(c cut, notice string) (content [][]byte) {
	for i := range r.blocks {
		b := &r.blocks[i]
		end := b.from + len(b.text)
		if b.at == nil || end <= c.head || b.from >= c.tail {
			content = append(content, b.raw)
			continue
		}
		head := b.text[:max(0, c.head-b.from)]
		tail := b.text[min(len(b.text), c.tail-b.from):]
		if notice != "" && head != "" && !strings.HasSuffix(head, "\n") {
			head += "\n"
		}
		text := head + notice + tail
		notice = ""
		if text != "" {
			content = append(content, jsonrpc.Join(jsonrpc.Splice(b.raw, jsonrpc.Edit{Old: b.at, With: jsonrpc.AppendString(nil, text)})))
		}
	}
	return content
}

// withContent returns the result with other content, and without structuredContent.
func (r *result) withContent(content [][]byte) []byte {
	n := 0
	for _, c := range content {
		n += len(c) + 1
	}
	list := append(make([]byte, 0, n+2), '[')
	for i, c := range content {
		if i > 0 {
			list = append(list, ',')
		}
		list = append(list, c...)
	}
	b := jsonrpc.AppendMember(append(make([]byte, 0, n+128), '{'), "content", append(list, ']'))
	for _, m := range r.others {
		b = jsonrpc.AppendMember(b, m.Name, m.Value)
	}
	return append(b, '}')
}

// cutNotice returns what lies between the head and the tail, and its place.
func (s *Store) cutNotice(text string, c cut, w *fullText) string {
	left := text[c.head:c.tail]
	said := fmt.Sprintf("[mcphub: %d of %d bytes (%d line breaks) are left out here. ", len(left), len(text), strings.Count(left, "\n"))
	if c.note != "" {
		said += c.note + " "
	}
	return said + "The whole text is " + s.readHint(w) + "]\n"
}

// omissionNotice reports that structuredContent is left out, and its place.
func (s *Store) omissionNotice(w *fullText) string {
	return fmt.Sprintf("[mcphub: structuredContent of %d bytes is left out. It is %s]", len(w.text), s.readHint(w))
}

// readHint returns how to read a whole.
func (s *Store) readHint(w *fullText) string {
	while := "while this session lasts"
	if s.life > 0 {
		while = fmt.Sprintf("for %d minutes at most", int(s.life.Minutes()))
	}
	if len(w.pages) == 1 {
		return fmt.Sprintf("the resource %s, to be read by resources/read %s.", w.textURI(), while)
	}
	return fmt.Sprintf("the resource %s, to be read by resources/read %s, in %d pages: %s to %s%d.", w.textURI(), while, len(w.pages), w.pageURI(1), pageQuery, len(w.pages))
}

func textBlock(text string) []byte {
	return append(jsonrpc.AppendString([]byte(`{"type":"text","text":`), text), '}')
}

// linkBlock returns the block that leads to a whole.
func (w *fullText) linkBlock(name string) []byte {
	b := jsonrpc.AppendString([]byte(`{"type":"resource_link","uri":`), w.textURI())
	b = jsonrpc.AppendString(append(b, `,"name":`...), name)
	return fmt.Appendf(b, `,"mimeType":"text/plain","size":%d}`, len(w.text))
}
