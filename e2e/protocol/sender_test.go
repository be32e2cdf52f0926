package protocol

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"

	"mcphub/e2e/ide"
	"mcphub/e2e/world"
)

// sender sends requests to the recorder and returns its answers.
type sender interface {
	prefix() string // of the recorder's tools
	// request sends one and gives what came for it: progress, then the answer.
	request(id, method, params string) ([]ide.Message, error)
	// converse is request, and answers what the server asks meanwhile.
	converse(id, method, params string, reply answers) ([]ide.Message, error)
}

// answers gives the member of an envelope that answers a question.
type answers func(method string, params []byte) string

// canBeAsked are the capabilities of a client that answers every question.
const canBeAsked = `{"sampling":{},"elicitation":{}}`

// lines carries over stdio.
type lines struct {
	*world.Session
	names   string
	replies *atomic.Pointer[answers]
}

func (l *lines) prefix() string { return l.names }

func (l *lines) request(id, method, params string) ([]ide.Message, error) {
	from := len(l.Messages())
	if err := l.RequestAs(id, method, params); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), world.WaitLimit)
	defer cancel()
	if _, err := l.Answer(ctx, id); err != nil {
		return nil, err
	}
	var got []ide.Message
	for _, m := range l.Messages()[from:] {
		if m.Method == "notifications/progress" || m.IsAnswer() {
			got = append(got, m)
		}
	}
	return got, nil
}

func (l *lines) converse(id, method, params string, reply answers) ([]ide.Message, error) {
	l.replies.Store(&reply)
	return l.request(id, method, params)
}

// talking opens a session over stdio that answers what it is asked as converse says.
func talking(w *world.World, config, names string) *lines {
	w.T.Helper()
	l := &lines{names: names, replies: &atomic.Pointer[answers]{}}
	l.Session = w.Start(ide.Options{Command: world.Hub(w.T), Args: []string{"serve", "--config", config}, Capabilities: canBeAsked,
		Answer: func(method string, params []byte) *ide.Answer {
			reply := l.replies.Load()
			if reply == nil {
				return &ide.Answer{Error: `{"code":-32601,"message":"not now"}`}
			}
			said := (*reply)(method, params)
			if result, ok := strings.CutPrefix(said, `"result":`); ok {
				return &ide.Answer{Result: result}
			}
			return &ide.Answer{Error: strings.TrimPrefix(said, `"error":`)}
		}})
	l.Odd = true // what is passed on is drawn at random
	l.Handshake()
	l.AwaitTool(names + "say")
	return l
}

// web starts a hub over HTTP in front of a recorder and gives its address.
func web(w *world.World) string {
	w.T.Helper()
	return w.Listen("front", world.Hub(w.T), "serve", "--http", "127.0.0.1:0", "--config",
		w.Write("front.json", world.Raw(w.T, obj{"mcpServers": obj{"rec": w.Recorder("rec", "-offers")}})))
}

// posts carries over HTTP.
type posts struct {
	url, names, session string
	client              *http.Client
}

func postsTo(w *world.World, url, names string) *posts {
	w.T.Helper()
	p := &posts{url: url, names: names, client: &http.Client{Transport: world.Given{Transport: &http.Transport{}}, Timeout: world.WaitLimit}}
	w.T.Cleanup(p.client.CloseIdleConnections)
	_, err := p.request("0", "initialize", `{"protocolVersion":"2025-11-25","capabilities":`+canBeAsked+`,"clientInfo":{"name":"posts","version":"1"}}`)
	world.Must(w.T, err)
	resp, err := p.post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	world.Must(w.T, err)
	world.Must(w.T, resp.Body.Close())
	// A call that has a token and waits for its server is told so: no call of the test may be the first.
	_, err = p.request("1", "tools/call", `{"name":"`+names+`echo","arguments":{"text":"the child is up"}}`)
	world.Must(w.T, err)
	return p
}

func (p *posts) prefix() string { return p.names }

func (p *posts) post(line string) (*http.Response, error) {
	req, err := http.NewRequest(http.MethodPost, p.url, strings.NewReader(line))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if p.session != "" {
		req.Header.Set("Mcp-Session-Id", p.session)
		req.Header.Set("Mcp-Protocol-Version", "2025-11-25")
	}
	resp, err := p.client.Do(req)
	if err == nil && p.session == "" {
		p.session = resp.Header.Get("Mcp-Session-Id")
	}
	return resp, err
}

func (p *posts) request(id, method, params string) ([]ide.Message, error) {
	return p.converse(id, method, params, nil)
}

func (p *posts) converse(id, method, params string, reply answers) ([]ide.Message, error) {
	resp, err := p.post(`{"jsonrpc":"2.0","id":` + id + `,"method":` + strconv.Quote(method) + `,"params":` + params + `}`)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	var got []ide.Message
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		for s := bufio.NewReader(resp.Body); err == nil; {
			var line string
			line, err = s.ReadString('\n')
			data, ok := strings.CutPrefix(strings.TrimRight(line, "\r\n"), "data: ")
			if !ok || data == "" {
				continue
			}
			m := ide.Parse([]byte(data))
			if !m.IsRequest() || reply == nil {
				got = append(got, m)
				continue
			}
			said, e := p.post(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,` + reply(m.Method, m.Params) + `}`)
			if e != nil {
				return nil, e
			}
			if said.Body.Close(); said.StatusCode != http.StatusAccepted {
				return nil, fmt.Errorf("an answer: status %d", said.StatusCode)
			}
		}
	} else {
		var body []byte
		body, err = io.ReadAll(resp.Body)
		got = append(got, ide.Parse(bytes.TrimSpace(body)))
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if len(got) == 0 || !got[len(got)-1].IsAnswer() {
		return nil, fmt.Errorf("status %d and no answer at the end of %d messages", resp.StatusCode, len(got))
	}
	return got, nil
}
