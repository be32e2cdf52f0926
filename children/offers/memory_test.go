package offers

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rs/zerolog"
)

// offerOf returns an offer with one entry of so many bytes.
func offerOf(name string, bytes int) *RawOffer {
	o := someOffer(`{"description":"` + strings.Repeat("x", bytes) + `"}`)
	o.ServerName = name
	return o
}

// What is agreed on before the last one was written is written too, be it under another digest, or under the same and again.
func TestEachOfferIsWritten(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "catalogue")
	m := NewMemory(folder, zerolog.Nop())
	x, y := offerOf("x", 10), offerOf("y", 10)
	m.Agree("kid", "first", x)
	m.Agree("kid", "second", y)
	m.Agree("kid", "first", offerOf("x", 10))
	m.Agree("other", "third", x)
	m.Keep("kid")
	later := NewMemory(folder, zerolog.Nop())
	if !later.Recall("kid", "first").Equal(x) || !later.Recall("kid", "second").Equal(y) {
		t.Error("an offer is not written")
	}
	if later.Recall("other", "third") != nil {
		t.Error("what is another server's is written")
	}
}

// The offers of one server are bounded by their bytes together, and the latest is there in any case. Offers with the same bytes
// are counted once.
func TestOffersAreBoundedByTheirBytes(t *testing.T) {
	t.Parallel()
	m := NewMemory("", zerolog.Nop())
	const long = maxRememberedBytes/4 + 1
	for i := range 10 {
		m.Agree("kid", fmt.Sprint(i), offerOf(fmt.Sprint(i), long))
	}
	for i := range 10 {
		if known := m.Recall("kid", fmt.Sprint(i)) != nil; known != (i >= 7) {
			t.Errorf("offer %d is known: %t", i, known)
		}
	}
	m.Agree("kid", "whole", offerOf("whole", 2*maxRememberedBytes))
	if m.Recall("kid", "whole") == nil || m.Recall("kid", "9") != nil {
		t.Error("the latest offer is not the one that is known")
	}
	for i := range 10 {
		m.Agree("same", fmt.Sprint(i), offerOf("same", long))
	}
	for i := range 10 {
		if m.Recall("same", fmt.Sprint(i)) == nil {
			t.Errorf("equal offer %d is not known", i)
		}
	}
}
