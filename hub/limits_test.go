package hub

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"mcphub/children/childtest"
	"mcphub/children/offers"
	"mcphub/children/spec"
	"mcphub/internal/jsonrpc/lines"
)

// definition is one of a tool, of so many bytes.
func definition(name string, size int) []byte {
	head, tail := fmt.Sprintf(`{"name":%q,"description":"`, name), `","inputSchema":{"type":"object"}}`
	return []byte(head + strings.Repeat("x", size-len(head)-len(tail)) + tail)
}

// TestLimitOfDefinitions: 64 MiB of them are offered, and what is beyond is named in
// the log, in list-tools and in status.
func TestLimitOfDefinitions(t *testing.T) {
	var log bytes.Buffer
	cfg := testConfig(t, scripted("kid", childtest.Script{}))
	cfg.Log = zerolog.New(&log)
	h, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	conf := h.now()
	offer := &offers.Offer{}
	for i := range 45 {
		offer.Tools = append(offer.Tools, definition(fmt.Sprint("t", i), 1<<20))
	}
	offer.Tools = append(offer.Tools, definition("large", 19<<20))
	if o := conf.KeepOffer(conf.Child("kid"), offer); len(o.Tools) != 46 || o.Omitted != nil || log.Len() != 0 {
		t.Fatalf("%d tools of 64 MiB are offered, and %v not", len(o.Tools), o.Omitted)
	}
	more := *offer
	more.Tools = append(more.Tools, definition("one-more", 100), definition("two-more", 100))
	o := conf.KeepOffer(conf.Child("kid"), &more)
	if len(o.Tools) != 46 || len(o.Omitted) != 2 || o.Omitted[0].Name != "one-more" || !strings.Contains(o.Omitted[0].Reason, "67108864 bytes") || !strings.Contains(o.Omitted[0].Reason, `"definitions"`) {
		t.Errorf("%d tools, %v", len(o.Tools), o.Omitted)
	}
	if got := log.String(); !strings.Contains(got, `"child":"kid"`) || !strings.Contains(got, "one-more: ") || !strings.Contains(got, "two-more: ") || strings.Count(got, "\n") != 1 {
		t.Errorf("logged %s", got)
	}
}

// TestWhatIsNotOfferedIsShown, by status too.
func TestWhatIsNotOfferedIsShown(t *testing.T) {
	child := played("kid", spec.ShareSession, childtest.Script{Replies: map[string]string{
		"tools/list": fmt.Sprintf(`{"tools":[%s,%s,%s]}`, definition("a", 60<<10), definition("b", 60<<10), definition("c", 100)),
	}})
	play(t, []spec.Spec{child}, func(t *testing.T, h *Hub, s *stage) {
		cfg := testConfig(t, child)
		cfg.Launcher, cfg.Limits.Definitions = s, 64<<10
		apply(t, h, cfg)
		c, _ := enter(t, h)
		c.handshake(`{}`)
		if list := c.raw("tools/list", `{}`); !strings.Contains(list, `"kid__a"`) || strings.Contains(list, `"kid__b"`) {
			t.Errorf("%.200s", list)
		}
		st := h.Status().Children
		if len(st) != 1 || len(st[0].NotOffered) != 2 || st[0].NotOffered[0].Tool != "b" {
			t.Errorf("%+v", st[0].NotOffered)
		}
	})
}

// TestLimitOfIDs: a longer id is refused under that id, on both fronts.
func TestLimitOfIDs(t *testing.T) {
	for limit, most := range map[int]int{0: 1 << 10, 4 << 10: 4 << 10} {
		cfg := testConfig(t)
		cfg.Limits.ID = limit
		h := runHub(t, cfg)
		for size, passes := range map[int]bool{most: true, most + 1: false} {
			id := `"` + strings.Repeat("i", size-2) + `"`
			frame := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"ping"}`, id)
			held := func(where, answer string) {
				t.Helper()
				if !strings.Contains(answer, `"id":`+id+`,`) || strings.Contains(answer, `"result"`) != passes || !passes && !strings.Contains(answer, `-32600`) {
					t.Errorf("limit %d, %s: an id of %d bytes: %s", limit, where, size, answer)
				}
			}
			toHub, fromClient := io.Pipe()
			toClient, fromHub := io.Pipe()
			done := make(chan error, 1)
			go func() { done <- h.ServeStdio(t.Context(), toHub, fromHub, Surroundings{}) }()
			go func() { _, _ = io.WriteString(fromClient, frame+"\n") }()
			line, err := lines.NewReader(toClient, 1<<20).Next()
			if err != nil {
				t.Fatal(err)
			}
			held("stdio", string(line))
			_ = fromClient.Close()
			<-done

			c := serveWeb(t, h, HTTPOptions{}).initialize(`{}`).initialized()
			r := c.send(frame)
			if (r.StatusCode == http.StatusOK) != passes {
				t.Errorf("status %d", r.StatusCode)
			}
			held("http", body(t, r))
		}
	}
}
