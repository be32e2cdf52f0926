package hub

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"mcphub/children/spec"
	"mcphub/e2e/childtest"
)

// BenchmarkHTTPOpen opens sessions beside as many others that are idle: what
// one takes must not depend on how many there are. held/session is what an idle
// session keeps, stacks included.
func BenchmarkHTTPOpen(b *testing.B) {
	for _, c := range []struct {
		share  spec.Share
		others int
	}{
		{spec.ShareSession, 0}, {spec.ShareSession, 2000}, {spec.ShareSession, 10000},
		{spec.ShareRoots, 0}, {spec.ShareRoots, 10000}, {spec.ShareAll, 0}, {spec.ShareAll, 10000},
	} {
		others := c.others
		b.Run(fmt.Sprintf("%v-beside-%d", c.share, others), func(b *testing.B) {
			spec := scripted("kid", childtest.Script{})
			spec.Share = c.share
			w := serveWeb(b, newTestHub(b, spec), HTTPOptions{Sessions: 1 << 20})
			open := func() { w.open(b, `{}`) }
			open()
			before := held()
			for range others {
				open()
			}
			each := float64(held()-before) / float64(max(others, 1))
			for b.Loop() {
				open()
			}
			if others > 0 {
				b.ReportMetric(each, "held-B/session")
			}
		})
	}
}

// held returns what the program keeps: heap and stacks.
func held() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc + m.StackInuse
}

// open begins a session, and says that the client is there.
func (w *web) open(b *testing.B, caps string) (session string) {
	b.Helper()
	for i, frame := range []string{
		`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":` + caps + `,"clientInfo":{"name":"t","version":"1"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
	} {
		req, _ := http.NewRequest("POST", w.url, strings.NewReader(frame))
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		if session != "" {
			req.Header.Set(headerSession, session)
		}
		r, err := w.c.Do(req)
		if err != nil {
			b.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, r.Body)
		_ = r.Body.Close()
		if want := []int{200, 202}[i]; r.StatusCode != want {
			b.Fatal(r.Status)
		}
		if session == "" {
			session = r.Header.Get(headerSession)
		}
	}
	return session
}

// BenchmarkHTTPBesideCallers has one principal call alone, and then beside 300 callers of another one with 20 sessions, who call
// without a pause. Each principal is a process of its own, as on a machine of its own: in one with the hub they would wait in its queues.
func BenchmarkHTTPBesideCallers(b *testing.B) {
	for _, share := range []spec.Share{spec.ShareSession, spec.ShareAll} {
		b.Run(share.String(), func(b *testing.B) {
			kid := scripted("kid", childtest.Script{})
			kid.Share = share
			w := serveWeb(b, newTestHub(b, kid), HTTPOptions{Tokens: []Token{{Name: "greedy", Secret: "a"}, {Name: "modest", Secret: "b"}}})
			sessions := func(secret string, n int) callers {
				c := callers{URL: w.url, Secret: secret}
				for range n {
					s := w.initialize(`{}`, "Authorization", "Bearer "+secret).initialized()
					if got := body(b, s.request("tools/call", toolCall("kid__echo", `{"a":1}`))); !strings.Contains(got, `"a":1`) {
						b.Fatal(got)
					}
					c.Sessions = append(c.Sessions, s.session)
				}
				return c
			}
			modest, greedy := sessions("b", 1), sessions("a", 20)
			modest.Callers, modest.Calls, greedy.Callers = 1, b.N+2000, 300
			alone := modest.start(b).end(b)
			others := greedy.start(b)
			start := time.Now()
			beside := modest.start(b).end(b)
			made, took := others.end(b), time.Since(start)
			for _, m := range []struct {
				name  string
				value float64
			}{
				{"alone-p50-µs", alone.P50}, {"alone-p99-µs", alone.P99}, {"p50-µs", beside.P50}, {"p99-µs", beside.P99},
				{"p50-times", beside.P50 / alone.P50}, {"p99-times", beside.P99 / alone.P99},
				{"others-calls/s", float64(made.Made) / took.Seconds()}, {"others-p50-µs", made.P50},
			} {
				b.ReportMetric(m.value, m.name)
			}
		})
	}
}

// callers call in a process of their own.
type callers struct {
	URL, Secret string
	Sessions    []string
	Callers     int
	Calls       int // of each; 0: until the process's input ends
}

// called is what they saw, in microseconds.
type called struct {
	Made     int
	P50, P99 float64
}

const callersEnv = "MCPHUB_TEST_CALLERS"

type callersProcess struct {
	cmd *exec.Cmd
	in  io.Closer
	out *bufio.Reader
}

// start returns when each of them has made ten calls.
func (c callers) start(b *testing.B) callersProcess {
	b.Helper()
	what, err := json.Marshal(c)
	if err != nil {
		b.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env, cmd.Stderr = append(os.Environ(), callersEnv+"="+string(what)), os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	p := callersProcess{cmd, in, bufio.NewReader(out)}
	if _, err := p.out.ReadString('\n'); err != nil {
		b.Fatal(err)
	}
	return p
}

// end waits for the last call. Callers without a number of calls stop.
func (p callersProcess) end(b *testing.B) (seen called) {
	b.Helper()
	_ = p.in.Close()
	if err := json.NewDecoder(p.out).Decode(&seen); err != nil {
		b.Fatal(err)
	}
	if err := p.cmd.Wait(); err != nil {
		b.Fatal(err)
	}
	return seen
}

// mainIfCallers is the main function of the process of callers; it returns where this is none.
func mainIfCallers() {
	what, there := os.LookupEnv(callersEnv)
	if !there {
		return
	}
	var c callers
	if err := json.Unmarshal([]byte(what), &c); err != nil {
		panic(err)
	}
	var inputEnded atomic.Bool
	if c.Calls == 0 {
		go func() {
			_, _ = io.Copy(io.Discard, os.Stdin)
			inputEnded.Store(true)
		}()
	}
	took := make([][]time.Duration, c.Callers)
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: c.Callers}}
	var ready, all sync.WaitGroup
	ready.Add(c.Callers)
	for n := range c.Callers {
		all.Go(func() {
			for i := 0; i < 10 || c.Calls > 0 && i < c.Calls+10 || c.Calls == 0 && !inputEnded.Load(); i++ {
				start := time.Now()
				c.call(client, n, i)
				if i >= 10 {
					took[n] = append(took[n], time.Since(start))
				} else if i == 9 {
					ready.Done()
				}
			}
		})
	}
	ready.Wait()
	fmt.Println("ready")
	all.Wait()
	each := slices.Concat(took...)
	slices.Sort(each)
	at := func(part int) float64 { return float64(each[len(each)*part/100].Nanoseconds()) / 1000 }
	_ = json.NewEncoder(os.Stdout).Encode(called{Made: len(each), P50: at(50), P99: at(99)})
	os.Exit(0)
}

func (c callers) call(client *http.Client, n, i int) {
	req, _ := http.NewRequest("POST", c.URL, strings.NewReader(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":%s}`, n*1_000_000+i+10, toolCall("kid__echo", `{"a":1}`))))
	for k, v := range map[string]string{"Authorization": "Bearer " + c.Secret, "Content-Type": "application/json", "Accept": "application/json, text/event-stream", headerSession: c.Sessions[n%len(c.Sessions)]} {
		req.Header.Set(k, v)
	}
	r, err := client.Do(req)
	if err != nil {
		panic(err)
	}
	got, _ := io.ReadAll(r.Body)
	_ = r.Body.Close()
	if r.StatusCode != 200 || !strings.Contains(string(got), `"a":1`) {
		panic(r.Status + string(got))
	}
}
