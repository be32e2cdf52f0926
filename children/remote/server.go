package remote

import (
	"errors"
	"fmt"
	"net/url"

	"github.com/rs/zerolog"

	"mcphub/children/link"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/trust"
)

// Transport is how a server with a URL is spoken to.
type Transport string

// The transports over HTTP.
const (
	HTTP Transport = "http" // Streamable HTTP
	SSE  Transport = "sse"  // HTTP with SSE, 2024-11-05
)

// A Server is one that is reached over HTTP.
type Server struct {
	URL        string
	Headers    map[string]string // sent with each request
	Login      Login             // gives the tokens of requests; nil: they carry none but Headers'
	Supply     Supply            // gives more headers, which count for more than Headers
	TLS        trust.Settings    // of an https URL
	Transport  Transport         // "": Streamable HTTP, and the older SSE if the server knows only that
	FrameLimit int               // bytes of one message of the server
	IDLimit    int               // bytes of the id of a request of the server
}

// Open prepares the connection; nothing is sent before the first Call. h serves
// what the server sends, not before Run.
func Open(s Server, h jsonrpc.Handler, log zerolog.Logger) (link.ChildConnection, error) {
	u, err := url.Parse(s.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, errors.New("url: it is no http or https address") // not quoted: it may hold a secret
	}
	secured, err := s.TLS.Server(u.Hostname(), func(text string) { log.Warn().Msg(text) })
	if err != nil {
		return nil, fmt.Errorf("tls: %w", err)
	}
	w := newWire(u, s, secured, h, log)
	if s.Transport == SSE {
		return newSSEConnection(w), nil
	}
	return newHTTPConnection(w, s.Transport == ""), nil
}
