package memo

import "sync"

// A Looks has a value for each text. The zero Looks is empty. Unlike a Map it makes values while nothing is locked, so that a look at
// a disk that hangs holds up no other look. Two goroutines that ask at the same time may both make a value; the first one counts.
type Looks[V any] struct {
	mu   sync.Mutex
	made map[string]V // guarded by mu
}

// Get returns the value of a text, which make makes if there is none yet.
func (l *Looks[V]) Get(text string, make func() V) V {
	l.mu.Lock()
	v, ok := l.made[text]
	l.mu.Unlock()
	if ok {
		return v
	}
	v = make()
	l.mu.Lock()
	defer l.mu.Unlock()
	if first, ok := l.made[text]; ok {
		return first
	}
	if l.made == nil {
		l.made = map[string]V{}
	}
	l.made[text] = v
	return v
}
