package tolerance

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	mcpclient "github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	gosdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"mcphub/e2e/world"
)

// pieces are what a client gets of a server: its lists, a call of "say", the prompt "greet", and the resource "note".
var pieces = []string{"tools", "prompts", "resources", "resourceTemplates", "call", "get", "read"}

// A got is one part.
type got struct {
	Value json.RawMessage
	Error string
	Code  int
}

// A probed is what a client got of all servers of a session, or why there is no session.
type probed struct {
	Error   string
	Servers map[string]map[string]got
}

// part returns one, in one form; "" if there is an error.
func (p probed) part(key, name string) string {
	value := p.Servers[key][name].Value
	if p.Error != "" || value == nil {
		return ""
	}
	var v any
	if json.Unmarshal(value, &v) != nil {
		return string(value)
	}
	if all, ok := v.([]any); ok {
		texts := make([]string, len(all))
		for i, one := range all {
			texts[i] = canonical(one)
		}
		slices.Sort(texts)
		if len(texts) == 0 {
			return "" // which is nothing that a client could miss
		}
		return "[" + strings.Join(slices.Compact(texts), ",") + "]"
	}
	return canonical(v)
}

// why returns what is instead of a part.
func (p probed) why(key, name string) string {
	if p.Error != "" {
		return "no session: " + p.Error
	}
	return p.Servers[key][name].Error
}

func canonical(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// A visit is a session to be had with a server, or with a hub.
type visit struct {
	client  string // see callers
	limit   time.Duration
	way     obj // "url", with "headers"; or "command", "args", "env", "cwd"
	dial    func() net.Conn
	servers []visited
	until   map[string][]string // by list: what is waited for
}

// A visited is a server that is asked for its parts: its lists, and what parts names of the others.
type visited struct {
	Key    string   `json:"key"`
	Prefix string   `json:"prefix"`
	Parts  []string `json:"parts"`
}

// asked are the parts of a server that are asked for by a name.
var asked = []string{"call", "get", "read"}

// callers are the clients: the TypeScript SDK v1, v2 and v2 that begins in the era without a handshake, the Go SDK and mcp-go, which both
// begin so.
var callers = []string{"v1", "v2", "auto", "go-sdk", "mcp-go"}

// A prober makes visits: probe.mjs and clients in Go.
type prober struct{ *reader }

func startProber(w *world.World, n world.Node) prober {
	w.T.Helper()
	cmd := exec.Command(n.Program, world.Source("e2e", "tolerance", "probe.mjs"))
	cmd.Env, cmd.Stderr = w.Env(), os.Stderr
	in, out := world.Converse(w.T, cmd)
	return prober{&reader{w.T, in, bufio.NewReaderSize(out, 1<<20)}}
}

// visit makes all of these visits at once.
func (p prober) visit(all []visit) []probed {
	p.t.Helper()
	reports := make([]probed, len(all))
	var going sync.WaitGroup
	var byNode []int
	var sessions []obj
	for i, v := range all {
		if v.client == "go-sdk" || v.client == "mcp-go" {
			going.Go(func() { reports[i] = v.probe() })
			continue
		}
		s := obj{"client": v.client, "limit": v.limit.Milliseconds(), "servers": v.servers, "until": v.until}
		maps.Copy(s, v.way)
		byNode, sessions = append(byNode, i), append(sessions, s)
	}
	var said []probed
	if sessions != nil {
		p.ask(obj{"sessions": sessions}, &said)
	}
	going.Wait()
	for at, i := range byNode {
		reports[i] = said[at]
	}
	return reports
}

// A goClient is a client written in Go: what each part is.
type goClient struct {
	lists           map[string]func(ctx context.Context, cursor string) (entries []any, next string, err error)
	call, get, read func(ctx context.Context, name string) (any, error)
	close           func()
}

var spoken = obj{"text": "é \u2028 \"1\"", "n": []any{1, nil, obj{"a": 1.5}}}

// probe makes a visit by a client in Go.
func (v visit) probe() probed {
	connect := map[string]func(context.Context, visit) (*goClient, error){"go-sdk": connectGoSDK, "mcp-go": connectMCPGo}[v.client]
	starting, cancel := context.WithTimeout(context.Background(), v.limit)
	defer cancel()
	c, err := connect(starting, v)
	if err != nil {
		return probed{Error: err.Error()}
	}
	defer c.close()
	limited := func(do func(ctx context.Context) (any, error)) (g got) {
		ctx, cancel := context.WithTimeout(context.Background(), v.limit)
		defer cancel()
		value, err := do(ctx)
		if err != nil {
			g.Error = err.Error()
			if refused, ok := errors.AsType[*jsonrpc.Error](err); ok {
				g.Code = int(refused.Code)
			}
			return g
		}
		g.Value = json.RawMessage(canonical(value))
		return g
	}
	listed, end := map[string]got{}, time.Now().Add(v.limit)
	for name, list := range c.lists {
		tick := time.NewTicker(200 * time.Millisecond)
		for ; ; <-tick.C {
			listed[name] = limited(func(ctx context.Context) (any, error) { return pages(ctx, list) })
			if hasAll(listed[name].Value, v.until[name]) || time.Now().After(end) {
				break
			}
		}
		tick.Stop()
	}
	r := probed{Servers: map[string]map[string]got{}}
	var mu sync.Mutex
	var going sync.WaitGroup
	for _, s := range v.servers {
		going.Go(func() {
			all := map[string]got{}
			for name, list := range listed {
				all[name] = ofServer(list, s)
			}
			ask := map[string]func(context.Context) (any, error){
				"call": func(ctx context.Context) (any, error) { return c.call(ctx, s.Prefix+"say") },
				"get":  func(ctx context.Context) (any, error) { return c.get(ctx, s.Prefix+"greet") },
				"read": func(ctx context.Context) (any, error) { return c.read(ctx, "odd://"+s.Key+"/note") },
			}
			for _, part := range s.Parts {
				all[part] = limited(ask[part])
			}
			mu.Lock()
			defer mu.Unlock()
			r.Servers[s.Key] = all
		})
	}
	going.Wait()
	return r
}

func pages(ctx context.Context, list func(ctx context.Context, cursor string) ([]any, string, error)) (any, error) {
	all, cursor := []any{}, ""
	for range 8 {
		entries, next, err := list(ctx, cursor)
		if err != nil {
			return nil, err
		}
		if all = append(all, entries...); next == "" || next == cursor {
			break
		}
		cursor = next
	}
	return all, nil
}

func hasAll(list json.RawMessage, names []string) bool {
	var entries []json.RawMessage
	_ = json.Unmarshal(list, &entries)
	have := map[string]bool{}
	for _, entry := range entries {
		have[keyOf(entry)] = true
	}
	return !slices.ContainsFunc(names, func(name string) bool { return !have[name] })
}

// ofServer returns the entries of a list that are this server's, under its own names.
func ofServer(list got, s visited) got {
	if list.Value == nil {
		return list
	}
	var entries []obj
	if err := json.Unmarshal(list.Value, &entries); err != nil {
		return got{Error: err.Error()}
	}
	own := []obj{}
	for _, entry := range entries {
		uri, template := entry["uri"], entry["uriTemplate"]
		name, _ := entry["name"].(string)
		switch address, _ := firstOf(uri, template).(string); {
		case address == "" && strings.HasPrefix(name, s.Prefix):
			entry["name"] = strings.TrimPrefix(name, s.Prefix)
			own = append(own, entry)
		case strings.HasPrefix(address, "odd://"+s.Key+"/"):
			own = append(own, entry)
		}
	}
	return got{Value: json.RawMessage(canonical(own))}
}

func firstOf(all ...any) any {
	for _, v := range all {
		if v != nil {
			return v
		}
	}
	return nil
}

func anys[T any](all []T) (out []any) {
	for _, v := range all {
		out = append(out, v)
	}
	return out
}

// bearer sends these headers with each request.
type bearer struct {
	*http.Transport
	headers obj
}

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	for name, value := range b.headers {
		r.Header.Set(name, value.(string))
	}
	return b.Transport.RoundTrip(r)
}

func (v visit) web() (url string, client *http.Client, is bool) {
	url, is = v.way["url"].(string)
	headers, _ := v.way["headers"].(obj)
	return url, &http.Client{Transport: bearer{&http.Transport{ResponseHeaderTimeout: v.limit}, headers}}, is // the Go SDK waits for a GET for ever
}

// command returns what the visit starts.
func (v visit) command() *exec.Cmd {
	args, _ := v.way["args"].([]string)
	cmd := exec.Command(v.way["command"].(string), args...)
	for name, value := range v.way["env"].(obj) {
		cmd.Env = append(cmd.Env, name+"="+value.(string))
	}
	cmd.Dir, cmd.Stderr = v.way["cwd"].(string), io.Discard
	return cmd
}

func connectGoSDK(ctx context.Context, v visit) (*goClient, error) {
	var via gosdk.Transport
	url, web, overWeb := v.web()
	switch {
	case overWeb:
		via = &gosdk.StreamableClientTransport{Endpoint: url, HTTPClient: web}
	case v.dial != nil:
		c := v.dial()
		via = &gosdk.IOTransport{Reader: c, Writer: c}
	default:
		via = &gosdk.CommandTransport{Command: v.command()}
	}
	s, err := gosdk.NewClient(&gosdk.Implementation{Name: "probe", Version: "1"}, &gosdk.ClientOptions{Capabilities: &gosdk.ClientCapabilities{}}).Connect(ctx, via, nil)
	if err != nil {
		return nil, err
	}
	type list = func(ctx context.Context, cursor string) ([]any, string, error)
	return &goClient{
		lists: map[string]list{
			"tools": func(ctx context.Context, cursor string) ([]any, string, error) {
				r, err := s.ListTools(ctx, &gosdk.ListToolsParams{Cursor: cursor})
				if err != nil {
					return nil, "", err
				}
				return anys(r.Tools), r.NextCursor, nil
			},
			"prompts": func(ctx context.Context, cursor string) ([]any, string, error) {
				r, err := s.ListPrompts(ctx, &gosdk.ListPromptsParams{Cursor: cursor})
				if err != nil {
					return nil, "", err
				}
				return anys(r.Prompts), r.NextCursor, nil
			},
			"resources": func(ctx context.Context, cursor string) ([]any, string, error) {
				r, err := s.ListResources(ctx, &gosdk.ListResourcesParams{Cursor: cursor})
				if err != nil {
					return nil, "", err
				}
				return anys(r.Resources), r.NextCursor, nil
			},
			"resourceTemplates": func(ctx context.Context, cursor string) ([]any, string, error) {
				r, err := s.ListResourceTemplates(ctx, &gosdk.ListResourceTemplatesParams{Cursor: cursor})
				if err != nil {
					return nil, "", err
				}
				return anys(r.ResourceTemplates), r.NextCursor, nil
			},
		},
		call: func(ctx context.Context, name string) (any, error) {
			r, err := s.CallTool(ctx, &gosdk.CallToolParams{Name: name, Arguments: spoken})
			if err != nil {
				return nil, err
			}
			return obj{"content": r.Content, "structuredContent": r.StructuredContent, "isError": r.IsError}, nil
		},
		get: func(ctx context.Context, name string) (any, error) {
			r, err := s.GetPrompt(ctx, &gosdk.GetPromptParams{Name: name, Arguments: map[string]string{"who": "Ada"}})
			if err != nil {
				return nil, err
			}
			return obj{"description": r.Description, "messages": r.Messages}, nil
		},
		read: func(ctx context.Context, uri string) (any, error) {
			r, err := s.ReadResource(ctx, &gosdk.ReadResourceParams{URI: uri})
			if err != nil {
				return nil, err
			}
			return obj{"contents": r.Contents}, nil
		},
		close: func() {
			_ = s.Close()
			web.CloseIdleConnections()
		},
	}, nil
}

func connectMCPGo(ctx context.Context, v visit) (*goClient, error) {
	var via transport.Interface
	url, web, overWeb := v.web()
	switch {
	case overWeb:
		t, err := transport.NewStreamableHTTP(url, transport.WithHTTPBasicClient(web))
		if err != nil {
			return nil, err
		}
		via = t
	case v.dial != nil:
		c := v.dial()
		via = transport.NewIO(c, c, io.NopCloser(strings.NewReader("")))
	default:
		cmd := v.command()
		via = transport.NewStdioWithOptions(cmd.Path, nil, cmd.Args[1:], transport.WithCommandFunc(
			func(context.Context, string, []string, []string) (*exec.Cmd, error) { return cmd, nil }))
	}
	c := mcpclient.NewClient(via, mcpclient.WithDiscoverTimeout(v.limit/2))
	if err := c.Start(context.WithoutCancel(ctx)); err != nil {
		return nil, err
	}
	shut := func() {
		_ = c.Close()
		web.CloseIdleConnections()
	}
	if _, err := c.Initialize(ctx, mcp.InitializeRequest{Params: mcp.InitializeParams{ClientInfo: mcp.Implementation{Name: "probe", Version: "1"}}}); err != nil {
		shut()
		return nil, err
	}
	page := func(cursor string) mcp.PaginatedParams { return mcp.PaginatedParams{Cursor: mcp.Cursor(cursor)} }
	type list = func(ctx context.Context, cursor string) ([]any, string, error)
	return &goClient{
		lists: map[string]list{
			"tools": func(ctx context.Context, cursor string) ([]any, string, error) {
				r, err := c.ListToolsByPage(ctx, mcp.ListToolsRequest{PaginatedRequest: mcp.PaginatedRequest{Params: page(cursor)}})
				if err != nil {
					return nil, "", err
				}
				return anys(r.Tools), string(r.NextCursor), nil
			},
			"prompts": func(ctx context.Context, cursor string) ([]any, string, error) {
				r, err := c.ListPromptsByPage(ctx, mcp.ListPromptsRequest{PaginatedRequest: mcp.PaginatedRequest{Params: page(cursor)}})
				if err != nil {
					return nil, "", err
				}
				return anys(r.Prompts), string(r.NextCursor), nil
			},
			"resources": func(ctx context.Context, cursor string) ([]any, string, error) {
				r, err := c.ListResourcesByPage(ctx, mcp.ListResourcesRequest{PaginatedRequest: mcp.PaginatedRequest{Params: page(cursor)}})
				if err != nil {
					return nil, "", err
				}
				return anys(r.Resources), string(r.NextCursor), nil
			},
			"resourceTemplates": func(ctx context.Context, cursor string) ([]any, string, error) {
				r, err := c.ListResourceTemplatesByPage(ctx, mcp.ListResourceTemplatesRequest{PaginatedRequest: mcp.PaginatedRequest{Params: page(cursor)}})
				if err != nil {
					return nil, "", err
				}
				return anys(r.ResourceTemplates), string(r.NextCursor), nil
			},
		},
		call: func(ctx context.Context, name string) (any, error) {
			r, err := c.CallTool(ctx, mcp.CallToolRequest{Params: mcp.CallToolParams{Name: name, Arguments: spoken}})
			if err != nil {
				return nil, err
			}
			return obj{"content": r.Content, "structuredContent": r.StructuredContent, "isError": r.IsError}, nil
		},
		get: func(ctx context.Context, name string) (any, error) {
			r, err := c.GetPrompt(ctx, mcp.GetPromptRequest{Params: mcp.GetPromptParams{Name: name, Arguments: map[string]string{"who": "Ada"}}})
			if err != nil {
				return nil, err
			}
			return obj{"description": r.Description, "messages": r.Messages}, nil
		},
		read: func(ctx context.Context, uri string) (any, error) {
			r, err := c.ReadResource(ctx, mcp.ReadResourceRequest{Params: mcp.ReadResourceParams{URI: uri}})
			if err != nil {
				return nil, err
			}
			return obj{"contents": r.Contents}, nil
		},
		close: shut,
	}, nil
}
