package call

import "mcphub/internal/jsonrpc"

// This file is about results that are too large for a client: see package results.

// shortens reports whether an answer may be too large. max is that of shorten.
func shortens(a jsonrpc.Answer, max int) bool { return max > 0 && len(a.Result) > max }

// shorten is the answer to a call of a tool as its client is to have it. max is how many bytes of text that may have, by the
// configuration that the call was judged by; 0: any number.
func (s *Sender) shorten(from Client, a jsonrpc.Answer, max int) jsonrpc.Answer {
	if !shortens(a, max) {
		return a
	}
	return s.Results.Cut(a, max, from.Claims().Protocol)
}
