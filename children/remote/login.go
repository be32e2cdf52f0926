package remote

import (
	"context"
	"net/http"
)

// A Login gives the tokens of requests to a server. It is used by many goroutines.
type Login interface {
	// Token returns the token of the next request; "" sends it without. If there is advice for a person, the request must not be
	// sent.
	Token(ctx context.Context) (token, advice string)
	// Refused learns that the server answered a request that carried the token used, or
	// "", with this status, 401 or 403. It returns another token, with which the request
	// is sent again; else advice for a person. Both may be "". logIn: the advice is to log
	// in.
	Refused(ctx context.Context, used string, status int, header http.Header) (token, advice string, logIn bool)
}

// maxTries is how often one request is sent: without a token, with one that was at
// hand, with one that is new.
const maxTries = 3

// refusesAll is the advice if a server refuses what its authorization server gives.
const refusesAll = "it refuses the token of the login, and new ones too: they are for another server, or the account may not use this one"

// loggedIn adds tokens to requests.
type loggedIn struct {
	login Login
	next  http.RoundTripper
}

// RoundTrip sends one request, again if the server refuses it and there is another
// token. Redirects are followed only to where the token may go: see redirected.
func (login *loggedIn) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx := r.Context()
	if r.Header.Get("Authorization") != "" { // by a Supply, whose business it is then
		return login.next.RoundTrip(r)
	}
	token, why := login.login.Token(ctx)
	if why != "" {
		return refuseUnsent(r, why), nil
	}
	for try := 1; ; try++ {
		resp, err := login.next.RoundTrip(withToken(r, token))
		if err != nil || resp.StatusCode != http.StatusUnauthorized && resp.StatusCode != http.StatusForbidden {
			return resp, err
		}
		next, text, logIn := login.login.Refused(ctx, token, resp.StatusCode, resp.Header)
		if next != "" && try == maxTries {
			text, logIn = refusesAll, false
		}
		if next == "" || try == maxTries {
			return addAdvice(resp, r, advice{text: text, logIn: logIn}), nil
		}
		if r.GetBody != nil {
			body, err := r.GetBody()
			if err != nil {
				return resp, nil
			}
			r = r.Clone(ctx)
			r.Body = body
		}
		drainRest(resp.Body)
		token = next
	}
}

func withToken(r *http.Request, token string) *http.Request {
	if token == "" {
		return r
	}
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+token)
	return r
}

// refuseUnsent answers a request that is not sent as the server would if it came without a token.
func refuseUnsent(r *http.Request, why string) *http.Response {
	if r.Body != nil {
		_ = r.Body.Close() // as who sends it does
	}
	resp := &http.Response{StatusCode: http.StatusUnauthorized, ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{}, Body: http.NoBody}
	return addAdvice(resp, r, advice{text: why, unsent: true})
}

type adviceKey struct{}

// advice is what a Login says about an answer.
type advice struct {
	text   string
	logIn  bool
	unsent bool // there is no answer: the request was not sent
}

// adviceOn returns what a Login said of an answer; the zero advice if it said nothing.
func adviceOn(resp *http.Response) advice {
	if resp.Request == nil {
		return advice{}
	}
	a, _ := resp.Request.Context().Value(adviceKey{}).(advice)
	return a
}
