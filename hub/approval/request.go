package approval

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"time"

	"mcphub/children/spec"
	"mcphub/rootsmgr"
	"mcphub/validate"
	"mcphub/validate/policy"
)

// A Digest names what is asked about, so that an answer holds for nothing else.
type Digest [sha256.Size]byte

// DigestOf returns the digest of texts. No other list of texts has the same one.
func DigestOf(parts ...[]byte) Digest {
	h := sha256.New()
	for _, p := range parts {
		var n [8]byte
		binary.BigEndian.PutUint64(n[:], uint64(len(p)))
		h.Write(n[:])
		h.Write(p)
	}
	return Digest(h.Sum(nil))
}

// An EscalatedRequest is one call of a tool, or other request, that a rule escalates.
type EscalatedRequest struct {
	Tool      bool   // it calls a tool; else Name is its method
	Name      string // of the tool or the method, as rules know it
	Digest    Digest // of the session, the child and all that would be sent
	Args      []byte // raw; shown if a rule is about the request itself
	Unaskable string // why no one is asked about such a request; "" where someone may be
}

// questionTitle returns how the question names the request.
func (request *EscalatedRequest) questionTitle() string {
	if request.Tool {
		return "its tool " + quoteLegible(clipText(request.Name, 100))
	}
	return "a request " + quoteLegible(request.Name)
}

// A Judgement is how a request was judged, as far as a question goes by it.
type Judgement struct {
	Child      *spec.Spec
	Checker    *validate.Checker // that judged
	Verdict    *validate.Verdict
	RootsView  rootsmgr.RootsView
	StartLimit time.Duration // how long the child may take to start
}

// A RequestOwner is the one who has a request that a person is asked about.
type RequestOwner interface {
	// Judge judges the request from the start, with an approval of it; nil: without.
	Judge(ctx context.Context, a *Approval) (*Judgement, error)
	// Release gives back the right to call the child: a person takes their time.
	Release(ctx context.Context)
	// Waiting informs the client what its request waits for, until over is called.
	Waiting(ctx context.Context, what string) (over func())
	// Asker returns who asks a person now.
	Asker(ctx context.Context) Asker
	// AwaitServed waits, for a bounded time, until the child was given the
	// directories of a version of the grants.
	AwaitServed(ctx context.Context, version uint64) error
	// Record writes that a person is asked, and what became of it. A record that
	// cannot be written stops no one: what is then sent has a line of its own.
	Record(ctx context.Context, e *QuestionEvent)
}

// A QuestionEvent is what the record gets about a question: that it was asked, or how it ended.
type QuestionEvent struct {
	What    string // EventAsked and so on
	By      string // who was asked: see Asker
	Why     string // it was not allowed
	Granted []policy.Grant
}

// The words of QuestionEvent.What.
const (
	EventAsked    = "asked"
	EventAllowed  = "allowed"
	EventDeclined = "declined" // or not answered, or it could not be put
)
