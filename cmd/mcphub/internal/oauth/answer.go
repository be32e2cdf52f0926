package oauth

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// byteOrder is the mark that some programs write before JSON, and that browsers pass over.
const byteOrder = "\ufeff"

// decodeObject reads a JSON object. why is the reason why there is none; "" if there is one.
func decodeObject(r io.Reader, into any) (why string, err error) {
	text, err := io.ReadAll(r)
	if err != nil {
		return "", err
	}
	err = json.Unmarshal(bytes.TrimPrefix(text, []byte(byteOrder)), into)
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && wrong.Field != "" {
		return fmt.Sprintf("answers with a %s as %q", wrong.Value, wrong.Field), nil
	}
	if err != nil {
		return "answers with something else than a JSON object", nil
	}
	return "", nil
}

// A jsonTransport sends requests for tokens, and makes their answers readable for golang.org/x/oauth2. Official clients
// read JSON whatever type it is sent as, and a number of seconds with a fraction or in a string.
type jsonTransport struct{ http.RoundTripper }

// RoundTrip sends one request, and again with the secret of the client written otherwise, if it is not known as it was.
func (t jsonTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.Header.Set("Accept", "application/json") // some answer with a form otherwise
	resp, members, err := t.sendRequest(req)
	if err != nil || resp.StatusCode != http.StatusUnauthorized || string(members["error"]) != `"invalid_client"` || req.GetBody == nil {
		return resp, err
	}
	// The id and the secret are encoded in the header, as RFC 6749 has it. Official clients send them as they are, so there are
	// servers that decode nothing. A server that does not know the client has not used up what it asks for.
	id, secret, _ := req.BasicAuth()
	plainID, err1 := url.QueryUnescape(id)
	plainSecret, err2 := url.QueryUnescape(secret)
	if err1 != nil || err2 != nil || plainID == id && plainSecret == secret {
		return resp, nil
	}
	if req.Body, err = req.GetBody(); err != nil {
		return nil, err
	}
	req.SetBasicAuth(plainID, plainSecret)
	resp, _, err = t.sendRequest(req)
	return resp, err
}

// sendRequest sends one request. members are the members of the answer; none if it is no JSON object.
func (t jsonTransport) sendRequest(req *http.Request) (resp *http.Response, members map[string]json.RawMessage, err error) {
	resp, err = t.RoundTripper.RoundTrip(req)
	if err != nil {
		return nil, nil, err
	}
	text, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if err != nil {
		return nil, nil, err
	}
	if json.Unmarshal(bytes.TrimPrefix(text, []byte(byteOrder)), &members) == nil && members != nil {
		for _, name := range []string{"expires_in", "interval"} {
			if value, ok := members[name]; ok {
				setSeconds(members, name, value)
			}
		}
		if text, err = json.Marshal(members); err != nil {
			return nil, nil, err
		}
		resp.Header.Set("Content-Type", "application/json")
	}
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
	return resp, members, nil
}

// setSeconds writes a time as a whole number of at least one. It leaves the member out if the number is smaller: the time is
// not known then. A value that is no number stays, and the reader refuses it.
func setSeconds(members map[string]json.RawMessage, name string, value json.RawMessage) {
	switch n, ok := readSeconds(value); {
	case !ok:
	case n < 1:
		delete(members, name)
	default:
		members[name] = strconv.AppendInt(nil, min(n, math.MaxInt32), 10)
	}
}

// readSeconds reads a number of seconds and rounds it down. ok is false if the value is no number. null, an empty text and a
// number below zero are 0.
func readSeconds(value json.RawMessage) (n int64, ok bool) {
	text := string(value)
	if len(value) > 0 && value[0] == '"' && json.Unmarshal(value, &text) != nil {
		return 0, false
	}
	if text = strings.TrimSpace(text); text == "" || text == "null" {
		return 0, true
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(f) {
		return 0, false
	}
	const most = 1 << 50 // all of them are exact
	return int64(max(0, min(f, most))), true
}
