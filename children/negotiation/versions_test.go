package negotiation_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"mcphub/children/link"
	"mcphub/children/negotiation"
	"mcphub/internal/jsonrpc"
)

// A server is a ChildConnection to one that answers initialize as answer says, and takes no other
// request.
type server struct {
	link.ChildConnection
	answer   func(version string) (*jsonrpc.Response, error)
	proposed []string
}

func (s *server) Call(_ context.Context, method string, params ...[]byte) (*jsonrpc.Response, error) {
	if method != "initialize" {
		return nil, errors.New("sent " + method)
	}
	version, _ := jsonrpc.String(jsonrpc.Get(bytes.Join(params, nil), "protocolVersion"))
	s.proposed = append(s.proposed, version)
	return s.answer(version)
}

func (s *server) Notify(context.Context, string, ...[]byte) error { return nil }

func refusal(e jsonrpc.Error) (*jsonrpc.Response, error) {
	return &jsonrpc.Response{Error: e.Raw()}, nil
}

func status(code int, text string) (*jsonrpc.Response, error) {
	return nil, &link.StatusError{Code: code, Text: text}
}

// TestVersionThatIsRefused: a server that refuses the newest version is asked for the ones
// that it names, then for the older ones, as long as what it says may be about the version.
func TestVersionThatIsRefused(t *testing.T) {
	t.Parallel()
	const all = "2025-11-25 2025-06-18 2025-03-26 2024-11-05"
	for name, test := range map[string]struct {
		refuse   func(version string) (*jsonrpc.Response, error)
		speaks   string // the versions that it takes
		child    negotiation.Child
		proposed string // to it, in order
		agreed   string // "": the last of them
		fails    string
	}{
		"it refuses none": {
			speaks: all, proposed: "2025-11-25",
		},
		"it names what it has": {
			refuse: func(string) (*jsonrpc.Response, error) {
				return refusal(jsonrpc.Error{Code: -32602, Message: "Unsupported protocol version", Data: []byte(`{"supported":["2024-11-05"],"requested":"2025-11-25"}`)})
			},
			speaks: "2024-11-05", proposed: "2025-11-25 2024-11-05",
		},
		"it names what it has in its text, of which one is newer": {
			refuse: func(string) (*jsonrpc.Response, error) {
				return status(400, "Bad Request: Unsupported protocol version (supported versions: 2025-03-26, 2024-11-05, 2099-01-01)")
			},
			speaks: "2025-03-26", proposed: "2025-11-25 2025-03-26",
		},
		"it names nothing": {
			refuse: func(string) (*jsonrpc.Response, error) {
				return refusal(jsonrpc.Error{Code: -32000, Message: "Server error"})
			},
			speaks: "2025-03-26", proposed: "2025-11-25 2025-06-18 2025-03-26",
		},
		"what it names is refused as well": {
			refuse: func(version string) (*jsonrpc.Response, error) {
				return refusal(jsonrpc.Error{Code: -32602, Message: "want 2025-03-26, not " + version})
			},
			speaks: "2024-11-05", proposed: "2025-11-25 2025-03-26 2025-06-18 2024-11-05",
		},
		"it refuses all": {
			refuse: func(version string) (*jsonrpc.Response, error) { return status(422, "cannot read "+version) },
			speaks: "", proposed: all, fails: "cannot read 2025-11-25",
		},
		"it answers with a version that nobody knows": {
			refuse: func(string) (*jsonrpc.Response, error) {
				return &jsonrpc.Response{Result: []byte(`{"protocolVersion":"2025-01-01","capabilities":{},"serverInfo":{"name":"s","version":"1"}}`)}, nil
			},
			speaks: "2025-03-26", proposed: "2025-11-25 2025-06-18 2025-03-26",
		},
		"it answers with a version that has no handshake": {
			refuse: func(string) (*jsonrpc.Response, error) {
				return &jsonrpc.Response{Result: []byte(`{"protocolVersion":"2026-07-28","capabilities":{},"serverInfo":{"name":"s","version":"1"}}`)}, nil
			},
			proposed: "2025-11-25", fails: "2026-07-28",
		},
		"it has no handshake": {
			refuse: func(string) (*jsonrpc.Response, error) {
				return refusal(jsonrpc.Error{Code: -32601, Message: "Method not found"})
			},
			proposed: "2025-11-25", fails: "Method not found",
		},
		"it names only what has no handshake": {
			refuse: func(string) (*jsonrpc.Response, error) {
				return refusal(jsonrpc.Error{Code: -32022, Message: "unsupported", Data: []byte(`{"supported":["2026-07-28"]}`)})
			},
			proposed: "2025-11-25", fails: "unsupported",
		},
		"it asks for a login": {
			refuse: func(string) (*jsonrpc.Response, error) {
				return nil, &link.StatusError{Code: 400, Advice: "log in"}
			},
			proposed: "2025-11-25", fails: "400",
		},
		"it is not there": {
			refuse:   func(string) (*jsonrpc.Response, error) { return status(503, "") },
			proposed: "2025-11-25", fails: "503",
		},
		"it ends": {
			refuse: func(string) (*jsonrpc.Response, error) {
				return nil, &jsonrpc.ClosedError{Reason: errors.New("gone")}
			},
			proposed: "2025-11-25", fails: "gone",
		},
		"an older one is remembered": {
			speaks: all, child: negotiation.Child{Protocol: "2025-03-26"}, proposed: "2025-03-26",
		},
		"an older one is remembered, and the server has changed": {
			refuse: func(string) (*jsonrpc.Response, error) { return refusal(jsonrpc.Error{Code: -32000, Message: "no"}) },
			speaks: "2025-11-25", child: negotiation.Child{Protocol: "2025-03-26"}, proposed: "2025-03-26 2025-11-25",
		},
		"one is pinned": {
			refuse: func(string) (*jsonrpc.Response, error) { return refusal(jsonrpc.Error{Code: -32000, Message: "no"}) },
			speaks: "2025-11-25", child: negotiation.Child{Protocol: "2025-03-26", Pinned: true}, proposed: "2025-03-26", fails: "no",
		},
		"one is pinned, and it answers with another": {
			refuse: func(string) (*jsonrpc.Response, error) {
				return &jsonrpc.Response{Result: []byte(`{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}`)}, nil
			},
			child: negotiation.Child{Protocol: "2025-03-26", Pinned: true}, proposed: "2025-03-26", fails: "names 2025-03-26",
		},
		"it answers with another": {
			refuse: func(string) (*jsonrpc.Response, error) {
				return &jsonrpc.Response{Result: []byte(`{"protocolVersion":"2025-03-26","capabilities":{},"serverInfo":{"name":"s","version":"1"}}`)}, nil
			},
			proposed: "2025-11-25", agreed: "2025-03-26",
		},
		"it answers with two versions, of which one is in other letters": {
			refuse: func(string) (*jsonrpc.Response, error) {
				return &jsonrpc.Response{Result: []byte(`{"protocolVersion":"2026-07-28","PROTOCOLVERSION":"2025-03-26","capabilities":{},"serverInfo":{"name":"s","version":"1"}}`)}, nil
			},
			proposed: "2025-11-25", fails: "2026-07-28",
		},
		"it answers with the oldest": {
			refuse: func(string) (*jsonrpc.Response, error) {
				return &jsonrpc.Response{Result: []byte(`{"protocolVersion":"2024-10-07","capabilities":{},"serverInfo":{"name":"s","version":"1"}}`)}, nil
			},
			proposed: "2025-11-25", agreed: "2024-10-07",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &server{}
			s.answer = func(version string) (*jsonrpc.Response, error) {
				if !slices.Contains(strings.Fields(test.speaks), version) {
					return test.refuse(version)
				}
				return &jsonrpc.Response{Result: []byte(`{"protocolVersion":"` + version + `","capabilities":{},"serverInfo":{"name":"s","version":"1"}}`)}, nil
			}
			c := test.child
			c.Link, c.Shown = s, func() []byte { return []byte(`{}`) }
			o, err := negotiation.Start(t.Context(), c)
			if got := strings.Join(s.proposed, " "); got != test.proposed {
				t.Errorf("proposed %s, want %s", got, test.proposed)
			}
			last := s.proposed[len(s.proposed)-1]
			switch {
			case test.fails != "":
				if err == nil || !strings.Contains(err.Error(), test.fails) {
					t.Errorf("%v, want %q", err, test.fails)
				}
			case err != nil:
				t.Error(err)
			case o.Protocol != cmp.Or(test.agreed, last) || o.Proposed != last && (o.Proposed != "" || last != "2025-11-25"):
				t.Errorf("agreed on %s by proposing %q, want %s", o.Protocol, o.Proposed, last)
			}
		})
	}
}
