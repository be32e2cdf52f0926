package protocol

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"mcphub/e2e/ide"
	"mcphub/e2e/seeds"
	"mcphub/e2e/world"
	"mcphub/hub/audit"
	"mcphub/hub/audit/trail"
)

// replayed is what audit replay says about one call.
type replayed struct {
	Request  json.RawMessage `json:"request"`
	Decision string          `json:"decision"`
	Now      string          `json:"now"`
	Unsure   []string        `json:"unsure"`
}

// TestReplayAgreesWithALiveRun makes the same random calls under one random
// policy and then under another. What audit replay makes of the first record
// under the second policy is what was then decided, or it says what it does not
// know.
func TestReplayAgreesWithALiveRun(t *testing.T) {
	t.Parallel()
	rng := seeds.Rand(t)
	sure, unsure, turned := 0, 0, 0
	for round := range world.LongCases(t, 6, 60) {
		r := newReplayWorld(t, rng)
		before, after := r.policy(), r.policy()
		calls := r.calls(25)
		was := r.live("before", before, calls)
		out, code := r.w.Command("audit", "replay", "--dir", r.w.Path("before"), "--policy", r.file("after", after), "--json")
		if code != 0 {
			t.Fatalf("%d: %s", code, out)
		}
		said := map[string]replayed{}
		for line := range strings.Lines(out) {
			var one replayed
			if json.Unmarshal([]byte(line), &one) == nil {
				said[string(one.Request)] = one
			}
		}
		now := r.live("after", after, calls)
		for id, then := range was {
			want := then.Decision
			one, ok := said[id]
			if ok {
				want = one.Now
			}
			switch {
			case then.Decision == "refuse":
			case len(one.Unsure) > 0:
				unsure++
			case now[id].Decision != want:
				t.Errorf("round %d: replay says %s, and it was %s: %s\nlive %s\nbefore %s\nafter %s", round, want, now[id].Decision, then.Raw, now[id].Raw, world.Raw(t, before), world.Raw(t, after))
			default:
				sure++
				if ok {
					turned++
				}
			}
		}
		if t.Failed() {
			return
		}
	}
	t.Logf("%d decisions were told rightly, %d of them turned; of %d it was said that the record does not tell", sure, turned, unsure)
	if sure < 2*unsure || turned == 0 {
		t.Error("too few to mean anything")
	}
}

type replayWorld struct {
	w      *world.World
	rng    *rand.Rand
	places []string
}

func newReplayWorld(t *testing.T, rng *rand.Rand) *replayWorld {
	return replayIn(world.New(t), rng)
}

func replayIn(w *world.World, rng *rand.Rand) *replayWorld {
	return &replayWorld{w: w, rng: rng, places: w.Lay()}
}

// policy draws one.
func (r *replayWorld) policy() obj {
	pick := func(all ...any) any { return all[r.rng.IntN(len(all))] }
	var rules []obj
	for i := range r.rng.IntN(5) {
		cond := obj{}
		if s := pick(nil, nil, []string{"read"}, []string{"w*", "del"}); s != nil {
			cond["servers"] = s
		}
		if s := pick(nil, nil, []string{"echo"}, []string{"e*"}, []string{"other"}); s != nil {
			cond["tools"] = s
		}
		if r.rng.IntN(6) > 0 {
			paths := obj{}
			if s := pick(nil, nil, []string{"read"}, []string{"write", "delete"}, []string{"delete"}); s != nil {
				paths["roles"] = s
			}
			if r.rng.IntN(3) > 0 {
				paths["within"] = pick(r.w.Path("project", "a"), r.w.Path("docs"), r.w.Path("docs", "keep"), r.w.Path("project", "to-docs"), r.w.Path("docs", "to-a"), r.w.Path("not-there"), r.w.Path("box"))
			}
			if r.rng.IntN(3) == 0 {
				paths["outside"] = true
			}
			cond["paths"] = paths
		}
		rule := obj{"name": fmt.Sprint("rule ", i), "then": pick("allow", "allow", "deny", "escalate")}
		if len(cond) > 0 {
			rule["if"] = cond
		}
		rules = append(rules, rule)
	}
	policy := obj{"rules": rules}
	if rules == nil {
		policy = obj{}
	}
	if r.rng.IntN(3) == 0 {
		policy["protected"] = []string{pick(r.w.Path("docs", "keep"), r.w.Path("project", "a", "deep")).(string)}
	}
	return policy
}

// calls draws arguments.
func (r *replayWorld) calls(n int) []string {
	var calls []string
	for i := range n {
		args := obj{"text": fmt.Sprint(i)}
		if r.rng.IntN(8) > 0 {
			args["path"] = r.places[r.rng.IntN(len(r.places))]
		}
		if r.rng.IntN(4) == 0 {
			args["other_path"] = r.places[r.rng.IntN(len(r.places))]
		}
		calls = append(calls, world.Raw(r.w.T, args))
	}
	return calls
}

// file writes a hub.json with three servers, whose paths are read, written and removed.
func (r *replayWorld) file(name string, policy obj) string {
	children := obj{}
	for server, role := range map[string]string{"read": "read", "write": "write", "del": "delete"} {
		child := r.w.Recorder(server)
		child["paths"] = obj{"args": obj{"echo": obj{"/path": role, "/other_path": role}}}
		children[server] = child
	}
	b, err := json.Marshal(obj{"mcpServers": children, "policy": policy, "audit": obj{"dir": r.w.Path(name)}})
	world.Must(r.w.T, err)
	return r.w.Write(name+".json", string(b))
}

// live makes the calls under a policy and gives what was decided, by request.
func (r *replayWorld) live(name string, policy obj, calls []string) map[string]trail.Event {
	s := r.w.Serve(r.file(name, policy), ide.Folders(r.w.Project))
	s.Handshake()
	for i, args := range calls {
		s.AwaitCall(s.SendCall([]string{"read__echo", "write__echo", "del__echo"}[i%3], args))
	}
	s.End(world.StopBound)
	got := map[string]trail.Event{}
	world.Must(r.w.T, trail.Read(r.w.Path(name), func(e trail.Event) bool {
		for _, one := range e.Each() {
			if one.Kind == audit.KindDecision {
				got[string(one.Request)] = one
			}
		}
		return true
	}))
	if len(got) != len(calls) {
		r.w.T.Errorf("%d decisions of %d calls", len(got), len(calls))
	}
	return got
}
