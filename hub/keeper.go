package hub

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/google/uuid"

	"mcphub/children/offers"
	"mcphub/hub/declaration"
	"mcphub/hub/seal"
	"mcphub/hub/subscribe"
	"mcphub/hub/texts"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/kept"
	"mcphub/internal/methods"
)

// A keptRecord is what a session keeps for another hub beside its bytes and ids.
type keptRecord struct {
	Session     string         // that a requestState is bound to
	Key         []byte         // of its requestStates: each session has its own, since its adapter holds it
	Initialize  []byte         // the request
	Line        uint64         // that the request stands in: it counts once the line was taken
	Answer      []byte         // the result of it
	Initialized bool           // the client has said so
	Level       string         // that the client has set
	Lists       map[int]string // digests of the lists that the client has seen
}

// A sessionKeeper keeps the record of a session in the memory that the adapter holds. A nil sessionKeeper keeps nothing.
type sessionKeeper struct {
	memory *kept.Memory

	mu            sync.Mutex
	record        keptRecord
	written       []byte   // the record, as it is kept. The subscriptions stand behind it
	subscriptions []string // URIs
}

const keySize = 32

// newSessionKeeper reads what another hub has kept, or begins a record.
func newSessionKeeper(m *kept.Memory) (*sessionKeeper, error) {
	k := &sessionKeeper{memory: m}
	if b := m.Record(); len(b) > 0 {
		d := json.NewDecoder(bytes.NewReader(b))
		if err := errors.Join(d.Decode(&k.record), d.Decode(&k.subscriptions)); err != nil || len(k.record.Key) != keySize || uuid.Validate(k.record.Session) != nil {
			return nil, errors.New("the kept state of the session cannot be read; start the client's session again")
		}
		if k.record.Line > m.Line() {
			k.record.Initialize, k.record.Line = nil, 0 // it is served when its line is
		}
		return k, nil
	}
	k.record.Session, k.record.Key = uuid.NewString(), make([]byte, keySize)
	_, _ = rand.Read(k.record.Key) // never fails: crypto/rand
	k.changeRecord(func(*keptRecord) {})
	return k, nil
}

// requestBearer returns what the requestStates of the session are bound to, and what seals them.
func (k *sessionKeeper) requestBearer() (string, *seal.Sealer) {
	return "session " + k.record.Session, seal.NewOf(k.record.Key)
}

// changeRecord changes the record. An initialize that is too long has no room in any record, so the session ends with its hub.
func (k *sessionKeeper) changeRecord(f func(r *keptRecord)) {
	if k == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	f(&k.record)
	k.written, _ = json.Marshal(k.record) // it has nothing that fails
	if !k.save() {
		r := k.record
		r.Initialize, r.Answer = []byte(tooLong), nil
		k.written, _ = json.Marshal(r)
		k.save()
	}
}

// save keeps the record and the subscriptions: only the record, if there is no room for both. It is called with mu held.
func (k *sessionKeeper) save() bool {
	if len(k.subscriptions) > 0 {
		if uris, err := json.Marshal(k.subscriptions); err == nil && k.memory.SaveRecord(slices.Concat(k.written, uris)) {
			return true
		}
	}
	return k.memory.SaveRecord(slices.Concat(k.written, []byte("[]")))
}

// tooLong replaces an initialize that cannot be kept.
const tooLong = "too long"

func (k *sessionKeeper) keepSubscribed(uri string, now bool) {
	if k == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	known := slices.Index(k.subscriptions, uri)
	switch {
	case now == (known >= 0):
		return
	case now:
		k.subscriptions = append(k.subscriptions, uri)
	default:
		k.subscriptions = slices.Delete(k.subscriptions, known, known+1)
	}
	k.save()
}

// keepSeen keeps how the client knows a list.
func (k *sessionKeeper) keepSeen(list offers.ListKind, digest string) {
	if k == nil {
		return
	}
	k.mu.Lock()
	known := k.record.Lists[int(list)] == digest
	k.mu.Unlock()
	if known {
		return
	}
	k.changeRecord(func(r *keptRecord) {
		lists := map[int]string{int(list): digest}
		for other, digest := range r.Lists {
			if other != int(list) {
				lists[other] = digest
			}
		}
		r.Lists = lists
	})
}

// connectionOptions has the connection of a session kept. resume, called before the connection runs, brings the session to the state in which the
// client knows it to be; what it returns waits for the rest.
func (k *sessionKeeper) connectionOptions(s *Session, options *jsonrpc.ConnOptions) (resume func(context.Context) (wait func(), err error)) {
	if k == nil {
		return func(context.Context) (func(), error) { return func() {}, nil }
	}
	var welcome jsonrpc.Answer
	options.Kept = k.memory
	options.Taking = func(m *jsonrpc.Message) {
		if m.Method != methods.Initialize && m.Method != methods.Initialized {
			return
		}
		switch known := s.clientClaims().Known; {
		case m.Method == methods.Initialized && known:
			k.changeRecord(func(r *keptRecord) { r.Initialized = true })
		case m.Method == methods.Initialize && !known:
			frame := bytes.Clone(m.Frame)
			k.changeRecord(func(r *keptRecord) { r.Initialize, r.Line = frame, k.memory.Line()+1 })
		}
	}
	options.Resume = func(e *kept.Entry) jsonrpc.Answer {
		if e.Line() == k.record.Line && (welcome.Result != nil || welcome.Error != nil) {
			return welcome
		}
		return jsonrpc.AnswerFailure(texts.HubEnded)
	}
	return func(ctx context.Context) (func(), error) {
		ctx, cancel := context.WithCancel(ctx)
		var rest sync.WaitGroup
		wait := func() { cancel(); rest.Wait() }
		r, subscriptions := k.record, slices.Clone(k.subscriptions)
		if len(r.Initialize) > 0 {
			m := &jsonrpc.Message{}
			if jsonrpc.Split(r.Initialize, true, m) != nil || m.Method != methods.Initialize {
				return wait, errors.New("the initialize of the session was too long to be kept; start the client's session again")
			}
			welcome = s.answerInitialize(ctx, m)
		}
		level, ok := declaration.ReadLevel(jsonrpc.AppendString(nil, r.Level))
		if ok {
			s.applyLevel(ctx, level)
		}
		s.notifier.Restore(r.announcedLists())
		if r.Initialized {
			s.ServeNotification(&jsonrpc.Message{Method: methods.Initialized})
		}
		if len(subscriptions) > 0 {
			rest.Go(func() {
				for _, uri := range subscriptions {
					if answer := s.notifier.Subscribe(ctx, subscribe.AboutURI(methods.Subscribe, uri), uri); answer.Error != nil {
						s.log.Warn().Str("uri", uri).Bytes("error", answer.Error).Msg("a subscription ended with the hub that it was made at")
					}
				}
			})
		}
		return wait, nil
	}
}

// announcedLists returns the lists that the client has seen and was promised notices about.
func (state *keptRecord) announcedLists() map[int]string {
	capabilities := jsonrpc.Get(state.Answer, "capabilities")
	told := map[int]string{}
	for list, digest := range state.Lists {
		if list < 0 || list >= int(offers.Kinds) {
			continue
		}
		_, of, _ := strings.Cut(offers.ListKind(list).List().Changed, "/")
		of, _, _ = strings.Cut(of, "/")
		if string(jsonrpc.Get(jsonrpc.Get(capabilities, of), "listChanged")) == "true" {
			told[list] = digest
		}
	}
	return told
}

// KeptLimits returns what the memory of a session that is kept is laid out for.
func (h *Hub) KeptLimits() kept.Limits {
	const waiting = 20 // for each that is served, and refusals that have not left
	l := &h.currentConfiguration().Limits
	return kept.Limits{Frame: l.Frame, ID: l.ID, Requests: l.Calls*waiting + 2048}
}
