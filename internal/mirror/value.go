package mirror

import (
	"encoding/base64"
	"encoding/json"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"

	"mcphub/internal/jsonrpc"
)

const (
	sentinelBegin = "=?base64?"
	sentinelEnd   = "?="
)

// Encode spells a text for a header: as it is if it can be read back as such,
// else as =?base64?...?= (Value Encoding).
func Encode(text string) string {
	if text == "" || isPlain(text) && text == strings.Trim(text, " \t") && !isEncoded(text) {
		return text
	}
	return sentinelBegin + base64.StdEncoding.EncodeToString([]byte(text)) + sentinelEnd
}

// isPlain reports whether a text has only characters that a header may have.
func isPlain(text string) bool {
	for i := range len(text) {
		if c := text[i]; (c < 0x20 || c > 0x7e) && c != '\t' {
			return false
		}
	}
	return true
}

func isEncoded(value string) bool {
	return strings.HasPrefix(value, sentinelBegin) && strings.HasSuffix(value, sentinelEnd)
}

// Decode reads the value of a header. Whatever has two readings has none; the
// reason, a phrase that follows the header's name, reports why.
func Decode(value string) (text, reason string) {
	switch {
	case !isPlain(value):
		return "", "holds a character that no header may hold; encode it as =?base64?...?="
	case !isEncoded(value):
		return value, ""
	case len(value) < len(sentinelBegin)+len(sentinelEnd):
		return "", "is neither encoded nor plain; encode it as =?base64?...?="
	}
	raw, err := base64.StdEncoding.Strict().DecodeString(value[len(sentinelBegin) : len(value)-len(sentinelEnd)])
	switch {
	case err != nil:
		return "", "is not valid Base64 between =?base64? and ?="
	case !utf8.Valid(raw):
		return "", "is not UTF-8 once decoded"
	}
	return string(raw), ""
}

// Text returns what a header says about a raw JSON value: a string, a
// boolean, or a whole number that every parser reads exactly. ok is false
// for any other.
func Text(raw []byte) (text string, ok bool) {
	if text, ok = jsonrpc.String(raw); ok {
		return text, true
	}
	if text = string(raw); text == "true" || text == "false" {
		return text, true
	}
	n, ok := wholeNumber(text)
	if !ok {
		return "", false
	}
	return strconv.FormatInt(n, 10), true
}

// Same reports whether a decoded header states what a raw JSON value is: a
// string by its characters, a number by its value, a boolean by its word.
func Same(said string, raw []byte) bool {
	text, ok := Text(raw)
	if n, number := wholeNumber(said); number && ok && raw[0] != '"' {
		said = strconv.FormatInt(n, 10)
	}
	return ok && said == text
}

// maxSafe is the largest integer that every JSON parser reads exactly.
const maxSafe = 1<<53 - 1

// wholeNumber reads a JSON number that is a whole one of that range.
func wholeNumber(text string) (int64, bool) {
	const longest = 64
	if len(text) > longest || text == "" || text[0] != '-' && (text[0] < '0' || text[0] > '9') || !json.Valid([]byte(text)) {
		return 0, false
	}
	if i := strings.IndexAny(text, "eE"); i >= 0 && len(text)-i > len("e-99") {
		return 0, false
	}
	n, ok := new(big.Rat).SetString(text)
	if !ok || !n.IsInt() || !n.Num().IsInt64() {
		return 0, false
	}
	v := n.Num().Int64()
	return v, v >= -maxSafe && v <= maxSafe
}
