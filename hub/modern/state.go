package modern

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"hash"
	"slices"
	"strings"
	"time"

	"mcphub/hub/seal"
	"mcphub/internal/jsonrpc"
)

// This file makes and reads requestState, which a request that was answered with a
// question is bound by (2026-07-28, basic/patterns/mrtr). It goes through the
// client, so it is sealed.

// What a requestState is for; the first byte of what is sealed.
const (
	stateRoots     = 'r' // the roots were asked for; nothing else is known of the request
	stateSuspended = 'p' // the request is suspended here: its id, another one each time, then @ and the Node
	stateChild     = 'c' // a child asked: its name, and its own requestState
)

const purposeState = "requestState"

// stateSubject returns what a requestState is bound to: the same request of the
// same principal. All of a request counts but _meta, which differs each time, and
// what the retry adds.
func (s *Server) stateSubject(m *jsonrpc.Message) []byte {
	h := sha256.New()
	hashField(h, 's', []byte(s.options.Bearer))
	hashField(h, 'm', []byte(m.Method))
	members := slices.DeleteFunc(slices.Clone(m.Members), func(mb jsonrpc.Member) bool {
		return mb.Name == "_meta" || mb.Name == MemberResponses || mb.Name == MemberState
	})
	digestMembers(h, members)
	return h.Sum(nil)
}

func hashField(h hash.Hash, kind byte, b []byte) {
	var head [9]byte
	head[0] = kind
	binary.BigEndian.PutUint64(head[1:], uint64(len(b)))
	h.Write(head[:])
	h.Write(b)
}

// digestMembers hashes an object: order, blanks and escapes do not count, for a
// client may write its request again. Numbers count as they are spelled.
func digestMembers(h hash.Hash, members []jsonrpc.Member) {
	slices.SortStableFunc(members, func(a, b jsonrpc.Member) int { return strings.Compare(a.Name, b.Name) })
	hashField(h, '{', binary.BigEndian.AppendUint64(nil, uint64(len(members))))
	for _, mb := range members {
		hashField(h, 'k', []byte(mb.Name))
		digestValue(h, mb.Value)
	}
}

func digestValue(h hash.Hash, raw []byte) {
	switch {
	case len(raw) > 0 && raw[0] == '{':
		var members []jsonrpc.Member
		_ = jsonrpc.Members(raw, func(name string, value []byte) bool {
			members = append(members, jsonrpc.Member{Name: name, Value: value})
			return true
		})
		digestMembers(h, members)
	case len(raw) > 0 && raw[0] == '[':
		n := uint64(0)
		hashField(h, '[', nil)
		_ = jsonrpc.Elements(raw, func(value []byte) bool {
			n++
			digestValue(h, value)
			return true
		})
		hashField(h, ']', binary.BigEndian.AppendUint64(nil, n))
	case len(raw) > 0 && raw[0] == '"':
		if text, ok := jsonrpc.String(raw); ok {
			hashField(h, '"', []byte(text))
			return
		}
		hashField(h, '?', raw) // lone surrogates: as they are spelled
	default:
		hashField(h, '0', raw)
	}
}

// sealState makes a requestState that lives for StateTime.
func (s *Server) sealState(subject []byte, kind byte, payload []byte) (string, error) {
	return s.options.Seal.Seal(purposeState, subject, time.Now().Add(StateTime), append([]byte{kind}, payload...))
}

// StateTime is how long a client may take to answer what a request was asked.
const StateTime = 10 * time.Minute

// openState reads a requestState; the answer is why it is refused.
func (s *Server) openState(subject []byte, m *jsonrpc.Message) (kind byte, payload []byte, refusal jsonrpc.Answer) {
	token, ok := jsonrpc.String(m.Param(MemberState))
	if !ok {
		return 0, nil, jsonrpc.RefuseParams("requestState is to be the string that was given, at /params/requestState")
	}
	raw, err := s.options.Seal.Open(purposeState, subject, time.Now(), token)
	switch {
	case errors.Is(err, seal.ErrExpired):
		return 0, nil, refuseState("it was given out too long ago")
	case err != nil || len(raw) == 0:
		return 0, nil, refuseState("it was not given out for this request, or was altered")
	}
	return raw[0], raw[1:], jsonrpc.Answer{}
}

// OtherNode names the other hub of the same Seal at which the call is suspended that a request goes on with, and returns with what this hub
// refuses the request; "" if there is none.
func (s *Server) OtherNode(m *jsonrpc.Message) (node string, refusal jsonrpc.Answer) {
	if m.Param(MemberState) == nil {
		return "", refusal
	}
	request, err := StripHopMembers(m)
	if err != nil {
		return "", refusal
	}
	kind, payload, wrong := s.openState(s.stateSubject(request), m)
	if _, node, _ := strings.Cut(string(payload), "@"); wrong.Error == nil && kind == stateSuspended && node != s.options.Node {
		return node, refuseElsewhere()
	}
	return "", refusal
}

func refuseElsewhere() jsonrpc.Answer { return refuseState("its call waits at another hub") }

func refuseState(why string) jsonrpc.Answer {
	return jsonrpc.RefuseParams("the requestState is refused: " + why + "; send the request again without it")
}
