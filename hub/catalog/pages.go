package catalog

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"strconv"
	"strings"

	"mcphub/hub/texts"
	"mcphub/internal/jsonrpc"
)

// Bounds of one page: so many entries, or so many bytes.
const (
	pageEntries = 1000
	pageBytes   = 4 << 20
)

// Pages are the results of a list, one after the other.
type Pages struct {
	Digest  string // of everything on them: a cursor belongs to a list with this one
	results [][]byte
}

// renderPages renders pages. A cursor is opaque and belongs to exactly this list.
func renderPages(member string, defs [][]byte) *Pages {
	sum := sha256.New()
	for _, d := range defs {
		sum.Write(strconv.AppendInt(nil, int64(len(d)), 10))
		sum.Write(d)
	}
	p := &Pages{Digest: hex.EncodeToString(sum.Sum(nil)[:8])}
	for at := 0; ; {
		b := append([]byte(`{"`), member...)
		b = append(b, `":[`...)
		from := at
		for ; at < len(defs) && at-from < pageEntries && (at == from || len(b)+len(defs[at]) <= pageBytes); at++ {
			if at > from {
				b = append(b, ',')
			}
			b = append(b, defs[at]...)
		}
		b = append(b, ']')
		if at < len(defs) {
			b = jsonrpc.AppendString(append(b, `,"nextCursor":`...), p.pageCursor(len(p.results)+1))
		}
		p.results = append(p.results, append(b, '}'))
		if at >= len(defs) {
			return p
		}
	}
}

func (p *Pages) pageCursor(page int) string {
	return base64.RawURLEncoding.EncodeToString([]byte(p.Digest + "." + strconv.Itoa(page)))
}

// At answers a request for a page; a cursor of another list, or of none, is an
// error (2025-11-25, Pagination).
func (p *Pages) At(cursor []byte) jsonrpc.Answer {
	if cursor == nil || string(cursor) == "null" {
		return jsonrpc.ResultAnswer(p.results[0])
	}
	text, _ := jsonrpc.String(cursor)
	raw, _ := base64.RawURLEncoding.DecodeString(text)
	digest, number, _ := strings.Cut(string(raw), ".")
	page, err := strconv.Atoi(number)
	switch {
	case err != nil || page < 1 || page >= len(p.results) && digest == p.Digest:
		return jsonrpc.RefuseParams(texts.UnknownCursor)
	case digest != p.Digest:
		return jsonrpc.RefuseParams(texts.ListChanged)
	}
	return jsonrpc.ResultAnswer(p.results[page])
}
