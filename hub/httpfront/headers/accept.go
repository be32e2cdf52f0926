package headers

import (
	"net/http"
	"strconv"
	"strings"
)

// This file reads which kinds of answer a client takes, and which it prefers.

// usualAccept is what the SDKs send.
const usualAccept = "application/json, text/event-stream"

// Accepted returns which kinds of answer the client takes. No Accept is any.
func Accepted(h http.Header) (plain, events bool) {
	values := h["Accept"]
	if len(values) == 0 {
		return true, false
	}
	if len(values) == 1 && values[0] == usualAccept {
		return true, true
	}
	for _, v := range values {
		for _, kind := range strings.Split(v, ",") {
			kind, _, _ = strings.Cut(kind, ";")
			switch strings.ToLower(strings.TrimSpace(kind)) {
			case "application/json", "application/*":
				plain = true
			case "text/event-stream", "text/*":
				events = true
			case "*/*":
				plain, events = true, true
			}
		}
	}
	return plain, events
}

// PreferEvents reports whether the client would rather have a stream: by its
// quality values (RFC 9110, 12.4.2), or where they are equal by what it names
// first. The client then gets one from the start, which costs it a flush for
// each answer; all others get one only where something is said before the answer.
func PreferEvents(h http.Header) bool {
	best, events := 0.0, false
	for _, v := range h["Accept"] {
		if v == usualAccept {
			return false
		}
		for kind := range strings.SplitSeq(v, ",") {
			kind, params, _ := strings.Cut(kind, ";")
			kind = strings.ToLower(strings.TrimSpace(kind))
			stream := kind == "text/event-stream"
			if !stream && kind != "application/json" {
				continue
			}
			if q := qualityOf(params); q > best {
				best, events = q, stream
			}
		}
	}
	return events
}

// qualityOf returns the q of a media range, 1 if it has none that can be read.
func qualityOf(params string) float64 {
	for p := range strings.SplitSeq(params, ";") {
		name, value, _ := strings.Cut(p, "=")
		if strings.EqualFold(strings.TrimSpace(name), "q") {
			if q, err := strconv.ParseFloat(strings.TrimSpace(value), 64); err == nil {
				return q
			}
		}
	}
	return 1
}
