package protocol

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"mcphub/e2e/ide"
	"mcphub/e2e/seeds"
	"mcphub/e2e/world"
	"mcphub/hub/audit"
	"mcphub/hub/audit/trail"
)

// baseline is the hub whose verdicts are to stay: the path of a binary.
var baseline = os.Getenv("MCPHUB_BASELINE")

// TestDifferential does the same with the baseline and with the hub of this tree, in the same directory, and demands for every
// case the same answer, the same bytes at the children and the same line in the record. What differs from run to run of one hub
// is put aside: see volatile. MCPHUB_LONG_CASES says how many calls there are.
func TestDifferential(t *testing.T) {
	if baseline == "" {
		world.Shout("\n*** e2e: NO VERDICT IS COMPARED WITH AN EARLIER ONE: MCPHUB_BASELINE names no binary ***\n\n")
		t.Skip("MCPHUB_BASELINE names no binary")
	}
	d := &differential{sides: [2]side{{program: baseline}, {program: world.Hub(t)}}, count: map[string]int{}}
	calls, texts := world.LongCases(t, 200, 1_000_000), corpus(t)
	seeds.Rand(t).Shuffle(len(texts), func(i, j int) { texts[i], texts[j] = texts[j], texts[i] })
	texts = texts[:min(len(texts), max(calls, 40))]
	t.Cleanup(func() { d.report(t) })
	// Each of the ways has its turn, however few cases there are.
	for i, some := range deal(texts, 100) {
		t.Run(fmt.Sprint("c", i), func(t *testing.T) {
			t.Parallel()
			d.run(t, func(w *world.World) plan { return corpusPlan(w, i, some) })
		})
	}
	for i, n := range deal(make([]int, calls), 200) {
		t.Run(fmt.Sprint("r", i), func(t *testing.T) {
			t.Parallel()
			d.run(t, func(w *world.World) plan {
				return randomPlan(w, seeds.Rand(t), i, len(n), texts)
			})
		})
	}
}

// deal gives the items out to conversations: at most that many to each, and at least as many conversations as there are ways.
func deal[T any](items []T, most int) [][]T {
	size := min(most, (len(items)+len(ways)-1)/len(ways))
	return slices.Collect(slices.Chunk(items, max(size, 1)))
}

// TestDifferentialSees is the control: two runs of one hub are the same, and what is changed for the second one is reported, in
// the answer, at the child and in the record. Each way sees one of the three, and in the long series all.
func TestDifferentialSees(t *testing.T) {
	t.Parallel()
	texts := corpus(t)
	if len(texts) < 5000 {
		t.Errorf("only %d strings: are the tests written otherwise now?", len(texts))
	}
	denies := obj{"policy": obj{"rules": []obj{{"name": "none of it", "if": obj{"paths": obj{}}, "then": "deny"}}}}
	const atChild = "reached read.record tools/call"
	changes := []struct {
		name string
		more obj
		want []string // the streams that must differ
		not  string   // one that must not
	}{
		{"same", nil, nil, "answers"},
		{"policy", denies, []string{"answers", "audit", atChild}, "heard notifications/no/such"},
		{"record", obj{"audit": obj{"arguments": true}}, []string{"audit"}, atChild},
	}
	for j, c := range changes {
		for i := range ways {
			if !world.Long && i%len(changes) != j {
				continue
			}
			t.Run(fmt.Sprint(c.name, i), func(t *testing.T) {
				t.Parallel()
				d := &differential{sides: [2]side{{program: world.Hub(t)}, {program: world.Hub(t), more: c.more}}, count: map[string]int{}}
				differ := map[string]string{}
				d.found = func(stream, what string) { differ[stream] = what }
				d.run(t, func(w *world.World) plan {
					p := randomPlan(w, seeds.Rand(t), i, 25, texts)
					delete(p.config, "policy")
					delete(p.config, "audit")
					return p
				})
				if len(c.want) == 0 && len(differ) > 0 || differ[c.not] != "" {
					t.Errorf("%v differ", differ)
				}
				for _, stream := range c.want {
					if differ[stream] == "" {
						t.Errorf("nothing differs in %q, only in %q", stream, world.Names(differ))
					}
				}
			})
		}
	}
}

// differential compares two hubs.
type differential struct {
	sides [2]side
	found func(stream, what string) // told about each difference; nil fails the test

	mu          sync.Mutex // guards all below
	count       map[string]int
	cases       int
	differences int
}

// side is one of two hubs, and what its hub.json says otherwise.
type side struct {
	program string
	more    obj
}

// plan is what is done with both: nothing in it is left to chance.
type plan struct {
	way    way
	config obj
	steps  []step
}

// way is how a client comes to a hub.
type way struct {
	version string
	web     bool
}

func (y way) modern() bool   { return y.version == world.ModernVersion }
func (y way) String() string { return y.version + " over " + world.TransportNames[y.web] }

// ways has the versions of the handshake that differ in what there is, and the one without. Batches are of the oldest one here.
var ways = []way{{"2025-11-25", false}, {world.ModernVersion, false}, {"2025-11-25", true}, {world.ModernVersion, true},
	{"2025-06-18", false}, {"2025-06-18", true}, {"2025-03-26", false}, {"2025-03-26", true}}

// trace is all that is compared, in order: stream by stream, since nothing orders what is of different streams.
type trace map[string][]string

// run does what is planned, once with each hub, and compares.
func (d *differential) run(t *testing.T, planned func(*world.World) plan) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	world.Must(t, err)
	p := planned(world.NewIn(t, dir))
	var traces [2]trace
	for i, side := range d.sides {
		entries, err := os.ReadDir(dir)
		world.Must(t, err)
		for _, e := range entries {
			world.Must(t, os.RemoveAll(filepath.Join(dir, e.Name())))
		}
		var got *conversation
		// A test of its own, so that the hub has ended when its record is read.
		if !t.Run(fmt.Sprint(i), func(t *testing.T) {
			w := world.NewIn(t, dir)
			world.Furnish(w)
			got = converse(w, side, p)
		}) {
			return
		}
		traces[i] = got.trace(t)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.cases += len(p.steps)
	for _, s := range p.steps {
		d.count[s.kind]++
		d.count["by "+p.way.String()]++
	}
	for _, stream := range world.Names(merged(traces[0], traces[1])) {
		was, is := traces[0][stream], traces[1][stream]
		n := 0
		for i := range max(len(was), len(is)) {
			if a, b := at(was, i), at(is, i); a != b {
				if n++; n <= 3 {
					d.differs(t, stream, fmt.Sprintf("%v, %s, %d of %d\n%s", p.way, stream, i, len(was), beside(a, b)))
				}
			}
		}
		d.differences += n
	}
	if t.Failed() {
		t.Logf("hub.json: %s", world.Raw(t, p.config))
	}
}

func (d *differential) differs(t testing.TB, stream, what string) {
	if d.found != nil {
		d.found(stream, what)
		return
	}
	t.Error(what)
}

func merged(a, b trace) trace {
	all := trace{}
	for _, one := range []trace{a, b} {
		for stream := range one {
			all[stream] = nil
		}
	}
	return all
}

func at(list []string, i int) string {
	if i < len(list) {
		return list[i]
	}
	return "(nothing)"
}

// beside shows two texts from shortly before they part, and how the first one begins.
func beside(was, is string) string {
	same := 0
	for same < min(len(was), len(is)) && was[same] == is[same] {
		same++
	}
	from := max(same-100, 0)
	part := func(s string) string { return s[min(from, len(s)):min(same+300, len(s))] }
	return fmt.Sprintf("  of  %q\n  was %q\n  is  %q", was[:min(from, 300)], part(was), part(is))
}

func (d *differential) report(t testing.TB) {
	var b strings.Builder
	for _, what := range world.Names(d.count) {
		fmt.Fprintf(&b, "  %6d %s\n", d.count[what], what)
	}
	t.Logf("%d cases, %d differences\n%s", d.cases, d.differences, b.String())
}

// step is one thing that a client does. Its members are raw: they may be no JSON.
type step struct {
	kind   string // for the count
	how    manner
	method string
	name   string // what the method names, for the header of it
	params string // members
	meta   string // more members of _meta
}

type manner int

const (
	asks    manner = iota // waits for the answer
	tells                 // a notification
	cancels               // waits until a child has the mark in it, and takes it back
	listens               // waits until it is acknowledged, and takes it back
	says                  // params is the line
	batches               // params are requests
)

// conversation is one session with one hub.
type conversation struct {
	*party
	w       *world.World
	answers []string
}

func converse(w *world.World, hub side, p plan) *conversation {
	config := w.Config(obj{}, p.config, hub.more)
	c := &conversation{w: w, party: newParty(w.T, p.way.modern(), w.Project)}
	if !c.modern {
		c.legacy = p.way.version
	} else {
		delete(c.capabilities["roots"].(obj), "listChanged")
	}
	args := []string{"serve", "--config", config}
	if p.way.web {
		c.overWeb(w.Listen("hub", hub.program, append(args, "--http", "127.0.0.1:0")...))
	} else {
		c.pipe = w.Start(ide.Options{Command: hub.program, Args: args, Protocol: c.legacy, Answer: c.answerer.answer,
			Capabilities: world.Raw(w.T, c.capabilities), Saw: func(bool, []byte) {}})
		c.pipe.Sloppy, c.pipe.Odd = true, true
		c.open()
	}
	if !c.modern {
		c.settle()
	}
	for _, s := range p.steps {
		c.answers = append(c.answers, fmt.Sprintf("%s %s %s: %s", s.kind, s.method, s.params, strings.Join(c.do(s), "\n    ")))
	}
	return c
}

// settle waits until the roots are known: whether the first call finds them so is a matter of time.
func (c *conversation) settle() {
	if !world.Within(world.WaitLimit, func() bool {
		text, _ := c.tool("get-roots", obj{})
		return strings.Contains(text, `"state": "known"`)
	}) {
		c.t.Error("the roots are never known")
	}
	c.ids.Store(100_000) // more than that may have taken
}

// do takes a step and gives all that comes back for it.
func (c *conversation) do(s step) []string {
	id, line, header := c.line(s, s.params)
	switch s.how {
	case says, batches, tells:
		return c.tell(line, header)
	}
	var all []string
	for range 5 {
		var m ide.Message
		var answer string
		if s.how == asks {
			m, answer = c.ask(context.Background(), id, line, header)
		} else {
			m, answer = c.end(s, id, line, header)
		}
		all = append(all, answer)
		again, ok := c.again(m)
		if !ok {
			break
		}
		id, line, header = c.line(s, s.params+again)
	}
	return all
}

// line gives a request as it goes out.
func (c *conversation) line(s step, params string) (id, line string, header http.Header) {
	header = http.Header{}
	if s.how == says {
		return "", s.params, header
	}
	id = strconv.Quote(fmt.Sprint("p", c.ids.Add(1)))
	if s.how == batches {
		return id, "[" + s.params + "]", header
	}
	params = strings.ReplaceAll(params, "MARK", c.mark(id))
	meta := s.meta
	if c.modern {
		base := world.Raw(c.t, obj{metaVersion: world.ModernVersion, metaCapabilities: c.capabilities, metaInfo: c.info})
		meta = strings.TrimSuffix(base[1:len(base)-1]+","+meta, ",")
		header.Set("Mcp-Protocol-Version", world.ModernVersion)
		header.Set("Mcp-Method", s.method)
		if s.name != "" {
			header.Set("Mcp-Name", s.name)
		}
	}
	if meta != "" {
		params = strings.TrimSuffix(`"_meta":{`+meta+`},`+params, ",")
	}
	line = `"method":` + strconv.Quote(s.method) + `,"params":{` + params + `}}`
	if s.how == tells {
		return "", `{"jsonrpc":"2.0",` + line, header
	}
	return id, `{"jsonrpc":"2.0","id":` + id + `,` + line, header
}

// ask sends a request and gives its answer, and how it came.
func (c *conversation) ask(ctx context.Context, id, line string, header http.Header) (ide.Message, string) {
	ctx, cancel := context.WithTimeout(ctx, world.WaitLimit)
	defer cancel()
	if c.web != nil {
		return c.post(ctx, line, header)
	}
	before := len(c.pipe.Messages())
	world.Must(c.t, c.pipe.Send(line))
	broken, i := !json.Valid([]byte(line)), 0 // then its id cannot be read, and the answer has none
	m, err := c.pipe.Await(ctx, "the answer to "+id, func(m ide.Message) bool {
		i++
		return i > before && (m.IsAnswer() && string(m.ID) == id || broken && m.IsAnswer() && string(m.ID) == "null")
	})
	if err != nil {
		return m, "no answer"
	}
	return m, string(m.Raw)
}

// post sends something, and reads all that comes back on the same stream. The answer comes last.
func (c *conversation) post(ctx context.Context, line string, header http.Header) (last ide.Message, how string) {
	resp, err := c.web.do(ctx, http.MethodPost, line, header)
	if err != nil {
		return last, "no answer"
	}
	defer func() { _ = resp.Body.Close() }()
	kind := resp.Header.Get("Content-Type")
	how = fmt.Sprint(resp.StatusCode, " ", kind, " ")
	if !strings.HasPrefix(kind, "text/event-stream") {
		body, _ := io.ReadAll(resp.Body)
		last = ide.Parse(bytes.TrimSpace(body))
		return last, how + string(last.Raw)
	}
	c.web.events(resp.Body, func(m ide.Message) bool {
		if m.IsAnswer() || m.Fault != "" {
			last = m
		}
		return false
	})
	if last.Raw == nil {
		return last, how + "no answer"
	}
	return last, how + string(last.Raw)
}

// again gives what a request has to have when it is sent again: the answers to what was asked instead of an answer.
func (c *conversation) again(m ide.Message) (members string, ok bool) {
	var r struct {
		ResultType    string
		InputRequests map[string]struct {
			Method string
			Params json.RawMessage
		}
		RequestState json.RawMessage
	}
	if !c.modern || m.Result == nil || json.Unmarshal(m.Result, &r) != nil || r.ResultType != "input_required" {
		return "", false
	}
	answers := []string{}
	for _, key := range world.Names(r.InputRequests) {
		a := c.answerer.answer(r.InputRequests[key].Method, r.InputRequests[key].Params)
		answers = append(answers, world.Raw(c.t, key)+":"+a.Result)
	}
	members = `,"inputResponses":{` + strings.Join(answers, ",") + `}`
	if r.RequestState != nil {
		members += `,"requestState":` + string(r.RequestState)
	}
	return members, true
}

// tell sends what may have an answer or none. Over a pipe an answer to a ping behind it says that there will be none.
func (c *conversation) tell(line string, header http.Header) []string {
	ctx, cancel := context.WithTimeout(context.Background(), world.WaitLimit)
	defer cancel()
	if c.web != nil {
		m, how := c.post(ctx, line, header)
		return []string{strings.TrimSuffix(how, string(m.Raw)) + sorted(m.Raw)}
	}
	before := len(c.pipe.Messages())
	world.Must(c.t, c.pipe.Send(line))
	if strings.HasPrefix(line, "[{") || strings.Contains(line, `"id":"o"`) { // this is answered, and maybe behind the ping
		i := 0
		m, _ := c.pipe.Await(ctx, "the answers", func(m ide.Message) bool {
			i++
			return i > before && (m.IsAnswer() || m.Fault != "")
		})
		return []string{sorted(m.Raw)}
	}
	id, ping, header := c.line(step{method: "ping"}, "")
	c.ask(ctx, id, ping, header)
	var all []string
	for _, m := range c.pipe.Messages()[before:] {
		if (m.IsAnswer() || m.Fault != "") && string(m.ID) != id {
			all = append(all, string(m.Raw))
		}
	}
	return all
}

// sorted orders the answers to a batch, which come as they are ready.
func sorted(raw []byte) string {
	var all []json.RawMessage
	if json.Unmarshal(raw, &all) != nil {
		return string(raw)
	}
	slices.SortFunc(all, func(a, b json.RawMessage) int { return bytes.Compare(a, b) })
	return fmt.Sprintf("%s", all)
}

// end sends a request that stays open, and ends it when it has come to where it is going. What still comes then is a matter of
// time.
func (c *conversation) end(s step, id, line string, header http.Header) (m ide.Message, answer string) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		m, answer = c.ask(ctx, id, line, header)
	}()
	early := false
	there := world.Within(world.WaitLimit, func() bool {
		select {
		case <-answered:
			early = true
		default:
		}
		return early || s.how == listens && c.has("notifications/subscriptions/acknowledged", id) || s.how == cancels && strings.Contains(c.w.Recorded("read"), c.mark(id))
	})
	if early {
		return m, answer
	}
	told := func() int { return strings.Count(c.w.Recorded("read"), "notifications/cancelled") }
	before := told()
	if c.web == nil || !c.modern {
		c.tell(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":`+id+`}}`, nil)
	}
	cancel()
	<-answered
	if !there || s.how == cancels && !world.Within(world.WaitLimit, func() bool { return told() > before }) {
		return ide.Message{}, "not ended"
	}
	return ide.Message{}, "ended"
}

// mark stands in the arguments of a call that is taken back.
func (c *conversation) mark(id string) string { return "mark-" + strings.Trim(id, `"`) + "." }

// has reports whether a notification about a request came.
func (c *conversation) has(method, id string) bool {
	return slices.ContainsFunc(c.messages(), func(m ide.Message) bool { return m.Method == method && bytes.Contains(m.Raw, []byte(id)) })
}

func (c *conversation) messages() []ide.Message {
	if c.web == nil {
		return c.pipe.Messages()
	}
	c.web.mu.Lock()
	defer c.web.mu.Unlock()
	return slices.Clone(c.web.messages)
}

// trace returns what there is to compare when all has ended.
func (c *conversation) trace(t *testing.T) trace {
	all := trace{}
	add := func(stream string, text []byte) { all[stream] = append(all[stream], settled(string(text))) }
	for _, a := range c.answers {
		add("answers", []byte(a))
	}
	for _, m := range c.messages() {
		if m.IsNotification() && !bytes.Contains(m.Raw, []byte(`"progress":-0.001,"message":"starting `)) { // if that takes a while
			add("heard "+m.Method, m.Raw)
		}
	}
	for _, q := range c.answerer.asked {
		if q.method == "roots/list" && all["asked "+q.method] != nil {
			continue // how often it is asked depends on the time that has passed: before a denial at most once in five seconds
		}
		add("asked "+q.method, q.params)
	}
	records, err := filepath.Glob(c.w.Record("*"))
	world.Must(t, err)
	for _, file := range records {
		b, err := os.ReadFile(file)
		world.Must(t, err)
		for line := range bytes.Lines(b) {
			m := ide.Parse(bytes.TrimSuffix(line, []byte("\n")))
			stream := "reached " + filepath.Base(file) + " " + m.Method
			if m.ID != nil {
				m.Raw = bytes.Replace(m.Raw, append([]byte(`"id":`), m.ID...), []byte(`"id":ID`), 1)
			}
			if strings.HasSuffix(stream, "/cancelled") && bytes.Contains(m.Raw, []byte("the session has ended")) {
				stream += " at the end" // all at once
			}
			add(stream, m.Raw)
		}
	}
	events, err := trail.Decisions(c.w.AuditDir(), trail.Filter{})
	world.Must(t, err)
	for _, e := range events {
		stream, line := "audit", string(e.Raw)
		if e.Request == nil {
			stream = "audit of notifications" // which are judged beside what comes behind them
		}
		if bytes.HasPrefix(e.Request, []byte(`"b`)) { // of a batch: whether they share a line is a matter of time
			e.Entry, e.Session, e.Call, e.Calls = audit.Entry{}, "", 0, nil
			stream, line = "audit of batches", world.Raw(t, e.Event)
		}
		if e.Outcome != nil {
			line += " " + e.Outcome.Result
		}
		add(stream, []byte(line))
	}
	for stream := range all {
		if stream == "audit of batches" || strings.HasSuffix(stream, " at the end") {
			slices.Sort(all[stream])
		}
	}
	return all
}

// volatile is what is of one run alone, and what stands in its place.
var volatile = []struct {
	find *regexp.Regexp
	as   string
}{
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)`), "TIME"},
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`), "UUID"},
	{regexp.MustCompile(`"requestState":"[^"]*"`), `"requestState":STATE`},
	{regexp.MustCompile(`^\{"v":1,"n":\d+,"prev":"[0-9a-f]{64}"`), `{"v":1,"n":N,"prev":HASH`},
	{regexp.MustCompile(`"hash":"[0-9a-f]{64}"`), `"hash":HASH`},
	{regexp.MustCompile(`"us":\d+`), `"us":US`},
	// It asks when it is told that the roots have changed: where it is started before they are known.
	{regexp.MustCompile(`(\\*"server\\*": ?\\*"files\\*",(\\n)? *\\*"state\\*": ?\\*"\w+\\*",(\\n)? *\\*"asked\\*": ?)(true|false)`), "${1}MAYBE"},
	// A stream is opened when there is something to say before the answer, as that a server has still to be started.
	{regexp.MustCompile(`\b200 (application/json|text/event-stream) `), "200 "},
	{regexp.MustCompile(`\bfor another (\d+m)?\d+s\b`), "for another WHILE"},
	{regexp.MustCompile(`MCPHUB_INSTANCE=[A-Z2-7]{26}`), "MCPHUB_INSTANCE=ID"},
	{regexp.MustCompile(`\\*"pid\\*":\d+`), `"pid":PID`},
	{regexp.MustCompile(`/mcp-\d+\b`), "/mcp-TEMP"}, // a server's own temporary folder
	{regexp.MustCompile(`/mh\d+\b`), "/mhTEMP"},     // the folder for sockets
}

func settled(text string) string {
	for _, v := range volatile {
		text = v.find.ReplaceAllString(text, v.as)
	}
	return text
}
