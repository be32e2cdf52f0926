package protocol

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"mcphub/e2e/world"
)

// read reads a resource, page after page, as far as one names the next.
func (p *party) read(uri string) (text string, pages int) {
	p.t.Helper()
	for uri != "" {
		var r struct {
			Contents []struct {
				Text string
				Meta struct {
					Next string `json:"mcphub/next"`
				} `json:"_meta"`
			}
		}
		world.Must(p.t, json.Unmarshal(p.call("resources/read", obj{"uri": uri}).Result, &r))
		uri = ""
		for _, c := range r.Contents {
			text += c.Text
			uri = c.Meta.Next
		}
		pages++
	}
	return text, pages
}

// TestLargeResults: a file of a megabyte that the embedded server reads. Every client gets no more of it than results.max, and
// all of it behind the link; of a server whose entry says off it gets all at once.
func TestLargeResults(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&b, "%d: a line of a report, größer als jedes Fenster 😀\n", i)
	}
	whole := b.String()
	const most = 64 << 10
	for _, modern := range []bool{false, true} {
		for _, onWeb := range []bool{false, true} {
			t.Run(world.EraNames[modern]+" on "+world.TransportNames[onWeb], func(t *testing.T) {
				t.Parallel()
				w := world.New(t)
				w.Write("project/report.txt", whole)
				config := w.Config(obj{"files": obj{"builtin": "files"}, "all": obj{"builtin": "files", "results": obj{"max": "off"}}}, obj{"results": obj{"max": "64KiB"}})
				at := ""
				if onWeb {
					at = w.ServeHTTP(config)
				}
				open := func() *party {
					p := newParty(t, modern, w.Project)
					if onWeb {
						return p.overWeb(at)
					}
					return p.overPipe(w, world.Hub(t), "serve", "--config", config)
				}
				p, other := open(), open()
				args := obj{"path": w.Path("project", "report.txt")}
				if text, failed := p.tool("all__read_text_file", args); failed || text != whole {
					t.Errorf("%d bytes of %d where nothing is cut (failed: %v)", len(text), len(whole), failed)
				}
				m := p.call("tools/call", obj{"name": "files__read_text_file", "arguments": args})
				var r struct {
					Content           []struct{ Type, Text, URI string }
					StructuredContent json.RawMessage
				}
				world.Must(t, json.Unmarshal(m.Result, &r))
				if len(m.Result) > most+4<<10 || r.StructuredContent != nil {
					t.Errorf("the result has %d bytes", len(m.Result))
				}
				digests := map[string]bool{}
				for _, c := range r.Content {
					switch c.Type {
					case "text":
						if strings.Contains(c.Text, "0: a line") && (!strings.Contains(c.Text, "19999: a line") || !strings.Contains(c.Text, "left out here")) {
							t.Errorf("head, notice and tail: %.300s", c.Text)
						}
					case "resource_link":
						text, pages := p.read(c.URI)
						if pages < len(text)/most {
							t.Errorf("%d pages of %d bytes", pages, len(text))
						}
						digests[fmt.Sprintf("%x", sha256.Sum256([]byte(text)))] = true
						answer, err := other.tried(t.Context(), "resources/read", obj{"uri": c.URI})
						world.Must(t, err)
						if given := answer.Result != nil; given != (modern && onWeb) { // there the same token is the same client
							t.Errorf("another client was answered %.300s", answer.Raw)
						}
					}
				}
				if !digests[fmt.Sprintf("%x", sha256.Sum256([]byte(whole)))] {
					t.Error("behind no link is what was in the file")
				}
			})
		}
	}
}
