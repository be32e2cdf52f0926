package results

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"mcphub/e2e/seeds"
	"mcphub/internal/jsonrpc"
)

// frame is the most that what the hub says adds to a result, in bytes of JSON: a notice and a link for each of two wholes.
const frame = 1800

const newest = "2025-11-25"

type answered struct {
	Content []struct {
		Type, Text, URI, Name string
		Size                  int
		Data                  string
		Resource              struct{ Text, Blob string }
		Annotations           json.RawMessage
	}
	StructuredContent json.RawMessage
	IsError           bool
	Meta              json.RawMessage `json:"_meta"`
}

func decoded(t rapid.TB, raw []byte) (r answered) {
	t.Helper()
	if err := json.Unmarshal(raw, &r); err != nil {
		t.Fatalf("%v: %s", err, raw)
	}
	return r
}

// link returns the URI of the whole with this name.
func (r answered) link(name string) string {
	for _, c := range r.Content {
		if c.Type == "resource_link" && c.Name == name {
			return c.URI
		}
	}
	return ""
}

// all reads all pages behind a URI, by the next that each names.
func all(t rapid.TB, s *Store, uri string) (text string) {
	t.Helper()
	for uri != "" {
		a := s.Read(context.Background(), uri)
		if a.Error != nil {
			t.Fatalf("%s: %s", uri, a.Error)
		}
		var page struct {
			Contents []struct {
				URI, Text string
				Meta      struct {
					Next string `json:"mcphub/next"`
				} `json:"_meta"`
			}
		}
		if err := json.Unmarshal(a.Result, &page); err != nil || len(page.Contents) != 1 || page.Contents[0].URI != uri {
			t.Fatalf("%v: %s", err, a.Result)
		}
		text += page.Contents[0].Text
		uri = page.Contents[0].Meta.Next
	}
	return text
}

func quoted(text string) string { return string(jsonrpc.AppendString(nil, text)) }

func ofText(text string) jsonrpc.Answer {
	return jsonrpc.ResultAnswer([]byte(`{"content":[{"type":"text","text":` + quoted(text) + `}]}`))
}

// TestWhatIsNotTooLargePassesAsItIs holds that not a byte is touched, nor copied.
func TestWhatIsNotTooLargePassesAsItIs(t *testing.T) {
	t.Parallel()
	s := NewStore(new(Shelf), "", 0)
	image := `{"type":"image","data":"` + strings.Repeat("A", 500) + `","mimeType":"image/png"}`
	for _, raw := range []string{
		`{"content":[{"type":"text","text":"` + strings.Repeat("a", 100) + `"}]}`,
		`{"content":[{"type":"text","text":"` + strings.Repeat(`\u00e4`, 50) + `"}]}`, // 100 bytes in six times as many
		`{ "content" : [ ` + image + `, {"type":"audio","data":"` + strings.Repeat("A", 500) + `"} ] , "n":1e2}`,
		`{"content":[{"type":"resource","resource":{"uri":"x:y","blob":"` + strings.Repeat("A", 500) + `"}}]}`,
		`{"content":"` + strings.Repeat("a", 500) + `"}`, `{"task":{"taskId":"` + strings.Repeat("a", 500) + `"}}`,
		`{"content":[{"type":"text","text":7},"` + strings.Repeat("a", 500) + `"]}`,
	} {
		a := jsonrpc.ResultAnswer([]byte(raw))
		if got := s.Cut(a, 100, newest, nil); &got.Result[0] != &a.Result[0] || len(got.Result) != len(a.Result) {
			t.Errorf("%s became %s", raw, got.Result)
		}
	}
	large := ofText(strings.Repeat("a", 101))
	if got := s.Cut(large, 0, newest, nil); &got.Result[0] != &large.Result[0] {
		t.Error("without a bound something was cut")
	}
	if got := s.Cut(large, 100, newest, nil); string(got.Result) == string(large.Result) {
		t.Error("the control: a text of 101 bytes was not cut to 100")
	}
	if e := jsonrpc.ErrorAnswer(-32000, strings.Repeat("a", 500)); string(s.Cut(e, 100, newest, nil).Error) != string(e.Error) {
		t.Error("an error of the protocol was cut")
	}
}

// TestHeadTailAndPages: whatever a result holds and whatever the bound is, the client gets no more than that and a small
// frame, and all of the rest behind the links.
func TestHeadTailAndPages(t *testing.T) {
	t.Parallel()
	seeds.Check(t, func(t *rapid.T) {
		s := NewStore(new(Shelf), "", 0)
		var blocks, wholes []string
		others := 0
		for range rapid.IntRange(0, 4).Draw(t, "blocks") {
			text := texts().Draw(t, "text")
			switch rapid.IntRange(0, 3).Draw(t, "kind") {
			case 0:
				blocks = append(blocks, `{"type":"image","data":"AAAA","mimeType":"image/png"}`)
				others++
				continue
			case 1:
				blocks = append(blocks, `{"type":"resource","resource":{"uri":"x:y","text":`+quoted(text)+`}}`)
			default:
				blocks = append(blocks, `{"annotations":{"priority":1.0},"type":"text","text":`+quoted(text)+`}`)
			}
			wholes = append(wholes, text)
		}
		structured := ""
		raw := `{"isError":true,"content":[` + strings.Join(blocks, ",") + `]`
		if rapid.Bool().Draw(t, "structured") {
			structured = `{"a": ` + quoted(texts().Draw(t, "member")) + `}`
			raw += `,"structuredContent":` + structured
		}
		raw += `,"_meta":{"n":1e2}}`
		most := rapid.IntRange(1, 600).Draw(t, "most")
		whole := strings.Join(wholes, "\n")

		got := s.Cut(jsonrpc.ResultAnswer([]byte(raw)), most, newest, nil)
		cut := len(whole) > most
		if !cut && len(structured) <= most {
			if string(got.Result) != raw {
				t.Fatalf("%s became %s", raw, got.Result)
			}
			return
		}
		r := decoded(t, got.Result)
		text, images, notices := 0, 0, 0
		for _, c := range r.Content {
			text += len(c.Text) + len(c.Resource.Text)
			notices += strings.Count(c.Text+c.Resource.Text, "[mcphub: ")
			if c.Type == "image" {
				images++
			}
		}
		switch {
		case !r.IsError || string(r.Meta) != `{"n":1e2}`:
			t.Fatalf("other members are not as they were: %s", got.Result)
		case images != others:
			t.Fatalf("%d images of %d", images, others)
		case r.StructuredContent != nil:
			t.Fatalf("structuredContent is left: %s", got.Result)
		case text > most+frame:
			t.Fatalf("%d bytes of text, of %d", text, most)
		}
		want := 0
		if cut {
			want++
			if back := all(t, s, r.link("whole result")); sha256.Sum256([]byte(back)) != sha256.Sum256([]byte(whole)) {
				t.Fatalf("the whole is %q, was %q", back, whole)
			}
		}
		if structured != "" {
			want++
			if back := all(t, s, r.link("structuredContent")); back != structured {
				t.Fatalf("structuredContent is %q, was %q", back, structured)
			}
		}
		// What is left out may be no more than the line breaks between texts, of which no notice tells.
		between := cut && len(whole)-(len(wholes)-1) <= most
		if notices != want && !(between && notices == want-1) {
			t.Fatalf("%d notices, want %d: %s", notices, want, got.Result)
		}
	})
}

func TestTheNoticeSaysWhatLiesBetweenAndWhereItIs(t *testing.T) {
	t.Parallel()
	s := NewStore(new(Shelf), "", 0)
	text := strings.Repeat("0123456789012345678\n", 100)
	r := decoded(t, s.Cut(ofText(text), 200, newest, nil).Result)
	uri := r.link("whole result")
	want := text[:100] + "[mcphub: 1800 of 2000 bytes (90 line breaks) are left out here. The whole text is the resource " + uri +
		", to be read by resources/read while this session lasts, in 10 pages: " + uri + "?page=1 to ?page=10.]\n" + text[1900:]
	if len(r.Content) != 2 || r.Content[0].Text != want || r.Content[1].Size != 2000 {
		t.Errorf("got %+v, want %q", r.Content, want)
	}
	old := decoded(t, s.Cut(ofText(text), 200, "2025-03-26", nil).Result)
	if len(old.Content) != 1 || !strings.Contains(old.Content[0].Text, uriPrefix) {
		t.Errorf("a client that knows no links got %+v", old.Content)
	}
	if back := all(t, s, strings.Fields(old.Content[0].Text[strings.Index(old.Content[0].Text, uriPrefix):])[0][:len(uriPrefix)+idLength]); back != text {
		t.Errorf("by the name in the text it reads %q", back)
	}
}

func TestOldestGoFirst(t *testing.T) {
	t.Parallel()
	shelf := new(Shelf)
	s := NewStore(shelf, "", 0)
	var uris []string
	for i := range maxKept + 1 {
		uris = append(uris, decoded(t, s.Cut(ofText(fmt.Sprint(i, strings.Repeat("x", 100))), 50, newest, nil).Result).link("whole result"))
	}
	if a := s.Read(context.Background(), uris[0]); a.Error == nil || !strings.Contains(string(a.Error), "kept no longer") {
		t.Errorf("the oldest: %s%s", a.Result, a.Error)
	}
	if a := s.Read(context.Background(), uris[1]); a.Error != nil {
		t.Errorf("the second: %s", a.Error)
	}
	if a := s.Read(context.Background(), uriPrefix+strings.Repeat("A", idLength)); a.Error == nil || !strings.Contains(string(a.Error), "there is no result") {
		t.Errorf("one that never was: %s%s", a.Result, a.Error)
	}
	for uri, want := range map[string]string{uris[1] + "?page=4": "pages 1 to 3", uris[1] + "?page=0": "pages 1 to 3", uris[1] + "?x": "pages 1 to 3"} {
		if a := s.Read(context.Background(), uri); a.Error == nil || !strings.Contains(string(a.Error), want) {
			t.Errorf("%s: %s%s", uri, a.Result, a.Error)
		}
	}
	other := NewStore(shelf, "", 0)
	if a := other.Read(context.Background(), uris[1]); a.Error == nil || !strings.Contains(string(a.Error), "in this session") {
		t.Errorf("another session: %s%s", a.Result, a.Error)
	}
	s.Close()
	if shelf.size != 0 || len(shelf.stores) != 0 {
		t.Errorf("%d bytes of %d stores are left of a session that has ended", shelf.size, len(shelf.stores))
	}
	if large := ofText(strings.Repeat("x", 100)); string(s.Cut(large, 50, newest, nil).Result) != string(large.Result) {
		t.Error("something was cut that is kept nowhere")
	}
}

// TestBytesAreBounded: of one session, and of all together. The session that holds most gives way.
func TestBytesAreBounded(t *testing.T) {
	t.Parallel()
	shelf := new(Shelf)
	part := strings.Repeat("x", maxBytes/4)
	little := NewStore(shelf, "", 0)
	mine, _ := little.keepTexts(1<<20, nil, "mine")
	var greedy []*Store
	for range 2 * maxBytesAll / maxBytes {
		s := NewStore(shelf, "", 0)
		greedy = append(greedy, s)
		for range 5 {
			if _, ok := s.keepTexts(1<<20, nil, part); !ok {
				t.Fatal("a part was not kept")
			}
			if s.size > maxBytes || shelf.size > maxBytesAll {
				t.Fatalf("%d bytes of one session, %d of all", s.size, shelf.size)
			}
		}
	}
	if a := little.Read(context.Background(), mine[0].textURI()); a.Error != nil {
		t.Errorf("who held little was robbed: %s", a.Error)
	}
	sum := little.size
	for _, s := range greedy {
		sum += s.size
	}
	if sum != shelf.size {
		t.Errorf("the shelf has %d bytes, its stores %d", shelf.size, sum)
	}
	if _, ok := little.keepTexts(1<<20, nil, part, part, part, part, "x"); ok {
		t.Error("more was kept than one session may have")
	}
	if a := little.Read(context.Background(), mine[0].textURI()); a.Error != nil {
		t.Errorf("what had no room took others': %s", a.Error)
	}
}

func TestATimeLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := NewStore(new(Shelf), "", Lifetime)
		r := decoded(t, s.Cut(ofText(strings.Repeat("x", 100)), 50, newest, nil).Result)
		if !strings.Contains(r.Content[0].Text, "for 30 minutes at most") {
			t.Errorf("the limit is not said: %s", r.Content[0].Text)
		}
		uri := r.link("whole result")
		time.Sleep(Lifetime - time.Nanosecond)
		if a := s.Read(context.Background(), uri); a.Error != nil {
			t.Errorf("in time: %s", a.Error)
		}
		time.Sleep(time.Nanosecond)
		if a := s.Read(context.Background(), uri); a.Error == nil || !strings.Contains(string(a.Error), "kept no longer") {
			t.Errorf("too late: %s%s", a.Result, a.Error)
		}
	})
}

func TestNamed(t *testing.T) {
	t.Parallel()
	id := strings.Repeat("A", idLength)
	for uri, want := range map[string]bool{
		uriPrefix + id: true, uriPrefix + id + "?page=2": true, uriPrefix + id + "?": true,
		uriPrefix + id + "A": false, uriPrefix + id + "/x": false, uriPrefix + "note://1": false, "mcphub://one/" + id: false, uriPrefix + strings.ToLower(id): false, "": false,
	} {
		if IsResult(uri) != want {
			t.Errorf("%s: %t", uri, IsResult(uri))
		}
	}
}

// One principal with many sessions does not push out what another one keeps, who holds less in a larger one. Control: sessions of no one.
func TestPrincipalsShareTheRoom(t *testing.T) {
	t.Parallel()
	const size = 4 << 20
	text := strings.Repeat("g", size)
	for owner, want := range map[string]int{"greedy": 1, "": 0} {
		shelf := new(Shelf)
		modest := NewStore(shelf, map[string]string{"greedy": "modest"}[owner], 0)
		if _, ok := modest.keepTexts(1<<20, nil, strings.Repeat("m", 8<<20)); !ok {
			t.Fatal("it is not kept")
		}
		for range maxBytesAll/size + 1 {
			if _, ok := NewStore(shelf, owner, 0).keepTexts(1<<20, nil, text); !ok {
				t.Fatal("it is not kept")
			}
		}
		if shelf.size > maxBytesAll || len(modest.kept) != want {
			t.Errorf("%q: %d bytes, and %d of the modest one", owner, shelf.size, len(modest.kept))
		}
	}
}

// TestAWithheldResultIsLetGo: it is asked about at each read, and cannot be read again once it was withheld; its room is free then.
func TestAWithheldResultIsLetGo(t *testing.T) {
	t.Parallel()
	shelf := new(Shelf)
	s := NewStore(shelf, "", 0)
	why := ""
	first := decoded(t, s.Cut(ofText(strings.Repeat("x", 100)), 50, newest, &Origin{Size: 7, Withheld: func(context.Context) (string, bool) { return why, strings.Contains(why, "denied") }}).Result).link("whole result")
	second := decoded(t, s.Cut(ofText(strings.Repeat("y", 100)), 50, newest, nil).Result).link("whole result")
	if shelf.size != 207 {
		t.Errorf("%d bytes are kept of two results and of what made one of them", shelf.size)
	}
	for _, tc := range []struct{ why, want string }{{"", ""}, {"it is busy.", "cannot be read now: it is busy."}, {"", ""}, {"it is denied.", "kept no longer: it is denied."}, {"", "kept no longer"}} {
		why = tc.why
		if a := s.Read(t.Context(), first); (a.Error == nil) != (tc.want == "") || !strings.Contains(string(a.Error), tc.want) {
			t.Errorf("%q: %s%s", tc.why, a.Result, a.Error)
		}
	}
	if a := s.Read(t.Context(), second); a.Error != nil || shelf.size != 100 || len(s.kept) != 1 {
		t.Errorf("the other one: %s, %d bytes, %d results", a.Error, shelf.size, len(s.kept))
	}
}
