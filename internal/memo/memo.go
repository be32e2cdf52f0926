package memo

import "sync"

// A Map has a value for each key. The zero Map is empty.
type Map[K comparable, V any] struct {
	mu   sync.Mutex
	made map[K]V // guarded by mu
}

// Get returns the value of a key, which make makes if there is none yet. Others wait for that: make must not use the Map.
func (m *Map[K, V]) Get(key K, make func() V) V {
	m.mu.Lock()
	defer m.mu.Unlock()
	v, ok := m.made[key]
	if !ok {
		if v = make(); m.made == nil {
			m.made = map[K]V{}
		}
		m.made[key] = v
	}
	return v
}
